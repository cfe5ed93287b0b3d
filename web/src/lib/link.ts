// The connection to the daemon: one WebSocket, requests by number, a ping that notices within a second
// that nothing comes any more, and a new connection after a lost one.

import type { Command, DaemonMessage, Refusal } from "../api.gen.ts";

/** What became of a command that was not carried out. */
export class Refused extends Error {
  readonly code: string;
  readonly remedy: string | null;
  constructor(refusal: Pick<Refusal, "message"> & { code: string; remedy?: string | null | undefined }) {
    super(refusal.message);
    this.code = refusal.code;
    this.remedy = refusal.remedy ?? null;
  }
}

export type Phase = "connecting" | "open" | "lost";

export interface Listener {
  /** The socket is open: whatever has to be said first. */
  opened(): void;
  phase(phase: Phase, roundTrip: number | null): void;
  message(message: DaemonMessage): void;
  frame(buffer: ArrayBuffer): void;
}

/** What the page has, and tests have their own of. */
export interface World {
  open(url: string): WebSocket;
  now(): number;
  every(milliseconds: number, run: () => void): void;
  after(milliseconds: number, run: () => void): void;
}

const TICK = 200;
const PING = 400;
/** Silence after which a connection counts as lost. */
export const SILENCE = 1000;
const RETRY = 500;

type Unsent<T> = T extends unknown ? Omit<T, "req"> : never;
/** A command without its number. */
export type Asked = Unsent<Command>;

export class Link {
  phase: Phase = "connecting";
  /** When it was lost, by this page's clock. */
  lostAt: number | null = null;
  /** What is asked to hear that the daemon is there: something that it does not refuse. */
  beat: Asked = { type: "Ping" };
  private socket: WebSocket | null = null;
  private readonly waiting = new Map<number, { done(data: unknown): void; fail(reason: Refused): void }>();
  private next = 1;
  private heard = 0;
  private pinged = 0;
  private ticked = 0;
  private roundTrip: number | null = null;

  constructor(
    private readonly url: string,
    private readonly listener: Listener,
    private readonly world: World,
  ) {
    world.every(TICK, () => this.tick());
    this.connect();
  }

  get open(): boolean {
    return this.phase === "open" && this.socket?.readyState === 1;
  }

  /** Asks, and gives what the daemon replies. */
  ask(command: Asked): Promise<unknown> {
    const { socket } = this;
    if (socket?.readyState !== 1) return Promise.reject(notConnected());
    const req = this.next++;
    return new Promise((done, fail) => {
      this.waiting.set(req, { done, fail });
      socket.send(JSON.stringify({ ...command, req }));
    });
  }

  /** Says something that needs no reply; whether there was a connection. */
  say(command: Asked): boolean {
    if (this.socket?.readyState !== 1) return false;
    this.socket.send(JSON.stringify(command));
    return true;
  }

  /** Begins anew, with what is to be said first. */
  restart(): void {
    this.end();
    this.connect();
  }

  private connect(): void {
    const socket = this.world.open(this.url);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    this.heard = this.world.now();
    socket.onopen = () => {
      if (this.socket !== socket) return;
      this.heard = this.world.now();
      this.listener.opened();
    };
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (this.socket === socket) this.receive(data);
    };
    socket.onclose = () => {
      if (this.socket === socket) this.lose();
    };
  }

  private receive(data: string | ArrayBuffer): void {
    this.heard = this.world.now();
    if (this.phase !== "open") {
      this.lostAt = null;
      this.tell("open");
    }
    if (typeof data !== "string") {
      this.listener.frame(data);
      return;
    }
    const message = read(data);
    if (message === null) return;
    if (message.type === "Reply") {
      const waiting = this.waiting.get(message.req as number);
      this.waiting.delete(message.req as number);
      if (message.ok) waiting?.done(message.data);
      else waiting?.fail(new Refused(message.error ?? { code: "refused", message: "refused" }));
    } else {
      this.listener.message(message);
    }
  }

  private tick(): void {
    const now = this.world.now();
    // A page that slept has not listened either.
    if (now - this.ticked > SILENCE / 2) this.heard = Math.max(this.heard, now - SILENCE / 2);
    this.ticked = now;
    if (this.socket === null) return;
    if (now - this.heard > SILENCE) {
      this.lose();
    } else if (this.socket.readyState === 1 && now - this.pinged >= PING) {
      this.pinged = now;
      this.ask(this.beat).then(
        () => {
          this.roundTrip = this.world.now() - now;
          this.tell(this.phase);
        },
        () => undefined,
      );
    }
  }

  private lose(): void {
    this.end();
    this.lostAt ??= this.world.now();
    this.tell("lost");
    this.world.after(RETRY, () => {
      if (this.socket === null) this.connect();
    });
  }

  private end(): void {
    const { socket } = this;
    this.socket = null;
    this.roundTrip = null;
    socket?.close();
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    waiting.forEach(({ fail }) => fail(notConnected()));
  }

  private tell(phase: Phase): void {
    this.phase = phase;
    this.listener.phase(phase, this.roundTrip);
  }
}

/** A message, or null for what is none: the page lives on with what is right. */
function read(data: string): DaemonMessage | null {
  try {
    const message: unknown = JSON.parse(data);
    return typeof message === "object" && message !== null ? (message as DaemonMessage) : null;
  } catch {
    return null;
  }
}

function notConnected(): Refused {
  return new Refused({ code: "link_lost", message: "there is no connection to Sinew" });
}
