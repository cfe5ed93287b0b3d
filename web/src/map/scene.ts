// The map as a scene: points, ground, robot, way, measure. It is drawn when something has changed.

import {
  AmbientLight, Color, DirectionalLight, Group, Object3D, Scene as Three, Vector3, WebGLRenderer, type LineBasicMaterial,
  type RawShaderMaterial,
} from "three";
import type { Frame, Pose } from "../lib/frame.ts";
import type { Spot } from "../lib/scan.ts";
import { figure, type Body } from "./body.ts";
import { Drawing } from "./drawing.ts";
import { Target, type Goal } from "./goal.ts";
import { Grid } from "./grid.ts";
import { CloudPoints, MapPoints } from "./points.ts";
import { Ruler, type Measure } from "./ruler.ts";
import { pointMaterial, shared, type Colouring } from "./shader.ts";
import { Sight } from "./sight.ts";
import { Views, type Box, type View } from "./views.ts";
import { Way } from "./way.ts";

export type { Goal, View };

/** What a click means. */
export type Tool = "look" | "measure" | "goal";

export interface Readout {
  points: number;
  flat: boolean;
  /** How often it was drawn. */
  frames: number;
  /** JavaScript of the last picture, ms: of drawing, and of taking what came since the one before. */
  script: number;
  /** What the last picture took until the GPU had finished it, ms; it has one point in `step`. */
  took: number;
  step: number;
  /** Pixels of a metre at the point looked at. */
  pixels: number;
  measure: Measure | null;
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

export interface Listener {
  told(readout: Readout): void;
  /** What was kept on the GPU is gone, and has to be asked for again. */
  lost(): void;
  /** A place was chosen; `done` when it was let go. */
  goal(goal: Goal, done: boolean): void;
}

/** Clouds that are shown while there is no map of them. */
const CLOUDS = 50;
/** What a cloud's point is taken to be as wide as, m. */
const CLOUD_CELL = 0.035;
/** How often colours that stand for ages are renewed, ms. */
const AGEING = 2000;
/** Pixels that a click may be off from where it was pressed: what is dragged further turns the view. */
const STEADY = 4;

export class Scene {
  readonly renderer: WebGLRenderer;
  private readonly scene = new Three();
  private readonly views: Views;
  private readonly drawing: Drawing;
  private readonly map: MapPoints;
  private readonly mapMaterial: RawShaderMaterial;
  private readonly clouds: CloudPoints;
  private readonly grid = new Grid();
  private readonly way = new Way();
  private readonly target = new Target();
  private readonly ruler = new Ruler();
  private readonly sight = new Sight();
  private robot: Group = new Group();
  /** What stands on the ground: clouds are measured from the robot's head. */
  private readonly floor = new Group();
  private tool: Tool = "look";
  private pressed: [number, number] | null = null;
  private script = 0;
  private taking = 0;
  private frames = 0;
  private flat = false;
  private isMap = false;
  private placed: Pose | null = null;
  /** Where the robot was seen last. */
  private seen: Pose | null = null;
  private fitted = false;
  private bounds: Box | null = null;
  private settings: Settings | null = null;
  private readonly observer: ResizeObserver;
  private accent = new Color();
  private ink = new Color();
  private body: Body = "disc";
  private ageing: ReturnType<typeof setInterval> | undefined;
  private epoch: number | null = null;
  private readonly began = performance.now();

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly listener: Listener,
  ) {
    Object3D.DEFAULT_UP.set(0, 0, 1);
    this.renderer = new WebGLRenderer({ canvas, antialias: true, powerPreference: "high-performance" });
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    this.drawing = new Drawing(gl, (choose) => this.draw(choose), () => this.listener.told(this.readout()));
    this.views = new Views(canvas, () => this.drawing.turn());
    this.mapMaterial = pointMaterial(true, [0, 0, 0], 0.05, 0.05, false);
    this.map = new MapPoints(gl, this.mapMaterial);
    this.clouds = new CloudPoints(this.renderer, ({ origin, unit }) => pointMaterial(false, origin, unit, CLOUD_CELL, false), CLOUDS);
    const sun = new DirectionalLight(0xffffff, 1.6);
    sun.position.set(3, -4, 8);
    this.floor.add(this.grid.lines, this.way.mesh, this.sight.points, this.robot, this.target.group);
    this.scene.add(new AmbientLight(0xffffff, 1.5), sun, this.floor, this.map.group, this.clouds.group, this.ruler.line);
    this.robot.visible = false;
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(canvas.parentElement ?? canvas);
    canvas.addEventListener("webglcontextrestored", () => {
      this.clear();
      this.listener.lost();
    });
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.drag(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointercancel", () => this.cancel());
    canvas.addEventListener("dblclick", (event) => this.look(event));
    this.theme();
    this.resize();
  }

  dispose(): void {
    this.way.keep();
    this.observer.disconnect();
    clearInterval(this.ageing);
    this.drawing.end();
    this.views.dispose();
    this.map.clear();
    this.clouds.clear();
    this.ruler.dispose();
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
    (this.grid.lines.material as LineBasicMaterial).color = plain("--edge");
    // Among points, which have the accent's colour too, a way is plain.
    this.way.mesh.material.color = plain(this.body === "disc" ? "--accent" : "--figure");
    this.sight.points.material.color = plain("--scan");
    (this.ruler.line.material as LineBasicMaterial).color = plain("--ink");
    this.target.colour(plain("--warn"));
    this.accent = plain("--accent");
    this.ink = plain(this.body === "disc" ? "--surface" : "--figure");
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
    const followed = this.views.view === "follow";
    this.views.choose(view);
    this.views.enable(this.tool !== "goal");
    if (view === "follow") this.follow(true);
    else if (followed) this.fit();
    this.invalidate();
  }

  set(settings: Settings): void {
    shared.colouring.value = ["height", "age", "distance"].indexOf(settings.colouring);
    shared.size.value = settings.size;
    this.settings = settings;
    this.level();
    this.grid.lines.visible = settings.grid;
    this.way.mesh.visible = settings.way;
    this.sight.points.visible = settings.scan;
    this.clouds.group.visible = settings.scan || !this.flat;
    clearInterval(this.ageing);
    // Ages grow also while nothing comes.
    if (settings.colouring === "age") this.ageing = setInterval(() => this.invalidate(), AGEING);
    this.invalidate();
  }

  setTool(tool: Tool): void {
    if (tool !== "measure") this.ruler.clear();
    this.tool = tool;
    this.canvas.style.cursor = tool === "look" ? "" : "crosshair";
    this.views.enable(tool !== "goal");
    this.invalidate();
  }

  setGoal(goal: Goal | null): void {
    this.target.show(goal);
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
      if (this.flat && this.views.view === "orbit") this.setView("top");
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
    [this.placed, this.seen] = [pose, pose];
    this.robot.visible = true;
    this.robot.position.set(pose.x, pose.y, 0);
    this.robot.rotation.z = pose.yaw;
    shared.robot.value.set(pose.x, pose.y, pose.z);
    this.way.extend(pose.x, pose.y);
    if (this.views.view === "follow") this.follow(false);
    this.invalidate();
  }

  /** Shows a turn of a lidar, as seen from a place. */
  setScan(turn: readonly Spot[], from: Pose): void {
    this.sight.show(turn, from);
    if (!this.bounds && turn.length > 0) {
      this.setBounds({ min: [from.x - 4, from.y - 4, 0], max: [from.x + 4, from.y + 4, 0.4] });
      if (this.views.view === "orbit" && !this.views.touched) this.setView("top");
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
    this.sight.clear();
    this.bounds = null;
    this.fitted = false;
    this.ruler.clear();
    [this.placed, this.seen] = [null, null];
    this.robot.visible = false;
    this.invalidate();
  }

  /** What the robot saw last is not where it is seen now. */
  forgetSight(): void {
    this.sight.clear();
    if (this.isMap) this.clouds.clear();
    this.invalidate();
  }

  /** Which way is gone now: whose, and in the frame of what. Each is kept for as long as the tab is. */
  setWay(robot: string, frame: string): void {
    this.way.begin(robot, frame);
    this.sight.clear();
    this.invalidate();
  }

  /** Puts the way by: the page is left. */
  keepWay(): void {
    this.way.keep();
  }

  /** Brings all into view. */
  fit(): void {
    this.views.fit(this.bounds, this.floor.position.z);
    this.invalidate();
  }

  /** A picture of what is seen, with all of its points. */
  picture(): Promise<Blob | null> {
    this.drawing.whole();
    return new Promise((done) => this.canvas.toBlob(done, "image/png"));
  }

  invalidate(): void {
    this.drawing.invalidate();
  }

  private time(): number {
    return (performance.now() - this.began) / 1000;
  }

  private draw(choose: (points: number) => number): number | null {
    if (this.canvas.clientWidth === 0) return null;
    const begin = performance.now();
    const points = this.map.count + this.clouds.count;
    this.map.thin(choose(points));
    shared.now.value = this.time();
    this.renderer.render(this.scene, this.views.camera);
    this.script = performance.now() - begin + this.taking;
    this.taking = 0;
    this.frames++;
    return points;
  }

  private readout(): Readout {
    return {
      points: this.isMap ? this.map.count : this.clouds.count,
      flat: this.flat,
      frames: this.frames,
      script: this.script,
      ...this.drawing.last,
      pixels: this.views.pixels,
      measure: this.ruler.read(this.views),
    };
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement ?? this.canvas;
    if (width === 0 || height === 0) return;
    this.renderer.setSize(width, height, false);
    shared.height.value = height * this.renderer.getPixelRatio();
    this.views.resize(width, height);
    if (!this.views.touched && this.bounds) this.fit();
    // What was drawn is gone by the new size, and is drawn in the same task.
    this.drawing.now();
  }

  private follow(near: boolean): void {
    if (!this.seen) return;
    const { x, y, z } = this.seen;
    this.views.follow(new Vector3(x, y, this.flat ? 0 : z), near);
  }

  /** Points are not looked at: what they fill is told by the robot, or supposed around it. */
  setBounds(box: Box): void {
    const old = this.bounds ?? box;
    const least = (axis: 0 | 1 | 2) => Math.min(old.min[axis], box.min[axis]);
    const most = (axis: 0 | 1 | 2) => Math.max(old.max[axis], box.max[axis]);
    this.bounds = { min: [least(0), least(1), least(2)], max: [most(0), most(1), most(2)] };
    this.grid.cover(this.bounds);
    this.level();
    const wide = ({ min, max }: Box) => Math.hypot(max[0] - min[0], max[1] - min[1]);
    // What grows stays in view, until a person has chosen another.
    if (this.fitted && !this.views.touched && this.views.view !== "follow" && wide(this.bounds) > 1.04 * this.views.fittedTo) this.fit();
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

  private press(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.pressed = this.at(event);
    if (this.tool !== "goal") return;
    const place = this.views.onGround(...this.pressed, this.floor.position.z);
    if (!place) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.aim(this.target.press(place, this.placed?.yaw ?? 0), false);
  }

  private drag(event: PointerEvent): void {
    if (this.tool === "goal") this.aim(this.aimed(event), false);
  }

  private release(event: PointerEvent): void {
    const { pressed } = this;
    this.pressed = null;
    if (!pressed) return;
    const [x, y] = this.at(event);
    if (this.tool === "goal") {
      this.aim(this.aimed(event), true);
      this.target.release();
    } else if (this.tool === "measure" && Math.hypot(x - pressed[0], y - pressed[1]) <= STEADY) {
      const mark = this.pick(x, y);
      if (mark) this.ruler.mark(mark);
      this.invalidate();
    }
  }

  private cancel(): void {
    this.pressed = null;
    this.target.release();
  }

  private aimed(event: PointerEvent): Goal | null {
    const place = this.views.onGround(...this.at(event), this.floor.position.z);
    return place && this.target.drag(place, this.placed?.yaw ?? 0);
  }

  private aim(goal: Goal | null, done: boolean): void {
    if (!goal) return;
    this.setGoal(goal);
    this.listener.goal(goal, done);
  }

  /** The place that was clicked twice becomes the one that the view turns about. */
  private look(event: MouseEvent): void {
    if (this.tool !== "look" || this.views.view === "top") return;
    const place = this.pick(...this.at(event));
    if (!place) return;
    this.views.follow(place, false);
    this.views.touched = true;
  }

  private at(event: MouseEvent): [number, number] {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** The nearest point to a place in the picture, else the ground. */
  private pick(x: number, y: number): Vector3 | null {
    const point = this.ruler.pick(this.renderer, this.scene, this.views, [this.floor, this.ruler.line], x, y);
    return point ?? this.views.onGround(x, y, this.floor.position.z);
  }
}
