// The map as a scene: points, ground, robot, way, measure. It is drawn when something has changed.

import {
  AmbientLight, BufferAttribute, BufferGeometry, Color, DirectionalLight, DynamicDrawUsage, Group, Line, LineBasicMaterial,
  LineSegments, MathUtils, Object3D, OrthographicCamera, PerspectiveCamera, Points, PointsMaterial, Scene as Three, Vector3,
  WebGLRenderer, WebGLRenderTarget, type RawShaderMaterial,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import type { Frame, Pose } from "../lib/frame.ts";
import type { Spot } from "../lib/scan.ts";
import { figure, type Body } from "./body.ts";
import { Way } from "./way.ts";
import { CloudPoints, MapPoints } from "./points.ts";
import { pointMaterial, shared, type Colouring } from "./shader.ts";

export type View = "orbit" | "top" | "follow";

export interface Readout {
  points: number;
  flat: boolean;
  /** How often it was drawn. */
  frames: number;
  /** JavaScript of the last picture, ms: of drawing, and of taking what came since the one before. */
  script: number;
  /** Pixels of a metre at the point looked at. */
  pixels: number;
  /** Where the measure's ends are in the picture, and how far apart. */
  measure: { a: [number, number]; b: [number, number] | null; metres: number; delta: [number, number, number] } | null;
}

export interface Settings {
  colouring: Colouring;
  /** Of points, as a factor. */
  size: number;
  /** Above the ground, m: what is higher is not shown. */
  cut: number;
  /** What the ends of the colours stand for: m above the ground, s, m. */
  range: [number, number];
  grid: boolean;
  way: boolean;
  scan: boolean;
}

type Box = { min: [number, number, number]; max: [number, number, number] };

/** Clouds that are shown while there is no map of them. */
const CLOUDS = 50;
/** What a cloud's point is taken to be as wide as, m. */
const CLOUD_CELL = 0.035;
const SCAN = 2048;
/** How often colours that stand for ages are renewed, ms. */
const AGEING = 2000;
/** Pixels around a click in which a point is looked for. */
const REACH = 15;

export class Scene {
  readonly renderer: WebGLRenderer;
  private readonly scene = new Three();
  private readonly perspective = new PerspectiveCamera(42, 1, 0.05, 400);
  private readonly flatCamera = new OrthographicCamera(-1, 1, 1, -1, -100, 200);
  private readonly controls: OrbitControls;
  private readonly topControls: OrbitControls;
  private view: View = "orbit";
  private readonly map: MapPoints;
  private readonly mapMaterial: RawShaderMaterial;
  private readonly clouds: CloudPoints;
  private readonly grid = new LineSegments(new BufferGeometry(), new LineBasicMaterial({ transparent: true, opacity: 0.35 }));
  private readonly way = new Way();
  private readonly scan: Points;
  private robot: Group = new Group();
  /** What stands on the ground: clouds are measured from the robot's head. */
  private readonly floor = new Group();
  private readonly ruler = new Line(new BufferGeometry(), new LineBasicMaterial({ depthTest: false, transparent: true }));
  private marks: Vector3[] = [];
  private measuring = false;
  private queued = false;
  private script = 0;
  private taking = 0;
  private frames = 0;
  private flat = false;
  private isMap = false;
  private placed: Pose | null = null;
  private fitted = false;
  /** How wide it was when it was brought into view, m. */
  private fittedTo = 0;
  private touched = false;
  private bounds: Box | null = null;
  private settings: Settings | null = null;
  private readonly target = new WebGLRenderTarget(2 * REACH + 1, 2 * REACH + 1);
  private readonly observer: ResizeObserver;
  private accent = new Color();
  private ink = new Color();
  private body: Body = "disc";
  private ageing: ReturnType<typeof setInterval> | undefined;
  private epoch: number | null = null;
  private readonly began = performance.now();

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly told: (readout: Readout) => void,
    /** What was kept on the GPU is gone, and has to be asked for again. */
    private readonly lost: () => void,
  ) {
    Object3D.DEFAULT_UP.set(0, 0, 1);
    this.renderer = new WebGLRenderer({ canvas, antialias: true, powerPreference: "high-performance" });
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    this.mapMaterial = pointMaterial(true, [0, 0, 0], 0.05, 0.05, false);
    this.map = new MapPoints(gl, this.mapMaterial);
    this.clouds = new CloudPoints(this.renderer, ({ origin, unit }) => pointMaterial(false, origin, unit, CLOUD_CELL, false), CLOUDS);
    for (const camera of [this.perspective, this.flatCamera]) camera.up.set(0, 0, 1);
    this.flatCamera.up.set(0, 1, 0);
    this.perspective.position.set(5, -9, 8);
    this.flatCamera.position.set(0, 0, 50);
    this.flatCamera.zoom = 0.12;
    this.controls = new OrbitControls(this.perspective, canvas);
    this.topControls = new OrbitControls(this.flatCamera, canvas);
    this.topControls.enableRotate = false;
    this.topControls.mouseButtons = { LEFT: 2, MIDDLE: 1, RIGHT: 2 };
    this.topControls.touches = { ONE: 1, TWO: 2 };
    this.topControls.enabled = false;
    this.controls.maxPolarAngle = Math.PI / 2 - 0.02;
    for (const controls of [this.controls, this.topControls]) {
      controls.zoomToCursor = true;
      controls.addEventListener("change", () => this.invalidate());
      controls.addEventListener("start", () => (this.touched = true));
    }
    const places = new BufferAttribute(new Float32Array(SCAN * 3), 3).setUsage(DynamicDrawUsage);
    this.scan = new Points(new BufferGeometry().setAttribute("position", places), new PointsMaterial({ size: 4, sizeAttenuation: false }));
    this.scan.frustumCulled = false;
    this.scan.geometry.setDrawRange(0, 0);
    this.ruler.frustumCulled = false;
    this.ruler.renderOrder = 5;
    const sun = new DirectionalLight(0xffffff, 1.6);
    sun.position.set(3, -4, 8);
    this.floor.add(this.grid, this.way.mesh, this.scan, this.robot);
    this.scene.add(new AmbientLight(0xffffff, 1.5), sun, this.floor, this.map.group, this.clouds.group, this.ruler);
    this.robot.visible = false;
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(canvas.parentElement ?? canvas);
    canvas.addEventListener("webglcontextrestored", () => {
      this.clear();
      this.lost();
    });
    canvas.addEventListener("click", (event) => this.click(event));
    this.theme();
    this.lines([-4, -4, 0], [4, 4, 0]);
    this.resize();
  }

  dispose(): void {
    this.observer.disconnect();
    clearInterval(this.ageing);
    this.controls.dispose();
    this.topControls.dispose();
    this.map.clear();
    this.clouds.clear();
    this.target.dispose();
    this.renderer.dispose();
  }

  /** Takes the page's colours. */
  theme(): void {
    const css = getComputedStyle(this.canvas);
    const colour = (name: string) => new Color().setStyle(css.getPropertyValue(name).trim() || "#888888").convertLinearToSRGB();
    shared.ramp.value = [0, 1, 2, 3, 4].map((step) => colour(`--r${step}`));
    shared.wall.value = colour("--wall");
    shared.floor_.value = colour("--free");
    shared.echo.value = colour("--scan");
    const plain = (name: string) => new Color(css.getPropertyValue(name).trim() || "#888888");
    this.renderer.setClearColor(plain("--view"), 1);
    (this.grid.material as LineBasicMaterial).color = plain("--edge");
    this.way.mesh.material.color = plain("--accent");
    (this.scan.material as PointsMaterial).color = plain("--scan");
    (this.ruler.material as LineBasicMaterial).color = plain("--ink");
    this.accent = plain("--accent");
    this.ink = plain(this.body === "disc" ? "--surface" : "--muted");
    this.setBody(this.body);
    this.invalidate();
  }

  /** What the robot looks like. */
  setBody(body: Body): void {
    if (body !== this.body) {
      this.body = body;
      this.theme();
      return;
    }
    const robot = figure(body, this.accent, this.ink);
    robot.position.copy(this.robot.position);
    robot.rotation.copy(this.robot.rotation);
    robot.visible = this.robot.visible;
    this.robot.removeFromParent();
    this.robot = robot;
    this.floor.add(robot);
    this.invalidate();
  }

  setView(view: View): void {
    const followed = this.view === "follow";
    this.view = view;
    this.controls.enabled = view !== "top";
    this.topControls.enabled = view === "top";
    this.touched = false;
    if (view === "follow") this.follow(true);
    else if (followed) this.fit();
    this.invalidate();
  }

  set(settings: Settings): void {
    shared.colouring.value = ["height", "age", "distance"].indexOf(settings.colouring);
    shared.size.value = settings.size;
    this.settings = settings;
    this.level();
    this.grid.visible = settings.grid;
    this.way.mesh.visible = settings.way;
    this.scan.visible = settings.scan;
    this.clouds.group.visible = settings.scan || !this.flat;
    clearInterval(this.ageing);
    // Ages grow also while nothing comes.
    if (settings.colouring === "age") this.ageing = setInterval(() => this.invalidate(), AGEING);
    this.invalidate();
  }

  setMeasuring(on: boolean): void {
    this.measuring = on;
    this.marks = [];
    this.canvas.style.cursor = on ? "crosshair" : "";
    this.invalidate();
  }

  take(frame: Frame): void {
    const begin = performance.now();
    this.place(frame);
    this.taking += performance.now() - begin;
  }

  private place(frame: Frame): void {
    if (frame.kind === "map") this.takeMap(frame);
    else this.clouds.take(frame);
    if (frame.pose) this.setPose(frame.pose);
    if (!this.bounds) {
      const { x, y, z } = frame.pose ?? { x: 0, y: 0, z: 0 };
      const ground = this.flat ? 0 : frame.kind === "cloud" ? frame.origin[2] : z;
      this.setBounds({ min: [x - 2, y - 2, ground], max: [x + 2, y + 2, ground + 2] });
    }
    if (!this.fitted && this.map.count + this.clouds.count > 200) {
      this.fitted = true;
      if (this.flat && this.view === "orbit") this.setView("top");
      this.fit();
    }
    this.invalidate();
  }

  private takeMap(frame: Frame): void {
    // What was seen before is in the frame of another map.
    if (this.epoch !== null && this.epoch !== frame.epoch) this.clear();
    this.epoch = frame.epoch;
    if (!this.isMap && frame.count > 0) {
      this.isMap = true;
      this.clouds.clear();
      // What came before the map is in it; the newest cloud shows where the robot looks.
      this.clouds.keep = 1;
    }
    this.setFlat(frame.flat);
    const { origin, unit } = frame;
    const uniforms = this.mapMaterial.uniforms as Record<"origin" | "span" | "cell" | "flat_", { value: unknown }>;
    // A cell's place is its lower corner; it is drawn about its middle.
    uniforms.origin.value = new Vector3(...origin).addScalar(unit / 2);
    uniforms.span.value = unit * 65_535;
    uniforms.cell.value = unit;
    uniforms.flat_.value = frame.flat;
    this.map.take(frame, this.time());
    const { extent } = this.map;
    if (!extent) return;
    const place = (cell: [number, number], z: number): [number, number, number] => [origin[0] + cell[0] * unit, origin[1] + cell[1] * unit, z];
    const ground = frame.flat ? 0 : (frame.pose?.z ?? 0);
    const { min, max } = this.bounds ?? { min: [0, 0, ground], max: [0, 0, ground + 2] };
    // The guess around the robot, which came first, may be too wide.
    if (frame.flat) this.bounds = null;
    this.setBounds({ min: place(extent.min, min[2]), max: place(extent.max, max[2]) });
  }

  /** A robot with a map of the ground: its clouds are turns of a lidar. */
  setFlat(flat: boolean): void {
    this.flat = flat;
    shared.turns.value = flat;
    this.clouds.keep = flat || this.isMap ? 1 : CLOUDS;
    this.clouds.group.visible = !flat || this.settings?.scan !== false;
  }

  /** The robot's place, or that it is not known. */
  setPose(pose: Pose | null): void {
    const { placed } = this;
    if (!pose) {
      if (!placed) return;
      this.placed = null;
      this.robot.visible = false;
      this.invalidate();
      return;
    }
    if (placed && placed.x === pose.x && placed.y === pose.y && placed.yaw === pose.yaw) return;
    this.placed = pose;
    this.robot.visible = true;
    this.robot.position.set(pose.x, pose.y, 0);
    this.robot.rotation.z = pose.yaw;
    shared.robot.value.set(pose.x, pose.y, pose.z);
    this.way.extend(pose.x, pose.y);
    if (this.view === "follow") this.follow(false);
    this.invalidate();
  }

  /** Shows a turn of a lidar, as seen from a place. */
  setScan(turn: readonly Spot[], from: Pose): void {
    const places = this.scan.geometry.getAttribute("position") as BufferAttribute;
    const count = Math.min(turn.length, SCAN);
    const [cos, sin] = [Math.cos(from.yaw), Math.sin(from.yaw)];
    for (let index = 0; index < count; index++) {
      const [ahead = 0, left = 0] = turn[index] ?? [];
      places.setXYZ(index, from.x + ahead * cos - left * sin, from.y + ahead * sin + left * cos, 0.01);
    }
    places.needsUpdate = true;
    this.scan.geometry.setDrawRange(0, count);
    if (!this.bounds && count > 0) {
      this.setBounds({ min: [from.x - 4, from.y - 4, 0], max: [from.x + 4, from.y + 4, 0.4] });
      if (this.view === "orbit" && !this.touched) this.setView("top");
      this.fit();
    }
    this.invalidate();
  }

  clear(): void {
    this.map.clear();
    this.clouds.clear();
    this.isMap = false;
    this.clouds.keep = this.flat ? 1 : CLOUDS;
    this.epoch = null;
    this.forgetWay();
    this.bounds = null;
    this.fitted = false;
    this.marks = [];
    this.placed = null;
    this.robot.visible = false;
    this.invalidate();
  }

  /** What the robot saw last is not where it is seen now. */
  forgetSight(): void {
    this.scan.geometry.setDrawRange(0, 0);
    if (this.isMap) this.clouds.clear();
    this.invalidate();
  }

  /** What is shown of the robot's way and sight is in another frame than what comes now. */
  forgetWay(): void {
    this.way.clear();
    this.scan.geometry.setDrawRange(0, 0);
    this.invalidate();
  }

  /** Brings all into view. */
  fit(): void {
    const { min, max } = this.bounds ?? { min: [-4, -4, 0], max: [4, 4, 1] };
    const middle = new Vector3((min[0] + max[0]) / 2, (min[1] + max[1]) / 2, this.floor.position.z);
    const [wide, deep] = [max[0] - min[0] + 1, max[1] - min[1] + 1];
    this.fittedTo = Math.hypot(wide - 1, deep - 1);
    const aspect = this.canvas.clientWidth / Math.max(1, this.canvas.clientHeight);
    const radius = Math.hypot(wide, deep) / 2;
    const away = radius / Math.tan(MathUtils.degToRad(this.perspective.fov / 2)) / Math.min(1, aspect);
    this.controls.target.copy(middle);
    this.perspective.position.copy(middle).add(new Vector3(0.42, -0.72, 0.66).normalize().multiplyScalar(away));
    this.topControls.target.copy(middle);
    this.flatCamera.position.set(middle.x, middle.y, 50);
    this.flatCamera.zoom = Math.min((2 * aspect) / wide, 2 / deep) * 0.86;
    this.flatCamera.updateProjectionMatrix();
    this.controls.update();
    this.topControls.update();
    this.touched = false;
    this.invalidate();
  }

  /** A picture of what is seen. */
  picture(): Promise<Blob | null> {
    this.draw();
    return new Promise((done) => this.canvas.toBlob(done, "image/png"));
  }

  invalidate(): void {
    if (this.queued) return;
    this.queued = true;
    requestAnimationFrame(() => {
      this.queued = false;
      this.draw();
    });
  }

  private time(): number {
    return (performance.now() - this.began) / 1000;
  }

  private get camera(): PerspectiveCamera | OrthographicCamera {
    return this.view === "top" ? this.flatCamera : this.perspective;
  }

  private draw(): void {
    if (this.canvas.clientWidth === 0) return;
    const begin = performance.now();
    shared.now.value = this.time();
    this.renderer.render(this.scene, this.camera);
    this.script = performance.now() - begin + this.taking;
    this.taking = 0;
    this.frames++;
    this.told(this.readout());
  }

  private readout(): Readout {
    const [a, b] = this.marks;
    const place = (mark: Vector3): [number, number] => {
      const seen = mark.clone().project(this.camera);
      return [((seen.x + 1) / 2) * this.canvas.clientWidth, ((1 - seen.y) / 2) * this.canvas.clientHeight];
    };
    const measure = a
      ? {
          a: place(a),
          b: b ? place(b) : null,
          metres: b ? a.distanceTo(b) : 0,
          delta: (b ? b.clone().sub(a).toArray() : [0, 0, 0]) as [number, number, number],
        }
      : null;
    const distance = this.perspective.position.distanceTo(this.controls.target);
    const pixels = (this.camera.projectionMatrix.elements[5] * this.canvas.clientHeight) / 2 / (this.view === "top" ? 1 : distance);
    return { points: this.isMap ? this.map.count : this.clouds.count, flat: this.flat, frames: this.frames, script: this.script, pixels, measure };
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement ?? this.canvas;
    if (width === 0 || height === 0) return;
    this.renderer.setSize(width, height, false);
    shared.height.value = height * this.renderer.getPixelRatio();
    this.perspective.aspect = width / height;
    this.perspective.updateProjectionMatrix();
    this.flatCamera.left = -width / height;
    this.flatCamera.right = width / height;
    this.flatCamera.updateProjectionMatrix();
    if (!this.touched && this.bounds) this.fit();
    this.draw();
  }

  private follow(close: boolean): void {
    if (!this.placed) return;
    const { x, y, z } = this.placed;
    const target = new Vector3(x, y, this.flat ? 0 : z);
    const offset = close ? new Vector3(2.2, -3.6, 3.2) : this.perspective.position.clone().sub(this.controls.target);
    this.controls.target.copy(target);
    this.perspective.position.copy(target).add(offset);
    this.controls.update();
  }

  /** Points are not looked at: what they fill is told by the robot, or supposed around it. */
  setBounds(box: Box): void {
    const old = this.bounds ?? box;
    const least = (axis: 0 | 1 | 2) => Math.min(old.min[axis], box.min[axis]);
    const most = (axis: 0 | 1 | 2) => Math.max(old.max[axis], box.max[axis]);
    this.bounds = { min: [least(0), least(1), least(2)], max: [most(0), most(1), most(2)] };
    this.lines(this.bounds.min, this.bounds.max);
    this.level();
    const wide = ({ min, max }: Box) => Math.hypot(max[0] - min[0], max[1] - min[1]);
    // What grows stays in view, until a person has chosen another.
    if (this.fitted && !this.touched && this.view !== "follow" && wide(this.bounds) > 1.04 * this.fittedTo) this.fit();
  }

  private level(): void {
    const ground = this.flat ? 0 : (this.bounds?.min[2] ?? 0);
    this.floor.position.z = ground;
    if (!this.settings) return;
    const { cut, range, colouring } = this.settings;
    const from = colouring === "height" ? ground : 0;
    shared.cut.value = cut + ground;
    shared.range.value.set(range[0] + from, range[1] + from);
  }

  /** The ground's grid, a metre wide, somewhat larger than what is known. */
  private lines(min: [number, number, number], max: [number, number, number]): void {
    const [left, bottom, right, top] = [Math.floor(min[0]) - 6, Math.floor(min[1]) - 6, Math.ceil(max[0]) + 6, Math.ceil(max[1]) + 6];
    const name = [left, bottom, right, top].join();
    if (this.grid.name === name || (right - left) * (top - bottom) > 1e6) return;
    this.grid.name = name;
    const ends: number[] = [];
    for (let x = left; x <= right; x++) ends.push(x, bottom, -0.01, x, top, -0.01);
    for (let y = bottom; y <= top; y++) ends.push(left, y, -0.01, right, y, -0.01);
    this.grid.geometry.dispose();
    this.grid.geometry = new BufferGeometry().setAttribute("position", new BufferAttribute(new Float32Array(ends), 3));
    this.grid.frustumCulled = false;
  }

  private click(event: MouseEvent): void {
    if (!this.measuring) return;
    const box = this.canvas.getBoundingClientRect();
    const mark = this.pick(event.clientX - box.left, event.clientY - box.top);
    if (!mark) return;
    this.marks = this.marks.length === 1 ? [...this.marks, mark] : [mark];
    this.ruler.geometry.dispose();
    this.ruler.geometry = new BufferGeometry().setFromPoints(this.marks);
    this.ruler.visible = this.marks.length === 2;
    this.invalidate();
  }

  /** The nearest point to a place in the picture, by the depth that is drawn around it; else the ground. */
  private pick(x: number, y: number): Vector3 | null {
    const { camera } = this;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const side = 2 * REACH + 1;
    camera.setViewOffset(width, height, x - REACH, y - REACH, side, side);
    const others = [this.floor, this.ruler].filter(({ visible }) => visible);
    others.forEach((other) => (other.visible = false));
    shared.pick.value = true;
    const old = this.renderer.getClearColor(new Color());
    this.renderer.setClearColor(0, 0);
    this.renderer.setRenderTarget(this.target);
    this.renderer.clear();
    this.renderer.render(this.scene, camera);
    const seen = new Uint8Array(side * side * 4);
    this.renderer.readRenderTargetPixels(this.target, 0, 0, side, side, seen);
    this.renderer.setRenderTarget(null);
    this.renderer.setClearColor(old, 1);
    shared.pick.value = false;
    others.forEach((other) => (other.visible = true));
    camera.clearViewOffset();
    let best: [number, number, number] | null = null;
    let nearest = Infinity;
    for (let row = 0; row < side; row++) {
      for (let column = 0; column < side; column++) {
        const at = (row * side + column) * 4;
        const far = Math.hypot(column - REACH, row - REACH);
        if ((seen[at + 3] ?? 0) < 128 || far >= nearest) continue;
        nearest = far;
        const depth = (seen[at] ?? 0) / 255 + (seen[at + 1] ?? 0) / 65_025 + (seen[at + 2] ?? 0) / 16_581_375;
        best = [x + column - REACH, y - (row - REACH), depth];
      }
    }
    const place = (px: number, py: number, depth: number) =>
      new Vector3((px / width) * 2 - 1, 1 - (py / height) * 2, depth * 2 - 1).unproject(camera);
    if (best) return place(...best);
    const [from, to] = [place(x, y, 0), place(x, y, 1)];
    const ground = this.floor.position.z;
    const share = (from.z - ground) / (from.z - to.z);
    return share > 0 && share < 1 ? from.lerp(to, share) : null;
  }
}
