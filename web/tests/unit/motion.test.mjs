import assert from "node:assert/strict";
import { test } from "node:test";
import { poseAt, readMotion, toCsv } from "../../src/lib/motion.ts";

const row = (...values) => `      - [ ${values.join(", ")} ]`;
const fourteen = (value) => Array.from({ length: 14 }, (_, index) => value + index / 100);
const seq = (...rows) => ["frame_rate: 50", "components:", "  - content: CenterOfMass", "    frames:", row("nan", "nan"), "  - content: JointDisplacement", `    num_frames: ${rows.length}`, "    num_parts: 14", "    frames:", ...rows, "  - content: More"].join("\n");

test("a motion.seq gives its twelve joints, fifty frames a second", () => {
  const { name, joints, frames, duration_ms } = readMotion("wave.seq", seq(row(...fourteen(0)), row(...fourteen(1))));
  assert.deepEqual([name, joints.length, frames.length, duration_ms], ["wave", 12, 2, 20]);
  // Each arm has seven there; the last of them, the wrist's yaw, is left out.
  assert.deepEqual(frames[0], [0, 0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.08, 0.09, 0.1, 0.11, 0.12]);
  assert.equal(joints[6], "right_shoulder_pitch");
});

test("a motion.seq that is cut off, or none, is refused with the reason", () => {
  const whole = seq(row(...fourteen(0)), row(...fourteen(1)));
  assert.throws(() => readMotion("a.seq", whole.replace("num_frames: 2", "num_frames: 3")), /2 frames, not 3/);
  assert.throws(() => readMotion("a.seq", whole.replace("frame_rate: 50", "frame_rate: 0")), /frame_rate/);
  assert.throws(() => readMotion("a.seq", seq(row(1, 2, 3))), /has not 14 numbers/);
  assert.throws(() => readMotion("a.seq", seq(row(...fourteen(NaN)))), /has not 14 numbers/);
  assert.throws(() => readMotion("a.seq", "hello"), /JointDisplacement/);
});

test("a motion comes back from CSV as it went", () => {
  const motion = readMotion("a.csv", "time_ms,left_elbow\n0,0.5\n100,1.5\n");
  assert.equal(toCsv(motion), "time_ms,left_elbow\n0,0.5\n100,1.5\n");
  assert.deepEqual(poseAt(motion, 50), { left_elbow: 1 });
  assert.throws(() => readMotion("a.csv", "time_ms,left_elbow\n0\n"), /line 2 has not 2 numbers/);
});

test("a JSON that is no motion is refused in words", () => {
  assert.throws(() => readMotion("a.json", "{"), { message: "it is not JSON, or it is cut off" });
  for (const text of ["{}", "null", "3", '{"joints":3}']) assert.throws(() => readMotion("a.json", text), { message: "it names no joints" }, text);
  assert.throws(() => readMotion("a.json", '{"joints":[],"frames":3}'), { message: "its frames are no list" });
  assert.deepEqual(readMotion("a.json", '{"joints":["left_elbow"]}').frames, []);
});
