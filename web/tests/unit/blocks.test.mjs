import assert from "node:assert/strict";
import { test } from "node:test";
import { Blocks, NOTHING, PAGE } from "../../src/lib/blocks.ts";

/** Pages in memory, which draw what a GPU would. */
class Pages {
  pages = [];
  next = [];
  drawn = [];
  writes = 0;
  write(page, start, points) {
    this.writes++;
    (this.pages[page] ??= new Uint16Array(PAGE * 4)).set(points, start * 4);
  }
  clearRange({ page, start, count }) {
    this.pages[page].fill(65_535, start * 4, (start + count) * 4);
  }
  draw(page, count) {
    this.drawn[page] = count;
  }
  move({ page, start, count }, to, at) {
    (this.next[to] ??= new Uint16Array(PAGE * 4)).set(this.pages[page].subarray(start * 4, (start + count) * 4), at * 4);
  }
  swap() {
    [this.pages, this.next, this.drawn] = [this.next, [], []];
  }
  seen() {
    const seen = [];
    this.pages.forEach((page, index) => {
      for (let at = 0; at < (this.drawn[index] ?? 0); at++) {
        const [x, y, z, age] = page.subarray(at * 4, at * 4 + 4);
        if (age !== NOTHING) seen.push(`${x},${y},${z}`);
      }
    });
    return seen.sort();
  }
}

const frame = (points) => Uint16Array.from(points.flat());

test("a block's points replace those it had", () => {
  const pages = new Pages();
  const blocks = new Blocks(pages);
  blocks.take(frame([[0, 0, 0, 1], [7, 7, 7, 1], [8, 0, 0, 1]]));
  assert.deepEqual([pages.seen(), blocks.live], [["0,0,0", "7,7,7", "8,0,0"], 3]);
  assert.equal(pages.writes, 1);
  blocks.take(frame([[1, 1, 1, 0]]));
  assert.deepEqual([pages.seen(), blocks.live], [["1,1,1", "8,0,0"], 2]);
  blocks.take(frame([[8, 0, 0, NOTHING]]));
  assert.deepEqual([pages.seen(), blocks.live], [["1,1,1"], 1]);
  blocks.clear();
  assert.deepEqual([pages.seen(), blocks.live], [[], 0]);
});

test("what is shown is what was sent last, whatever came before", () => {
  const pages = new Pages();
  const blocks = new Blocks(pages);
  const known = new Map();
  let seed = 7;
  const random = (below) => ((seed = (seed * 1_664_525 + 1_013_904_223) >>> 0) >>> 8) % below;
  for (let round = 0; round < 400; round++) {
    const points = [];
    const chosen = new Set(Array.from({ length: 1 + random(40) }, () => random(600)));
    for (const block of chosen) {
      const [bx, by, bz] = [block % 10, Math.floor(block / 10) % 10, Math.floor(block / 100)];
      const cells = new Set(Array.from({ length: random(513) }, () => random(512)));
      const made = [...cells].map((cell) => [bx * 8 + (cell & 7), by * 8 + ((cell >> 3) & 7), bz * 8 + (cell >> 6), random(100)]);
      if (made.length === 0) points.push([bx * 8, by * 8, bz * 8, NOTHING]);
      points.push(...made);
      known.set(block, made);
    }
    blocks.take(frame(points));
  }
  const wanted = [...known.values()].flat().map(([x, y, z]) => `${x},${y},${z}`).sort();
  assert.equal(blocks.live, wanted.length);
  assert.deepEqual(pages.seen(), wanted);
  // What was put out is left behind in time.
  assert.ok(pages.drawn.reduce((sum, count) => sum + count, 0) <= 2 * blocks.live + 3 * PAGE);
});

test("a map of a million points takes one write a frame and page", () => {
  const pages = new Pages();
  const blocks = new Blocks(pages);
  let frames = 0;
  for (let x = 0; x < 64; x++) {
    const points = [];
    for (let y = 0; y < 30; y++) for (let cell = 0; cell < 512; cell++) points.push([x * 8 + (cell & 7), y * 8 + ((cell >> 3) & 7), cell >> 6, 1]);
    blocks.take(frame(points));
    frames++;
  }
  assert.equal(blocks.live, 64 * 30 * 512);
  assert.ok(pages.writes <= frames + pages.pages.length, `${pages.writes} writes`);
});
