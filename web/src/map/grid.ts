// The ground's grid, a metre wide, somewhat larger than what is known.

import { BufferAttribute, BufferGeometry, LineBasicMaterial, LineSegments } from "three";
import type { Box } from "./views.ts";

/** Squares of the largest one. */
const MOST = 1e6;
/** What it is larger by on each side, m. */
const MARGIN = 6;

export class Grid {
  readonly lines = new LineSegments(new BufferGeometry(), new LineBasicMaterial({ transparent: true, opacity: 0.35 }));
  private drawn = "";

  constructor() {
    this.lines.frustumCulled = false;
    this.cover({ min: [-4, -4, 0], max: [4, 4, 0] });
  }

  cover({ min, max }: Box): void {
    const [left, bottom] = [Math.floor(min[0]) - MARGIN, Math.floor(min[1]) - MARGIN];
    const [right, top] = [Math.ceil(max[0]) + MARGIN, Math.ceil(max[1]) + MARGIN];
    const name = [left, bottom, right, top].join();
    if (this.drawn === name || (right - left) * (top - bottom) > MOST) return;
    this.drawn = name;
    const ends: number[] = [];
    for (let x = left; x <= right; x++) ends.push(x, bottom, -0.01, x, top, -0.01);
    for (let y = bottom; y <= top; y++) ends.push(left, y, -0.01, right, y, -0.01);
    this.lines.geometry.dispose();
    this.lines.geometry = new BufferGeometry().setAttribute("position", new BufferAttribute(new Float32Array(ends), 3));
  }
}
