// Which points of a map are drawn. A frame of a map holds whole blocks of 8 x 8 x 8 cells; the points of
// a block replace all that was known of it. Points are appended to pages as they come, in one piece a
// frame; what a block had before is put out. No point is looked at one by one.

/** Points of a page. */
export const PAGE = 262_144;
/** The age of a point that stands for a block with nothing in it. */
export const NOTHING = 65_535;

export interface Range {
  page: number;
  start: number;
  count: number;
}

/** Where points are kept: the GPU's buffers. */
export interface Store {
  /** Puts points at a place of a page, which exists from then on. */
  write(page: number, start: number, points: Uint16Array): void;
  /** Makes a range invisible. */
  clearRange(range: Range): void;
  /** How much of a page is drawn. */
  draw(page: number, count: number): void;
  /** Moves a range to a page of the next generation. */
  move(from: Range, page: number, start: number): void;
  /** The pages of the next generation take the place of all others. */
  swap(): void;
}

export class Blocks {
  /** Points that are visible. */
  live = 0;
  /** The cells, along x and y, in which there was something. */
  extent: { min: [number, number]; max: [number, number] } | null = null;
  private readonly blocks = new Map<number, Range>();
  private used: number[] = [];

  constructor(private readonly store: Store) {}

  /** Takes the points of a frame, four numbers each. */
  take(points: Uint16Array): void {
    const total = points.length / 4;
    let at = 0;
    while (at < total) {
      // As many whole blocks as fit on the page go up in one piece.
      const page = this.page(Math.min(total - at, 512));
      const room = PAGE - (this.used[page] ?? 0);
      const begin = at;
      const start = this.used[page] ?? 0;
      const found: [number, Range | null][] = [];
      while (at < total) {
        const end = blockEnd(points, at);
        if (end - begin > room) break;
        const key = blockKey(points, at);
        const empty = points[at * 4 + 3] === NOTHING;
        if (!empty) this.reach((points[at * 4] ?? 0) & ~7, (points[at * 4 + 1] ?? 0) & ~7);
        found.push([key, empty ? null : { page, start: start + at - begin, count: end - at }]);
        at = end;
      }
      if (at === begin) return;
      this.store.write(page, start, points.subarray(begin * 4, at * 4));
      this.used[page] = start + at - begin;
      this.store.draw(page, start + at - begin);
      for (const [key, range] of found) this.replace(key, range);
    }
    const held = this.used.reduce((sum, used) => sum + used, 0);
    if (held > 2 * this.live + 2 * PAGE) this.compact();
  }

  clear(): void {
    this.blocks.clear();
    this.used = [];
    this.live = 0;
    this.extent = null;
    this.store.swap();
  }

  private reach(x: number, y: number): void {
    const { min, max } = this.extent ?? { min: [x, y], max: [x, y] };
    this.extent = {
      min: [Math.min(min[0], x), Math.min(min[1], y)],
      max: [Math.max(max[0], x + 8), Math.max(max[1], y + 8)],
    };
  }

  private replace(key: number, range: Range | null): void {
    const old = this.blocks.get(key);
    if (old) {
      this.store.clearRange(old);
      this.live -= old.count;
    }
    if (range) {
      this.blocks.set(key, range);
      this.live += range.count;
    } else {
      this.blocks.delete(key);
    }
  }

  /** The last page, or a new one where a block of so many points does not fit any more. */
  private page(points: number): number {
    const last = this.used.length - 1;
    if (last >= 0 && PAGE - (this.used[last] ?? PAGE) >= points) return last;
    this.used.push(0);
    return last + 1;
  }

  /** Leaves what was put out behind. */
  private compact(): void {
    const used: number[] = [];
    for (const range of this.blocks.values()) {
      if (used.length === 0 || PAGE - (used[used.length - 1] ?? PAGE) < range.count) used.push(0);
      const page = used.length - 1;
      const start = used[page] ?? 0;
      this.store.move({ ...range }, page, start);
      Object.assign(range, { page, start });
      used[page] = start + range.count;
    }
    this.used = used;
    this.store.swap();
    used.forEach((count, page) => this.store.draw(page, count));
  }
}

function blockKey(points: Uint16Array, index: number): number {
  const at = index * 4;
  return (((points[at] ?? 0) >> 3) * 8192 + ((points[at + 1] ?? 0) >> 3)) * 8192 + ((points[at + 2] ?? 0) >> 3);
}

/** Where the block of this point ends: the points of a block stand together, and are 512 at most. */
function blockEnd(points: Uint16Array, index: number): number {
  const total = points.length / 4;
  const key = blockKey(points, index);
  const last = Math.min(total, index + 512);
  let inside = index;
  let outside = index + 1;
  while (outside < last && blockKey(points, outside) === key) {
    inside = outside;
    outside = Math.min(last, index + 2 * (outside - index));
  }
  if (outside >= last && blockKey(points, last - 1) === key) return last;
  if (outside > last - 1) outside = last - 1;
  while (outside - inside > 1) {
    const middle = (inside + outside) >> 1;
    if (blockKey(points, middle) === key) inside = middle;
    else outside = middle;
  }
  return outside;
}
