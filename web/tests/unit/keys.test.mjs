import assert from "node:assert/strict";
import { test } from "node:test";
import { isSpace, spaceStops } from "../../src/lib/keys.ts";
import { isBusy } from "../../src/lib/robot.ts";

test("the space bar stops everywhere, and in a text while anything moves", () => {
  assert.equal(spaceStops(false, false), true);
  assert.equal(spaceStops(true, true), true);
  assert.equal(spaceStops(true, false), false);
});

test("a space bar is known by its code or by its key", () => {
  assert.ok(isSpace({ code: "Space", key: "Process" }));
  assert.ok(isSpace({ code: "", key: " " }));
  assert.ok(!isSpace({ code: "KeyW", key: "w" }));
});

test("a robot is busy while it moves, plays, records, walks or docks", () => {
  const busy = [{ velocity: { linear: 0.004, angular: 0 } }, { velocity: { linear: 0, angular: -0.1 } }, { docking: "approach" }, { playing: { name: "wave" } }, { recording: true }, { mapping: { walking: true } }];
  for (const state of busy) assert.ok(isBusy({ state }), JSON.stringify(state));
  const idle = [{}, { velocity: { linear: 0, angular: 0 }, docking: null, playing: null, recording: false }, { teaching: true }, { mapping: { active: true, walking: false, paused: true } }];
  for (const state of idle) assert.ok(!isBusy({ state }), JSON.stringify(state));
});
