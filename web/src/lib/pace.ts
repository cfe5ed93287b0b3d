// How much of a map is drawn, and how often: by how long the pictures before took. A graphics card draws
// millions of points in a few milliseconds, a browser without one needs seconds for them, and meanwhile neither
// does the rest of the page move nor do more points come in.

/** What a picture may take while the view is turned, ms. */
const MOVING = 70;
/** What it may take at rest, ms. */
const STILL = 1500;
/** A picture that took less leaves the others alone, ms. */
const QUICK = 25;
/** How long is waited after a slow picture, as a factor of what it took, until it is drawn anew for new points. */
const REST = 2;
/** Points that are drawn in any case. */
const LEAST = { moving: 60_000, still: 500_000 };
/** Only each so-manieth point is drawn, at most: what a buffer's stride allows. */
export const COARSEST = 16;

export type Motion = "moving" | "still";

export class Pace {
  /** Of all points, each so-manieth is drawn. */
  private readonly steps: Record<Motion, number> = { moving: 1, still: 1 };
  /** ms that a whole picture would take, by the last one. */
  private whole = 0;

  /** Which points to draw of so many: each first, second, fourth … */
  step(points: number, motion: Motion): number {
    return Math.min(this.steps[motion], within(points / LEAST[motion]));
  }

  /** A picture of these took so long; gives how long to wait before the next that is not urgent, ms. */
  took(milliseconds: number, points: number, step: number, motion: Motion): number {
    this.whole = milliseconds * step;
    this.adapt(motion, milliseconds, step, points);
    // The first picture of a turn is as quick as those that follow.
    if (motion === "still") this.steps.moving = Math.max(this.steps.moving, within(this.whole / MOVING));
    return milliseconds > QUICK ? milliseconds * REST : 0;
  }

  private adapt(motion: Motion, milliseconds: number, step: number, points: number): void {
    const budget = motion === "moving" ? MOVING : STILL;
    if (milliseconds > 1.5 * budget) this.steps[motion] = Math.min(COARSEST, step * 2);
    else if (milliseconds < 0.4 * budget && step === this.step(points, motion)) this.steps[motion] = Math.max(1, step / 2);
  }
}

/** The largest power of two that is not above, from 1 to the coarsest. */
function within(value: number): number {
  return Math.max(1, Math.min(COARSEST, 2 ** Math.floor(Math.log2(Math.max(1, value)))));
}
