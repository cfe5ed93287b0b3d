// The way that a robot went, as a ribbon on the ground: lines are one pixel wide wherever WebGL draws them.

import { BufferAttribute, BufferGeometry, DoubleSide, DynamicDrawUsage, Mesh, MeshBasicMaterial } from "three";

const PLACES = 4000;
/** m */
const WIDTH = 0.045;
/** A place this near to the last one is not kept, m. */
const STEP = 0.03;

export class Way {
  readonly mesh: Mesh<BufferGeometry, MeshBasicMaterial>;
  private readonly edges = new BufferAttribute(new Float32Array(PLACES * 6), 3).setUsage(DynamicDrawUsage);
  private length = 0;
  private last: [number, number] = [0, 0];

  constructor() {
    const geometry = new BufferGeometry().setAttribute("position", this.edges);
    const corners = Array.from({ length: PLACES - 1 }, (_, at) => [0, 1, 2, 2, 1, 3].map((corner) => 2 * at + corner)).flat();
    geometry.setIndex(new BufferAttribute(new Uint16Array(corners), 1));
    geometry.setDrawRange(0, 0);
    this.mesh = new Mesh(geometry, new MeshBasicMaterial({ side: DoubleSide, transparent: true, opacity: 0.75, depthTest: false }));
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = 2;
  }

  extend(x: number, y: number): void {
    const [dx, dy] = [x - this.last[0], y - this.last[1]];
    const far = Math.hypot(dx, dy);
    if (this.length > 0 && far < STEP) return;
    if (this.length === PLACES) {
      // The older half goes.
      this.edges.array.copyWithin(0, (PLACES / 2) * 6);
      this.length = PLACES / 2;
    }
    const [side, along] = far > 0 ? [(-dy / far) * WIDTH * 0.5, (dx / far) * WIDTH * 0.5] : [0, 0];
    this.edges.setXYZ(2 * this.length, x + side, y + along, 0.02);
    this.edges.setXYZ(2 * this.length + 1, x - side, y - along, 0.02);
    this.edges.needsUpdate = true;
    this.length++;
    this.last = [x, y];
    this.mesh.geometry.setDrawRange(0, Math.max(0, this.length - 1) * 6);
  }

  clear(): void {
    this.length = 0;
    this.mesh.geometry.setDrawRange(0, 0);
  }
}
