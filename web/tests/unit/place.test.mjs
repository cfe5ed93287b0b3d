import assert from "node:assert/strict";
import { test } from "node:test";
import { mappingWaits } from "../../src/lib/place.ts";
import { activity, dot } from "../../src/lib/robot.ts";
import { cut, stopReason } from "../../src/lib/words.ts";

const mapping = { map: { mapping: true } };
const robot = (state, lidar) => ({ state, link: { state: "ready" }, links: lidar ? { lidar: { state: lidar } } : {}, fresh: true });

test("mapping that gets no scan says so, and is not green", () => {
  // A controller that has just booted tells no speed of its lidar at all.
  for (const lidar of [0, null]) {
    assert.deepEqual(mappingWaits({ ...mapping, lidar }, { lidar: { state: "silent" } }), { why: "the lidar is off", off: true });
    assert.equal(activity(robot({ ...mapping, lidar }, "silent")), "lidar off, mapping waits");
    assert.equal(dot(robot({ ...mapping, lidar }, "silent"), false), "warn");
  }
  assert.deepEqual(mappingWaits({ ...mapping, lidar: 60 }, { lidar: { state: "silent" } }), { why: "nothing comes from the lidar", off: false });
});

test("mapping that goes on, or is not asked for, waits for nothing", () => {
  for (const state of ["turning", "starting"]) assert.equal(mappingWaits({ ...mapping, lidar: 60 }, { lidar: { state } }), null);
  assert.equal(mappingWaits({ mapping: { active: true } }, { teaching: { state: "ready" } }), null, "a robot whose lidar is its own");
  assert.equal(mappingWaits({ lidar: 0 }, { lidar: { state: "silent" } }), null);
  assert.equal(dot(robot({ ...mapping, lidar: 60 }, "turning"), false), "");
});

test("a name is cut to bytes, between letters", () => {
  assert.equal(cut("a".repeat(40), 31), "a".repeat(31));
  assert.equal(cut("ä".repeat(20), 31), "ä".repeat(15));
  assert.equal(cut("👋👋", 7), "👋");
});

test("a stop is told by who stopped", () => {
  assert.equal(stopReason("http", true), "Stopped from this page");
  assert.equal(stopReason("http", false), "Stopped by another page or program");
  assert.equal(stopReason("Chrome 12ab left", false), "Stopped: Chrome 12ab left");
});
