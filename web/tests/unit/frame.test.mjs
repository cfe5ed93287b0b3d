import assert from "node:assert/strict";
import { test } from "node:test";
import { readFrame } from "../../src/lib/frame.ts";

/** A frame as docs/api.md draws it. */
function frame({ kind = 1, flags = 1, points = [[1, 2, 3]], version = 1, header = 104 } = {}) {
  const flat = points.flat();
  const buffer = new ArrayBuffer(header + flat.length * 2);
  const view = new DataView(buffer);
  view.setUint8(0, version);
  view.setUint8(1, kind);
  view.setUint16(2, header, true);
  view.setUint32(4, points.length, true);
  view.setBigUint64(8, 41n, true);
  view.setBigUint64(16, 1_700_000_000_000_000n, true);
  view.setUint32(24, 3, true);
  view.setUint16(28, 1, true);
  view.setUint8(30, flags);
  [-1, -2, -3, 0.05, 4, 5, 6, 0.5].forEach((number, index) => view.setFloat64(32 + 8 * index, number, true));
  new Uint16Array(buffer, header).set(flat);
  return buffer;
}

test("a cloud is read without a copy of its points", () => {
  const buffer = frame();
  const read = readFrame(buffer);
  assert.equal(read.points.buffer, buffer);
  assert.deepEqual([...read.points], [1, 2, 3]);
  assert.deepEqual([read.kind, read.sequence, read.time, read.epoch, read.robot, read.unit], ["cloud", 41, 1_700_000_000_000, 3, 1, 0.05]);
  assert.deepEqual([read.origin, read.pose], [[-1, -2, -3], { x: 4, y: 5, z: 6, yaw: 0.5 }]);
  assert.equal(readFrame(frame({ flags: 0 })).pose, null);
});

test("a flat map is told by its flag", () => {
  const read = readFrame(frame({ kind: 2, flags: 3, points: [[1, 2, 0, 5], [1, 3, 1, 5]] }));
  assert.deepEqual([read.kind, read.flat, read.count], ["map", true, 2]);
});

test("what is no frame is none", () => {
  assert.equal(readFrame(new ArrayBuffer(0)), null);
  assert.equal(readFrame(frame({ version: 2 })), null);
  assert.equal(readFrame(frame({ kind: 3 })), null);
  assert.equal(readFrame(frame({ kind: 2 })), null);
  assert.equal(readFrame(frame().slice(0, 105)), null);
});
