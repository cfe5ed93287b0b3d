// What the page knows of the daemon and its robots, for all panels.

import type { Authenticated, Capability, DaemonMessage, RobotReport, Robots, Taken } from "../api.gen.ts";
import { readFrame, type Frame } from "./frame.ts";
import { Link, Refused, type Asked, type Phase } from "./link.ts";
import { isBusy } from "./robot.ts";
import { remedy, sentence, type Json, type Sign } from "./words.ts";

export interface Entry {
  id: number;
  /** By this page's clock. */
  time: Date;
  robot: string | null;
  sign: Sign;
  text: string;
}

/** A robot with the time at which it was told of, and how many frames of it come a second. */
export interface Robot extends RobotReport {
  toldAt: number;
  rate: number | null;
  /** It was stopped from this page, by whatever way. */
  stoppedHere: boolean;
}

type SensorListener = (robot: string, group: string, values: Json, time: number) => void;
type FrameListener = (frame: Frame, robot: string) => void;

const KEPT = 500;
const TOKEN = "sinew-token";
/** How often a robot's sensors are of use to a person, a second. */
const SENSOR_RATE = 20;
/** How often the log is shown anew at most, ms: a robot may tell a thousand events a second. */
const LOG_PACE = 100;
/** How long what this page's STOP has caused is told of, ms: it goes by two ways, of which HTTP has no name of its own. */
const STOP_ECHO = 3000;
/** How long STOP waits for an answer before it says that there is none, ms. */
const STOP_PATIENCE = 1500;

class Daemon {
  phase: Phase = $state("connecting");
  /** Round trip, ms. */
  roundTrip: number | null = $state(null);
  /** A token is needed; what was wrong with the last one. */
  tokenWanted: { message: string } | null = $state(null);
  access: Authenticated["access"] = $state("nothing");
  /** What the daemon calls this page. */
  name = $state("");
  build = $state("");
  warnings: string[] = $state.raw([]);
  robots: Robot[] = $state.raw([]);
  chosen: string | null = $state(null);
  /** Grows when all of the map comes anew. */
  subscriptions = $state(0);
  log: Entry[] = $state.raw([]);
  /** What a person should hear at once. */
  notice: { text: string; sign: Sign; lasts?: boolean } | null = $state.raw(null);
  /** This page's clock, at the pace of texts. */
  now = $state(Date.now());
  /** What to add to this page's clock for the daemon's, ms. */
  ahead = 0;
  private sensors = new Set<SensorListener>();
  private frames = new Set<FrameListener>();
  private halts = new Set<() => void>();
  /** What a reload of the page would end. */
  private occupied = new Set<() => boolean>();
  /** How many frames of each robot had come, and when. */
  private counted = new Map<string, { frames: number; at: number; rate: number | null }>();
  private entries = 0;
  private untold: Entry[] = [];
  private quickest = Infinity;
  private readonly link: Link;
  private readonly tab = Math.floor(crypto.getRandomValues(new Uint16Array(1))[0] ?? 0).toString(16).padStart(4, "0");

  private stoppedAt = -Infinity;
  private readonly stoppedHere = new Set<string>();

  private lostAt: number | null = $state(null);

  robot: Robot | null = $derived(this.robots.find(({ name }) => name === this.chosen) ?? null);
  lost: boolean = $derived(this.phase !== "open");
  lostFor: number = $derived(this.phase === "lost" && this.lostAt !== null ? Math.max(0, this.now - this.lostAt) / 1000 : 0);

