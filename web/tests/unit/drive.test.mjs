import assert from "node:assert/strict";
import { test } from "node:test";
import { Driver, keysWish, stickWish } from "../../src/lib/drive.ts";

/** A clock that goes when it is told to. */
function world() {
  const clock = { time: 0, timers: new Set() };
  const sent = [];
  const driver = new Driver((wish) => sent.push(wish), {
    now: () => clock.time,
    every: (_, run) => (clock.timers.add(run), () => clock.timers.delete(run)),
  });
  const pass = (milliseconds) => {
    clock.time += milliseconds;
    [...clock.timers].forEach((run) => run());
  };
  return { driver, sent, pass, clock };
}

const AHEAD = { forward: 1, left: 0 };
const LEFT = { forward: 0, left: 1 };
const STILL = { forward: 0, left: 0 };

test("a velocity is repeated while it is held, and one zero follows", () => {
  const { driver, sent, pass, clock } = world();
  driver.hold("pad", AHEAD);
  pass(100);
  pass(100);
  driver.release("pad");
  assert.deepEqual(sent, [AHEAD, AHEAD, AHEAD, STILL]);
  assert.equal(clock.timers.size, 0);
  driver.release("pad");
  assert.equal(sent.length, 4);
});

test("what changes while it is held goes out with the next beat", () => {
  const { driver, sent, pass } = world();
  driver.hold("pad", AHEAD);
  driver.hold("pad", LEFT);
  assert.deepEqual([sent, driver.wish], [[AHEAD], LEFT]);
  pass(100);
  assert.deepEqual(sent, [AHEAD, LEFT]);
});

test("a beat that comes late ends the hold until it is pressed anew", () => {
  const { driver, sent, pass } = world();
  driver.hold("keys", AHEAD);
  pass(5000);
  assert.deepEqual(sent, [AHEAD, STILL]);
  driver.hold("keys", AHEAD);
  pass(100);
  assert.equal(sent.length, 2);
  driver.release("keys");
  driver.hold("keys", AHEAD);
  assert.deepEqual(sent.at(-1), AHEAD);
});

test("of several controls the last one pressed counts", () => {
  const { driver, sent, pass } = world();
  driver.hold("keys", AHEAD);
  driver.hold("gamepad", LEFT);
  pass(100);
  driver.hold("keys", AHEAD);
  pass(100);
  driver.release("gamepad");
  assert.deepEqual(sent, [AHEAD, LEFT, LEFT, LEFT, AHEAD]);
  driver.releaseAll();
  assert.deepEqual(sent.at(-1), STILL);
  assert.equal(driver.driving, false);
});

test("keys and sticks wish nothing at rest", () => {
  assert.equal(keysWish(new Set(["KeyX"])), null);
  assert.equal(keysWish(new Set(["KeyW", "KeyS"])), null);
  assert.deepEqual(keysWish(new Set(["ArrowUp", "KeyD"])), { forward: 1, left: -1 });
  assert.equal(stickWish(0.05, -0.05), null);
  assert.equal(stickWish(NaN, 0), null);
  assert.deepEqual(stickWish(0, -1), AHEAD);
  assert.deepEqual(stickWish(-5, 0), LEFT);
});
