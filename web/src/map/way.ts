// The way that a robot went, as a ribbon on the ground: lines are one pixel wide wherever WebGL draws them.

import { BufferAttribute, BufferGeometry, DoubleSide, DynamicDrawUsage, Mesh, MeshBasicMaterial } from "three";

const PLACES = 4000;
/** m */
const WIDTH = 0.045;
/** A place this near to the last one is not kept, m. */
const STEP = 0.03;
/** A robot this far from the end of the way that was kept did not get there by it, m. */
const JUMP = 1;
/** Where ways are kept while the page is loaded anew. */
const KEPT = "sinew-way:";

export class Way {
  readonly mesh: Mesh<BufferGeometry, MeshBasicMaterial>;
  private readonly edges = new BufferAttribute(new Float32Array(PLACES * 6), 3).setUsage(DynamicDrawUsage);
  private length = 0;
  private last: [number, number] = [0, 0];
  private robot = "";
  private frame = "";
  /** What was kept stands there, and nothing has been added to it. */
  private resumed = false;

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
    // While the page was away the robot went elsewhere, or was carried there.
    if (this.resumed && far > JUMP) this.clear();
    this.resumed = false;
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

  /** Goes on with the way of this robot in this frame, if one was kept, and else begins one. */
  begin(robot: string, frame: string): void {
    if (robot === this.robot && frame === this.frame) return;
    this.keep();
    this.clear();
    this.resumed = false;
    [this.robot, this.frame] = [robot, frame];
    for (const [x, y] of read(robot, frame)) this.extend(x, y);
    this.resumed = this.length > 0;
  }

  /** Puts it by. */
  keep(): void {
    if (this.length < 2) return;
    const places = Array.from({ length: this.length }, (_, at) => {
      const middle = (axis: 0 | 1) => ((this.edges.array[6 * at + axis] ?? 0) + (this.edges.array[6 * at + 3 + axis] ?? 0)) / 2;
      return [middle(0), middle(1)].map((metres) => Math.round(metres * 1000) / 1000);
    });
    try {
      sessionStorage.setItem(key(this.robot, this.frame), JSON.stringify(places));
    } catch {
      // No room: the way begins anew after a reload.
    }
  }

  clear(): void {
    this.length = 0;
    this.mesh.geometry.setDrawRange(0, 0);
  }
}

/** Each frame has its own: until the map has come, a page that was loaded anew does not know which it is in. */
function key(robot: string, frame: string): string {
  return `${KEPT}${robot}:${frame}`;
}

/** The places of a way that was kept; none, if what is there is no such thing. */
function read(robot: string, frame: string): [number, number][] {
  try {
    const places: unknown = JSON.parse(sessionStorage.getItem(key(robot, frame)) ?? "[]");
    if (!Array.isArray(places)) return [];
    return places.filter((place): place is [number, number] => Array.isArray(place) && place.length === 2 && place.every(Number.isFinite));
  } catch {
    return [];
  }
}
