// Measuring between two points of the picture.

import { BufferGeometry, Color, Line, LineBasicMaterial, WebGLRenderTarget, type Object3D, type Scene, type Vector3, type WebGLRenderer } from "three";
import { shared } from "./shader.ts";
import type { Views } from "./views.ts";

/** Pixels around a click in which a point is looked for. */
const REACH = 15;
const SIDE = 2 * REACH + 1;

export interface Measure {
  /** Where the ends are in the picture. */
  a: [number, number];
  b: [number, number] | null;
  metres: number;
  delta: [number, number, number];
}

export class Ruler {
  readonly line = new Line(new BufferGeometry(), new LineBasicMaterial({ depthTest: false, transparent: true }));
  private marks: Vector3[] = [];
  private readonly target = new WebGLRenderTarget(SIDE, SIDE);

  constructor() {
    this.line.frustumCulled = false;
    this.line.renderOrder = 5;
    this.line.visible = false;
  }

  clear(): void {
    this.marks = [];
    this.line.visible = false;
  }

  /** The first end, or the second; a third begins anew. */
  mark(place: Vector3): void {
    this.marks = this.marks.length === 1 ? [...this.marks, place] : [place];
    this.line.geometry.dispose();
    this.line.geometry = new BufferGeometry().setFromPoints(this.marks);
    this.line.visible = this.marks.length === 2;
  }

  read(views: Views): Measure | null {
    const [a, b] = this.marks;
    if (!a) return null;
    const delta = (b ? b.clone().sub(a).toArray() : [0, 0, 0]) as Measure["delta"];
    return { a: views.seen(a), b: b ? views.seen(b) : null, metres: b ? a.distanceTo(b) : 0, delta };
  }

  /** The nearest point to a place in the picture, by the depth that is drawn around it; `others` are no points. */
  pick(renderer: WebGLRenderer, scene: Scene, views: Views, others: Object3D[], x: number, y: number): Vector3 | null {
    const { camera } = views;
    const { clientWidth: width, clientHeight: height } = renderer.domElement;
    const hidden = others.filter(({ visible }) => visible);
    const old = renderer.getClearColor(new Color());
    const seen = new Uint8Array(SIDE * SIDE * 4);
    camera.setViewOffset(width, height, x - REACH, y - REACH, SIDE, SIDE);
    hidden.forEach((other) => (other.visible = false));
    shared.pick.value = true;
    renderer.setClearColor(0, 0);
    renderer.setRenderTarget(this.target);
    renderer.clear();
    renderer.render(scene, camera);
    renderer.readRenderTargetPixels(this.target, 0, 0, SIDE, SIDE, seen);
    renderer.setRenderTarget(null);
    renderer.setClearColor(old, 1);
    shared.pick.value = false;
    hidden.forEach((other) => (other.visible = true));
    camera.clearViewOffset();
    const best = nearest(seen);
    return best && views.place(x + best.right, y - best.up, best.depth);
  }

  dispose(): void {
    this.target.dispose();
    this.line.geometry.dispose();
  }
}

/** The point that was drawn nearest to the middle. */
function nearest(seen: Uint8Array): { right: number; up: number; depth: number } | null {
  let best: { right: number; up: number; depth: number } | null = null;
  let least = Infinity;
  for (let row = 0; row < SIDE; row++) {
    for (let column = 0; column < SIDE; column++) {
      const at = (row * SIDE + column) * 4;
      const far = Math.hypot(column - REACH, row - REACH);
      if ((seen[at + 3] ?? 0) < 128 || far >= least) continue;
      least = far;
      const depth = (seen[at] ?? 0) / 255 + (seen[at + 1] ?? 0) / 65_025 + (seen[at + 2] ?? 0) / 16_581_375;
      best = { right: column - REACH, up: row - REACH, depth };
    }
  }
  return best;
}
