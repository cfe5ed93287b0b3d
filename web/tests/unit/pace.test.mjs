import assert from "node:assert/strict";
import { test } from "node:test";
import { Pace, STEPS } from "../../src/lib/pace.ts";

/** Draws until nothing changes any more, on a machine that takes so many ms for a million points. */
function settle(pace, points, motion, perMillion) {
  let step = 0;
  for (let picture = 0; picture < 20; picture++) {
    step = pace.step(points, motion);
    pace.took((perMillion * points) / step / 1e6, points, step, motion);
  }
  return step;
}

test("a computer that draws quickly draws all of it, always", () => {
  const pace = new Pace();
  assert.equal(settle(pace, 4_000_000, "still", 2), 1);
  assert.equal(settle(pace, 4_000_000, "moving", 2), 1);
  assert.equal(pace.took(8, 4_000_000, 1, "still"), 0, "and waits for nothing");
});

test("a slow one draws what fits while the view is turned, and more of it at rest", () => {
  const pace = new Pace();
  const still = settle(pace, 4_000_000, "still", 1200);
  const moving = settle(pace, 4_000_000, "moving", 1200);
  assert.ok(still > 1 && (1200 * 4) / still < 1.5 * 1500, `at rest each ${still}.`);
  assert.ok(moving > still && (4_000_000 / moving) > 60_000, `turned each ${moving}.`);
});

test("the first picture of a turn is quick already", () => {
  const pace = new Pace();
  pace.took(1200, 1_000_000, 1, "still");
  assert.ok(pace.step(1_000_000, "moving") >= 9);
});

test("small maps are drawn whole, however slow it is", () => {
  const pace = new Pace();
  assert.equal(settle(pace, 90_000, "moving", 100_000), 1);
});

test("what was slow for a while is drawn whole again", () => {
  const pace = new Pace();
  assert.ok(settle(pace, 1_000_000, "moving", 1200) > 1);
  assert.equal(settle(pace, 1_000_000, "moving", 3), 1);
  assert.ok(pace.took(300, 1_000_000, 1, "moving") >= 300, "and a slow picture leaves time for what comes in");
});

test("no step leaves out whole columns of a block, or is wider than a stride may be", () => {
  for (const step of STEPS) {
    assert.equal(step % 2, 1);
    assert.ok(step * 8 <= 255);
  }
});
