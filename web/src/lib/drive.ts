// Driving by hand: velocities are repeated for as long as a control is held, and followed by one zero.

/** Parts of the limits, forward and to the left, from -1 to 1. */
export interface Wish {
  forward: number;
  left: number;
}

export type Source = "pad" | "keys" | "gamepad";

/** What a velocity is repeated after, as a part of the daemon's dead-man. */
const BEAT = 1 / 3;
/** A beat that comes later than this part was held up, and what is held by then may be held no more. */
const LATE = 5 / 6;

export interface Clock {
  now(): number;
  every(milliseconds: number, run: () => void): () => void;
}

const STILL: Wish = { forward: 0, left: 0 };

export class Driver {
  /** What goes out now. */
  wish: Wish = STILL;
  /** How long a velocity counts for the daemon without a new one, ms. */
  deadman = 300;
  private readonly held = new Map<Source, Wish>();
  /** Controls that have to be let go before they count again. */
  private readonly spent = new Set<Source>();
  private end: (() => void) | null = null;
  private beat = 0;

  /** `send` is called for each velocity, `changed` when the wish is another. */
  constructor(
    private readonly send: (wish: Wish) => void,
    private readonly clock: Clock,
    private readonly changed: (wish: Wish) => void = () => undefined,
  ) {}

  get driving(): boolean {
    return this.end !== null;
  }

  /** A control is held so. The one that was pressed last counts. */
  hold(source: Source, wish: Wish): void {
    if (this.spent.has(source)) return;
    const began = !this.held.has(source);
    this.held.set(source, wish);
    if (this.end === null) {
      this.beat = this.clock.now();
      this.end = this.clock.every(this.deadman * BEAT, () => this.tick());
      this.repeat();
    } else if (began) {
      this.repeat();
    } else {
      this.tell(this.newest());
    }
  }

  /** A control was let go. */
  release(source: Source): void {
    this.spent.delete(source);
    if (!this.held.delete(source)) return;
    if (this.held.size === 0) this.stop();
    else this.repeat();
  }

  /** Everything was let go, or has to be: the page is left, the connection is gone. */
  releaseAll(): void {
    for (const source of this.held.keys()) this.spent.add(source);
    this.held.clear();
    this.stop();
  }

  private stop(): void {
    if (this.end === null) return;
    this.end();
    this.end = null;
    this.tell(STILL);
    this.send(STILL);
  }

  private tick(): void {
    const now = this.clock.now();
    const late = now - this.beat > this.deadman * LATE;
    this.beat = now;
    if (late) this.releaseAll();
    else this.repeat();
  }

  private repeat(): void {
    const wish = this.newest();
    this.tell(wish);
    this.send(wish);
  }

  private newest(): Wish {
    return [...this.held.values()].at(-1) ?? STILL;
  }

  private tell(wish: Wish): void {
    if (wish.forward === this.wish.forward && wish.left === this.wish.left) return;
    this.wish = wish;
    this.changed(wish);
  }
}

/** What keys wish, by `event.code`; null if they wish nothing. */
export function keysWish(down: ReadonlySet<string>): Wish | null {
  const any = (...codes: string[]) => (codes.some((code) => down.has(code)) ? 1 : 0);
  const forward = any("KeyW", "ArrowUp") - any("KeyS", "ArrowDown");
  const left = any("KeyA", "ArrowLeft") - any("KeyD", "ArrowRight");
  return forward === 0 && left === 0 ? null : { forward, left };
}

/** What a stick wishes: nothing near its middle, and no jump where it begins. */
export function stickWish(x: number, y: number, dead = 0.12): Wish | null {
  const length = Math.hypot(x, y);
  if (!(length > dead)) return null;
  const scale = Math.min(1, (length - dead) / (1 - dead)) / length;
  return { forward: clean(-y * scale), left: clean(-x * scale) };
}

function clean(value: number): number {
  return Math.round(value * 1000) / 1000 + 0;
}
