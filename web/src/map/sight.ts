// What a lidar sees now: a turn of it, as seen from a place.

import { BufferAttribute, BufferGeometry, DynamicDrawUsage, Points, PointsMaterial } from "three";
import type { Pose } from "../lib/frame.ts";
import type { Spot } from "../lib/scan.ts";

const MOST = 2048;

export class Sight {
  readonly points: Points<BufferGeometry, PointsMaterial>;
  private readonly places = new BufferAttribute(new Float32Array(MOST * 3), 3).setUsage(DynamicDrawUsage);

  constructor() {
    this.points = new Points(new BufferGeometry().setAttribute("position", this.places), new PointsMaterial({ size: 4, sizeAttenuation: false }));
    this.points.frustumCulled = false;
    this.clear();
  }

  show(turn: readonly Spot[], from: Pose): void {
    const count = Math.min(turn.length, MOST);
    const [cos, sin] = [Math.cos(from.yaw), Math.sin(from.yaw)];
    for (let index = 0; index < count; index++) {
      const [ahead = 0, left = 0] = turn[index] ?? [];
      this.places.setXYZ(index, from.x + ahead * cos - left * sin, from.y + ahead * sin + left * cos, 0.01);
    }
    this.places.needsUpdate = true;
    this.points.geometry.setDrawRange(0, count);
  }

  clear(): void {
    this.points.geometry.setDrawRange(0, 0);
  }
}
