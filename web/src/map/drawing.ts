// When pictures are drawn. One is begun when the one before is finished, which the GPU tells: what is handed to it
// sooner piles up before it, and all else that the page wants of the GPU waits behind that.

import { Pace, type Motion } from "../lib/pace.ts";

/** How long the view has to rest until all of it is drawn, ms. */
const SETTLED = 200;
/** How often the GPU is asked whether it is done, ms. */
const POLL = 4;

export interface Picture {
  /** ms from its beginning until the GPU had finished it. */
  took: number;
  /** One point in so many was drawn. */
  step: number;
}

export class Drawing {
  /** The last picture that was finished. */
  last: Picture = { took: 0, step: 1 };
  private readonly pace = new Pace();
  private wanted = false;
  private urgent = false;
  private queued = false;
  private busy = false;
  private waiting: ReturnType<typeof setTimeout> | undefined;
  private settling: ReturnType<typeof setTimeout> | undefined;
  /** No picture before this time that is not urgent. */
  private rests = 0;
  private moved = -Infinity;
  private ended = false;

  constructor(
    private readonly gl: WebGL2RenderingContext,
    /** Draws one point in as many as is chosen; gives how many there are, or null if there is nothing to draw on. */
    private readonly draw: (choose: (points: number) => number) => number | null,
    private readonly finished: (picture: Picture) => void,
  ) {}

  /** Something has changed. */
  invalidate(): void {
    this.wanted = true;
    this.schedule();
  }

  /** The view has changed: what a person turns has to follow at once. */
  turn(): void {
    this.moved = performance.now();
    this.urgent = true;
    this.invalidate();
  }

  /** What was drawn is gone: draws in the same task, if the GPU is free, so that nothing flickers. */
  now(): void {
    if (!this.busy) return this.run();
    this.urgent = true;
    this.invalidate();
  }

  /** Draws all of it, at once, for what reads it in the same task. */
  whole(): void {
    this.draw(() => 1);
  }

  end(): void {
    this.ended = true;
    clearTimeout(this.waiting);
    clearTimeout(this.settling);
  }

  private schedule(): void {
    if (this.queued || this.busy || this.ended) return;
    clearTimeout(this.waiting);
    const wait = this.urgent ? 0 : this.rests - performance.now();
    if (wait > 0) {
      this.waiting = setTimeout(() => this.schedule(), wait);
      return;
    }
    this.queued = true;
    requestAnimationFrame(() => {
      this.queued = false;
      if (!this.ended) this.run();
    });
  }

  private run(): void {
    const began = performance.now();
    const motion: Motion = began - this.moved < SETTLED ? "moving" : "still";
    let step = 1;
    [this.wanted, this.urgent] = [false, false];
    const points = this.draw((points) => (step = this.pace.step(points, motion)));
    if (points === null) return;
    const { gl } = this;
    const fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    this.busy = true;
    const poll = () => {
      if (this.ended) return;
      if (fence && !gl.isContextLost() && gl.clientWaitSync(fence, 0, 0) === gl.TIMEOUT_EXPIRED) {
        setTimeout(poll, POLL);
        return;
      }
      gl.deleteSync(fence);
      this.busy = false;
      const now = performance.now();
      this.last = { took: now - began, step };
      this.rests = now + this.pace.took(now - began, points, step, motion);
      clearTimeout(this.settling);
      if (motion === "moving" && step > 1) this.settling = setTimeout(() => this.invalidate(), SETTLED);
      this.finished(this.last);
      if (this.wanted) this.schedule();
    };
    setTimeout(poll);
  }
}
