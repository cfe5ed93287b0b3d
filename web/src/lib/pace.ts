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
/**
 * One point in so many is drawn. Odd, since a block's points stand in rows of eight, of which each eighth would be
 * a column; and 31 elements of 8 bytes are the widest stride that a buffer is read in.
 */
export const STEPS = [1, 3, 5, 9, 17, 31] as const;

export type Motion = "moving" | "still";

export class Pace {
  /** Places in `STEPS`. */
  private readonly at: Record<Motion, number> = { moving: 0, still: 0 };

  /** Which points to draw of so many: each first, third, fifth … */
  step(points: number, motion: Motion): number {
    return STEPS[this.place(points, motion)] ?? 1;
  }

  /** A picture of one in `step` of these points took so long; gives how long to wait before one that is not urgent, ms. */
  took(milliseconds: number, points: number, step: number, motion: Motion): number {
    const place = STEPS.findIndex((one) => one === step);
    const budget = motion === "moving" ? MOVING : STILL;
    if (milliseconds > 1.5 * budget) this.at[motion] = Math.min(STEPS.length - 1, place + 1);
    else if (milliseconds < 0.4 * budget && place === this.place(points, motion)) this.at[motion] = Math.max(0, place - 1);
    // The first picture of a turn is to be as quick as those that follow.
    if (motion === "still") this.at.moving = Math.max(this.at.moving, upTo((milliseconds * step) / MOVING));
    return milliseconds > QUICK ? milliseconds * REST : 0;
  }

  private place(points: number, motion: Motion): number {
    return Math.min(this.at[motion], upTo(points / LEAST[motion]));
  }
}

/** The last of the steps that is not above. */
function upTo(value: number): number {
  return Math.max(0, STEPS.findLastIndex((step) => step <= value));
}