  constructor() {
    const url = new URL("/ws", location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const told = {
      opened: () => void this.introduce(),
      phase: (phase: Phase, roundTrip: number | null) => this.phaseChanged(phase, roundTrip),
      message: (message: DaemonMessage) => this.message(message),
      frame: (buffer: ArrayBuffer) => this.frame(buffer),
    };
    this.link = new Link(url.href, told, {
      open: (url) => new WebSocket(url),
      now: () => performance.now(),
      every: (milliseconds, run) => setInterval(run, milliseconds),
      after: (milliseconds, run) => setTimeout(run, milliseconds),
    });
    setInterval(() => (this.now = Date.now()), 200);
    setInterval(() => this.look(), 2000);
  }

  /** Whether this page holds a robot's controls. */
  holds(robot: Robot | null): boolean {
    return robot !== null && robot.holder === this.name;
  }

  can(capability: Capability): boolean {
    return this.robot?.capabilities.includes(capability) ?? false;
  }

  /** Asks for something of the robot that is chosen, or the one that is named. */
  ask(command: Asked): Promise<unknown> {
    return this.link.ask(this.chosen === null || command.robot ? command : { ...command, robot: this.chosen });
  }

  /** The same for what a person wants done: its outcome is told. `words` say what was done. */
  async act(command: Asked, words: string): Promise<unknown> {
    const robot = typeof command.robot === "string" ? command.robot : this.chosen;
    try {
      const data = await this.ask(command);
      this.tell(robot, "ok", words);
      return data;
    } catch (error) {
      this.fail(robot, words, error);
      return undefined;
    }
  }

  /** Tells that something was not done. */
  fail(robot: string | null, words: string, error: unknown): void {
    const text = error instanceof Refused ? `${words}: ${error.message}.${remedy(error.remedy)}` : `${words}: ${error instanceof Error ? error.message : String(error)}`;
    this.tell(robot, "bad", text);
    this.notice = { sign: "bad", text };
  }

  tell(robot: string | null, sign: Sign, text: string): void {
    this.untold.push({ id: this.entries++, time: new Date(), robot, sign, text });
    if (this.untold.length === 1) setTimeout(() => this.show(), LOG_PACE);
    if (this.untold.length > 2 * KEPT) this.untold.splice(1, KEPT);
  }

  private show(): void {
    this.log = [...this.untold.reverse(), ...this.log].slice(0, KEPT);
    this.untold = [];
  }

  /** Stops all robots, by every way there is. */
  async stop(): Promise<void> {
    this.stoppedAt = Date.now();
    const said = within(STOP_PATIENCE, this.link.ask({ type: "Stop" }));
    this.halts.forEach((halt) => halt());
    const names = this.robots.map(({ name }) => name);
    const posted = names.map((name) => within(STOP_PATIENCE, this.post(name)));
    // One answer on the socket is for all of them; by HTTP each robot has its own.
    const missed = await said.then(
      () => [],
      async (reason: unknown) => {
        const outcomes = await Promise.allSettled(posted);
        if (names.length === 0) return [`Sinew (${words(reason)})`];
        return names.filter((_, index) => outcomes[index]?.status === "rejected");
      },
    );
    const text =
      missed.length === 0
        ? "Stopped all robots"
        : `STOP did not reach ${missed.length < names.length || names.length === 0 ? missed.join(", ") : "Sinew"}: use the robot's own switch`;
    const sign = missed.length === 0 ? "ok" : "bad";
    this.tell(null, sign, missed.length === 0 ? `${text}, from this page` : text);
    // A stop that came to nothing is told until there is a connection again.
    this.notice = { sign, text, lasts: missed.length > 0 };
  }

  /** Whether a name is the one this page's STOP goes by just now. */
  private isEcho(by: unknown): boolean {
    return Date.now() - this.stoppedAt < STOP_ECHO && (by === this.name || by === "http");
  }

  /** Whether a robot's stop is this page's; the daemon's word alone does not tell for HTTP. */
  private wasStoppedHere({ name, stopped_by }: RobotReport): boolean {
    const before = this.robots.find((robot) => robot.name === name)?.stopped_by;
    if (this.isEcho(stopped_by) || (this.name !== "" && stopped_by === this.name)) this.stoppedHere.add(name);
    else if (stopped_by !== before) this.stoppedHere.delete(name);
    return this.stoppedHere.has(name);
  }

  private async post(robot: string): Promise<void> {
    const token = sessionStorage.getItem(TOKEN);
    const headers: Record<string, string> = { "content-type": "application/json" };
    if (token) headers["authorization"] = `Bearer ${token}`;
    const address = `/api/v1/robots/${encodeURIComponent(robot)}/commands`;
    const answer = await fetch(address, { method: "POST", keepalive: true, headers, body: '{"type":"Stop"}' });
    if (!answer.ok) throw new Error(answer.statusText);
  }

  /** Loads the page anew, as soon as nothing is held that this would let go. */
  reload(): void {
    if ([...this.occupied].some((is) => is())) setTimeout(() => this.reload(), 500);
    else location.reload();
  }

  /** Whether STOP would end anything: what robots told last, or what is held here. */
  get busy(): boolean {
    return [...this.occupied].some((is) => is()) || this.robots.some(isBusy);
  }

  /** Says when a reload would be in the way. */
  onReload(occupied: () => boolean): () => void {
    this.occupied.add(occupied);
    return () => this.occupied.delete(occupied);
  }

  /** What shows the daemon that this page may ask. */
  credentials(): Record<string, string> {
    const token = sessionStorage.getItem(TOKEN);
    return token ? { authorization: `Bearer ${token}` } : {};
  }

  /** Fetches a file of the daemon and has the browser keep it. */
  async download(path: string, name: string): Promise<void> {
    const answer = await fetch(path, { headers: this.credentials() });
    if (!answer.ok) {
      const body = (await answer.json().catch(() => null)) as { error?: { code: string; message: string } } | null;
      throw body?.error ? new Refused(body.error) : new Error(answer.statusText);
    }
    keep(await answer.blob(), name);
  }

  async takeControl(): Promise<void> {
    const robot = this.chosen;
    const taken = (await this.act({ type: "TakeControl" }, "Take control")) as Taken | undefined;
    if (taken?.from) this.tell(robot, "info", `${taken.from} had the controls until now`);
    void this.look();
  }

  useToken(token: string): void {
    sessionStorage.setItem(TOKEN, token);
    this.link.restart();
  }

  choose(robot: string): void {
    if (this.chosen === robot) return;
    this.chosen = robot;
    void this.subscribe();
  }

  onSensors(listener: SensorListener): () => void {
    this.sensors.add(listener);
    return () => this.sensors.delete(listener);
  }

  onFrames(listener: FrameListener): () => void {
    this.frames.add(listener);
    return () => this.frames.delete(listener);
  }

  /** Calls when nothing may move any more: on STOP, and when the connection is lost. */
  onHalt(halt: () => void): () => void {
    this.halts.add(halt);
    return () => this.halts.delete(halt);
  }

  /** Lets the daemon send the next frame. */
  acknowledge(frame: Frame, robot: string): void {
    this.link.say({ type: "Ack", topic: frame.kind, seq: frame.sequence, robot });
  }

  /** How old something is by the daemon's time, s. */
  ageOf(time: number): number {
    // At the pace of texts, but by the time that it is.
    void this.now;
    return Math.max(0, (Date.now() + this.ahead - time) / 1000);
  }

  // What the link tells.

  private phaseChanged(phase: Phase, roundTrip: number | null): void {
    this.roundTrip = roundTrip;
    if (phase === "lost" && this.phase !== "lost") {
      this.lostAt = Date.now();
      this.halts.forEach((halt) => halt());
      this.tell(null, "bad", "Connection to Sinew lost");
    }
    if (phase === "open" && this.phase === "lost") this.tell(null, "ok", "Connected to Sinew again");
    this.phase = phase;
  }

  private message(message: DaemonMessage): void {
    if (message.type === "Lost") this.tell(null, "warn", `${message.count} messages were left out: this page was too slow`);
    if (message.type !== "Event") return;
    const { topic, robot, data } = message;
    if (typeof topic !== "string" || typeof data !== "object" || data === null) return;
    if (topic === "state") {
      if (isReport(data)) this.renew(data);
    } else if (topic === "events") {
      // STOP has a line of its own, for all robots and ways.
      const { event, by } = data as Json;
      if (event === "stopped" && this.isEcho(by)) return;
      const [sign, text] = sentence(data as Json);
      this.tell(robot, sign, text);
    } else {
      const { values, timestamp_us } = data as { values: Json; timestamp_us: number };
      if (typeof values !== "object" || values === null) return;
      const group = topic.replace("sensors/", "");
      this.sensors.forEach((listener) => listener(robot, group, values, timestamp_us / 1000));
    }
  }

  private frame(buffer: ArrayBuffer): void {
    const frame = readFrame(buffer);
    const robot = frame && this.robots[frame.robot]?.name;
    if (!frame || robot === undefined || robot === null) return;
    if (this.frames.size === 0) this.acknowledge(frame, robot);
    this.frames.forEach((listener) => listener(frame, robot));
  }

  private async introduce(): Promise<void> {
    const token = sessionStorage.getItem(TOKEN);
    try {
      const who = { type: "Auth" as const, name: `${browser()} ${this.tab}` };
      const { access, name } = (await this.link.ask(token ? { ...who, token } : who)) as Authenticated;
      this.access = access;
      this.name = name;
      this.tokenWanted = access === "nothing" ? { message: "" } : null;
      // Without a token a ping is refused, and a greeting is not.
      this.link.beat = access === "nothing" ? { type: "Auth" } : { type: "Ping" };
      if (access === "nothing") return;
      if (this.notice?.lasts) this.notice = null;
      await this.subscribe();
    } catch (error) {
      if (error instanceof Refused && error.code === "unauthorized") {
        sessionStorage.removeItem(TOKEN);
        this.link.beat = { type: "Auth" };
        this.tokenWanted = { message: token ? "This token is not right." : "" };
      }
    }
  }

  /** Asks how all robots are. */
  async look(): Promise<void> {
    if (this.phase !== "open" || this.tokenWanted) return;
    const before = Date.now();
    const [robots, pong] = await Promise.all([this.link.ask({ type: "Robots" }), this.link.ask({ type: "Ping" })]).catch(() => []);
    const told = robots as Robots | undefined;
    if (!told || !pong || !Array.isArray(told.robots)) return;
    const { build, time_ms } = pong as { build: string; time_ms: number };
    if (this.build !== "" && this.build !== build) this.reload();
    this.build = build;
    // The quicker the answer, the better it tells the daemon's time.
    const trip = Date.now() - before;
    if (trip <= this.quickest) this.ahead = time_ms - (before + trip / 2);
    this.quickest = Math.min(trip, this.quickest + 2);
    this.warnings = told.warnings ?? [];
    const toldAt = Date.now();
    this.robots = told.robots.filter(isReport).map((robot) => this.known(robot, toldAt));
    if (!this.robots.some(({ name }) => name === this.chosen)) this.chosen = this.robots[0]?.name ?? null;
  }

  private renew(report: RobotReport): void {
    // A robot that has joined since: the list has its place.
    if (!this.robots.some(({ name }) => name === report.name)) return void this.meet();
    const toldAt = Date.now();
    this.robots = this.robots.map((robot) => (robot.name === report.name ? this.known(report, toldAt) : robot));
  }

  private async meet(): Promise<void> {
    const before = this.chosen;
    await this.look();
    // The first one is shown at once.
    if (this.chosen !== before) await this.subscribe();
  }

  private known(report: RobotReport, toldAt: number): Robot {
    return { ...report, toldAt, rate: this.rate(report, toldAt), stoppedHere: this.wasStoppedHere(report) };
  }

  /** Frames a second, over a second or more. */
  private rate({ name, state }: RobotReport, at: number): number | null {
    const counters = state["counters"] as Record<string, number> | undefined;
    const frames = counters?.["frames"] ?? counters?.["received"];
    if (typeof frames !== "number") return null;
    const before = this.counted.get(name);
    if (before && at - before.at < 1000) return before.rate;
    const rate = before && frames >= before.frames ? ((frames - before.frames) * 1000) / (at - before.at) : null;
    this.counted.set(name, { frames, at, rate });
    return rate;
  }

  /** Asks for what the panels of the robot that is chosen show. */
  private async subscribe(): Promise<void> {
    await this.look();
    const { robot } = this;
    try {
      await this.link.ask({ type: "Subscribe", topics: [] });
      this.subscriptions++;
      await this.link.ask({ type: "Subscribe", topics: ["state", "events"], max_hz: 10 });
      if (!robot) return;
      const topics = robot.sensors.filter((group) => !group.endsWith("_version")).map((group) => `sensors/${group}`);
      if (topics.length > 0) await this.link.ask({ type: "Subscribe", robot: robot.name, topics, max_hz: SENSOR_RATE });
    } catch (error) {
      this.fail(null, "Subscribe", error);
    }
    // Not every robot that makes maps has both.
    for (const topic of ["cloud", "map"]) {
      await this.link.ask({ type: "Subscribe", ...(robot ? { robot: robot.name } : {}), topics: [topic] }).catch(() => undefined);
    }
  }
}

/** Has the browser save a file. */
export function keep(blob: Blob, name: string): void {
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(blob);
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
}

/** Whether something is what panels read of a robot: they show whatever calls itself a daemon. */
function isReport(told: unknown): told is RobotReport {
  const report = told as Partial<RobotReport> | null;
  const object = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);
  const links = report?.links ?? {};
  return (
    typeof report?.name === "string" &&
    object(report.state) &&
    typeof report.link?.state === "string" &&
    object(links) &&
    Object.values(links).every((link) => typeof (link as Partial<typeof link> | null)?.state === "string") &&
    Array.isArray(report.capabilities) &&
    Array.isArray(report.sensors)
  );
}

function words(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}

/** The same promise, which fails by itself when it takes too long. */
function within<T>(milliseconds: number, promise: Promise<T>): Promise<T> {
  const late = new Promise<never>((_, fail) => setTimeout(() => fail(new Error("no answer came")), milliseconds));
  const first = Promise.race([promise, late]);
  first.catch(() => undefined);
  return first;
}

function browser(): string {
  const known = ["Edg", "Firefox", "Chrome", "Safari"].find((name) => navigator.userAgent.includes(name));
  return { Edg: "Edge", Chrome: "Chrome", Firefox: "Firefox", Safari: "Safari" }[known ?? ""] ?? "Browser";
}

export const daemon = new Daemon();
