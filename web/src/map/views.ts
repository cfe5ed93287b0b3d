// From where the scene is seen: round about, from above, or after the robot.

import { MathUtils, OrthographicCamera, PerspectiveCamera, Vector3 } from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";

export type View = "orbit" | "top" | "follow";
export type Box = { min: [number, number, number]; max: [number, number, number] };

const AROUND: Box = { min: [-4, -4, 0], max: [4, 4, 1] };

export class Views {
  view: View = "orbit";
  /** A person has chosen what is in view. */
  touched = false;
  /** How wide it was when it was brought into view, m. */
  fittedTo = 0;
  private readonly perspective = new PerspectiveCamera(42, 1, 0.05, 400);
  private readonly flat = new OrthographicCamera(-1, 1, 1, -1, -100, 200);
  private readonly orbit: OrbitControls;
  private readonly top: OrbitControls;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    changed: () => void,
  ) {
    this.perspective.up.set(0, 0, 1);
    this.flat.up.set(0, 1, 0);
    this.perspective.position.set(5, -9, 8);
    this.flat.position.set(0, 0, 50);
    this.flat.zoom = 0.12;
    this.orbit = new OrbitControls(this.perspective, canvas);
    this.top = new OrbitControls(this.flat, canvas);
    this.top.enableRotate = false;
    this.top.mouseButtons = { LEFT: 2, MIDDLE: 1, RIGHT: 2 };
    this.top.touches = { ONE: 1, TWO: 2 };
    this.orbit.maxPolarAngle = Math.PI / 2 - 0.02;
    for (const controls of [this.orbit, this.top]) {
      controls.zoomToCursor = true;
      controls.addEventListener("change", changed);
      controls.addEventListener("start", () => (this.touched = true));
    }
    this.enable(true);
  }

  get camera(): PerspectiveCamera | OrthographicCamera {
    return this.view === "top" ? this.flat : this.perspective;
  }

  choose(view: View): void {
    this.view = view;
    this.touched = false;
    this.enable(true);
  }

  /** Whether a drag turns or moves the view. */
  enable(on: boolean): void {
    this.orbit.enabled = on && this.view !== "top";
    this.top.enabled = on && this.view === "top";
  }

  /** Brings a box into view. */
  fit(box: Box | null, ground: number): void {
    const { min, max } = box ?? AROUND;
    const middle = new Vector3((min[0] + max[0]) / 2, (min[1] + max[1]) / 2, ground);
    const [wide, deep] = [max[0] - min[0] + 1, max[1] - min[1] + 1];
    this.fittedTo = Math.hypot(wide - 1, deep - 1);
    const aspect = this.canvas.clientWidth / Math.max(1, this.canvas.clientHeight);
    const radius = Math.hypot(wide, deep) / 2;
    const away = radius / Math.tan(MathUtils.degToRad(this.perspective.fov / 2)) / Math.min(1, aspect);
    this.perspective.far = Math.max(400, 4 * away);
    this.perspective.updateProjectionMatrix();
    this.orbit.target.copy(middle);
    this.perspective.position.copy(middle).add(new Vector3(0.42, -0.72, 0.66).normalize().multiplyScalar(away));
    this.top.target.copy(middle);
    this.flat.position.set(middle.x, middle.y, 50);
    this.flat.zoom = Math.min((2 * aspect) / wide, 2 / deep) * 0.86;
    this.flat.updateProjectionMatrix();
    this.orbit.update();
    this.top.update();
    this.touched = false;
  }

  /** Looks at a place, from near by or from as far as before. */
  follow(place: Vector3, near: boolean): void {
    const offset = near ? new Vector3(2.2, -3.6, 3.2) : this.perspective.position.clone().sub(this.orbit.target);
    this.orbit.target.copy(place);
    this.perspective.position.copy(place).add(offset);
    this.orbit.update();
  }

  resize(width: number, height: number): void {
    this.perspective.aspect = width / height;
    this.perspective.updateProjectionMatrix();
    this.flat.left = -width / height;
    this.flat.right = width / height;
    this.flat.updateProjectionMatrix();
  }

  /** Pixels of a metre at the point looked at. */
  get pixels(): number {
    const distance = this.view === "top" ? 1 : this.perspective.position.distanceTo(this.orbit.target);
    return ((this.camera.projectionMatrix.elements[5] ?? 1) * this.canvas.clientHeight) / 2 / distance;
  }

  /** Where a place is in the picture. */
  seen(place: Vector3): [number, number] {
    const { x, y } = place.clone().project(this.camera);
    return [((x + 1) / 2) * this.canvas.clientWidth, ((1 - y) / 2) * this.canvas.clientHeight];
  }

  /** The place at a depth, 0 to 1, of a pixel. */
  place(x: number, y: number, depth: number): Vector3 {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    return new Vector3((x / width) * 2 - 1, 1 - (y / height) * 2, depth * 2 - 1).unproject(this.camera);
  }

  /** Where a pixel's ray meets the ground. */
  onGround(x: number, y: number, ground: number): Vector3 | null {
    const [from, to] = [this.place(x, y, 0), this.place(x, y, 1)];
    const share = (from.z - ground) / (from.z - to.z);
    return share > 0 && share < 1 ? from.lerp(to, share) : null;
  }

  dispose(): void {
    this.orbit.dispose();
    this.top.dispose();
  }
}
