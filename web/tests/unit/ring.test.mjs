import assert from "node:assert/strict";
import { test } from "node:test";
import { aligned, History } from "../../src/lib/ring.ts";

test("a plot gets a row for each of its lines, whatever there is", () => {
  assert.deepEqual(aligned([[0, 1], [5, 6]], 3), [[0, 1], [5, 6], [null, null], [null, null]]);
  assert.deepEqual(aligned([[0, 1], [5, 6], [7, 8]], 1), [[0, 1], [5, 6]]);
  assert.deepEqual(aligned([[0, 1, 2], [5]], 1), [[0, 1, 2], [5, null, null]]);
  assert.deepEqual(aligned([], 1), [[], []]);
});

test("no line is drawn over an outage", () => {
  const history = new History(1, 30);
  for (const time of [1, 2, 10, 11]) history.push(time, [time]);
  const [times, row] = history.read();
  assert.deepEqual(row, [1, 2, null, 10, 11]);
  assert.deepEqual(times, [-10, -9, -5, -1, 0]);
});

test("what left the window is not read, and what comes twice is not kept", () => {
  const history = new History(2, 3);
  for (const time of [1, 2, 3, 3, 4, 5, 6]) history.push(time, [time, -time]);
  assert.deepEqual(history.read(), [[-3, -2, -1, 0], [3, 4, 5, 6], [-3, -4, -5, -6]]);
  assert.equal(history.last(1), -6);
});
