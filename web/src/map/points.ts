// Points on the GPU, in pages. They get there as they came in the message: no point is touched here.

import { BufferGeometry, GLBufferAttribute, Group, Points, Sphere, type BufferAttribute, type Material, type WebGLRenderer } from "three";
import { Blocks, PAGE, type Range, type Store } from "../lib/blocks.ts";
import type { Frame } from "../lib/frame.ts";
import { shared } from "./shader.ts";

/** Bytes of a map's point: x, y, z, age. */
const POINT = 8;
const OUT = new Uint16Array(512 * 4).fill(65_535);

/** A buffer of the GPU with points of a map, and one with the time at which each came. */
class Page {
  readonly points: Points;
  readonly places: WebGLBuffer;
  readonly times: WebGLBuffer;
  /** How it is drawn, whole or one point in so many: the same buffers, read in larger strides. */
  private readonly shapes = new Map<number, BufferGeometry>();
  private step = 1;
  private count = 0;

  constructor(
    private readonly gl: WebGL2RenderingContext,
    material: Material,
  ) {
    this.places = this.make(PAGE * POINT);
    this.times = this.make(PAGE * 4);
    this.points = shape(this.geometry(1), material);
  }

  /** How many of its points are there. */
  draw(count: number): void {
    this.count = count;
    this.range();
  }

  /** Draws one point in so many. */
  thin(step: number): void {
    if (step === this.step) return;
    this.step = step;
    this.points.geometry = this.geometry(step);
    this.range();
  }

  private range(): void {
    this.points.geometry.setDrawRange(0, Math.ceil(this.count / this.step));
  }

  private geometry(step: number): BufferGeometry {
    const known = this.shapes.get(step);
    if (known) return known;
    const { gl } = this;
    const geometry = new BufferGeometry();
    give(geometry, "position", strided(new GLBufferAttribute(this.places, gl.UNSIGNED_SHORT, 4, 2, PAGE, true), step));
    give(geometry, "born", strided(new GLBufferAttribute(this.times, gl.FLOAT, 1, 4, PAGE), step));
    geometry.boundingSphere = new Sphere();
    this.shapes.set(step, geometry);
    return geometry;
  }

  write(start: number, points: Uint16Array, time: number): void {
    const { gl } = this;
    gl.bindBuffer(gl.COPY_WRITE_BUFFER, this.places);
    gl.bufferSubData(gl.COPY_WRITE_BUFFER, start * POINT, points);
    gl.bindBuffer(gl.COPY_WRITE_BUFFER, this.times);
    gl.bufferSubData(gl.COPY_WRITE_BUFFER, start * 4, new Float32Array(points.length / 4).fill(time));
  }

  clear(start: number, count: number): void {
    const { gl } = this;
    gl.bindBuffer(gl.COPY_WRITE_BUFFER, this.places);
    gl.bufferSubData(gl.COPY_WRITE_BUFFER, start * POINT, OUT, 0, count * 4);
  }

  copy(from: Page, at: number, start: number, count: number): void {
    const { gl } = this;
    for (const [name, bytes] of [["places", POINT], ["times", 4]] as const) {
      gl.bindBuffer(gl.COPY_READ_BUFFER, from[name]);
      gl.bindBuffer(gl.COPY_WRITE_BUFFER, this[name]);
      gl.copyBufferSubData(gl.COPY_READ_BUFFER, gl.COPY_WRITE_BUFFER, at * bytes, start * bytes, count * bytes);
    }
  }

  dispose(): void {
    this.shapes.forEach((geometry) => geometry.dispose());
    this.points.removeFromParent();
    this.gl.deleteBuffer(this.places);
    this.gl.deleteBuffer(this.times);
  }

  private make(bytes: number): WebGLBuffer {
    const { gl } = this;
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.COPY_WRITE_BUFFER, buffer);
    gl.bufferData(gl.COPY_WRITE_BUFFER, bytes, gl.DYNAMIC_DRAW);
    return buffer;
  }
}

/** A map that grows and changes by blocks. */
export class MapPoints implements Store {
  readonly group = new Group();
  private readonly blocks = new Blocks(this);
  private pages: Page[] = [];
  private next: Page[] = [];
  private epoch: number | null = null;
  private time = 0;

  constructor(
    private readonly gl: WebGL2RenderingContext,
    private readonly material: Material,
  ) {}

  get count(): number {
    return this.blocks.live;
  }

  get extent(): Blocks["extent"] {
    return this.blocks.extent;
  }

  /** Takes a frame; `time` is the scene's. */
  take(frame: Frame, time: number): void {
    if (this.epoch !== frame.epoch) this.clear();
    this.epoch = frame.epoch;
    this.time = time;
    this.blocks.take(frame.points);
  }

  /** Draws one point in so many, larger by as much. */
  thin(step: number): void {
    shared.grain.value = Math.sqrt(step);
    this.pages.forEach((page) => page.thin(step));
  }

  clear(): void {
    this.epoch = null;
    this.blocks.clear();
  }

  write(page: number, start: number, points: Uint16Array): void {
    this.pages[page] ??= this.add();
    this.pages[page].write(start, points, this.time);
  }

  clearRange({ page, start, count }: Range): void {
    this.pages[page]?.clear(start, count);
  }

  draw(page: number, count: number): void {
    this.pages[page]?.draw(count);
  }

  move({ page, start, count }: Range, to: number, at: number): void {
    this.next[to] ??= new Page(this.gl, this.material);
    const from = this.pages[page];
    if (from) this.next[to].copy(from, start, at, count);
  }

  swap(): void {
    this.pages.forEach((page) => page.dispose());
    this.pages = this.next;
    this.next = [];
    this.pages.forEach(({ points }) => this.group.add(points));
  }

  private add(): Page {
    const page = new Page(this.gl, this.material);
    this.group.add(page.points);
    return page;
  }
}

/** The last clouds of a robot, one draw each: each has an origin of its own. */
export class CloudPoints {
  readonly group = new Group();
  count = 0;
  private readonly clouds: { points: Points; buffer: WebGLBuffer; count: number }[] = [];

  constructor(
    private readonly renderer: WebGLRenderer,
    private readonly material: (frame: Frame) => Material,
    /** How many are kept. */
    public keep: number,
  ) {}

  take(frame: Frame): void {
    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.COPY_WRITE_BUFFER, buffer);
    gl.bufferData(gl.COPY_WRITE_BUFFER, frame.points, gl.STATIC_DRAW);
    const geometry = new BufferGeometry();
    give(geometry, "position", new GLBufferAttribute(buffer, gl.UNSIGNED_SHORT, 3, 2, frame.count, true));
    geometry.setDrawRange(0, frame.count);
    const points = shape(geometry, this.material(frame));
    // Over the map, which has the same places.
    points.renderOrder = 1;
    this.group.add(points);
    this.clouds.push({ points, buffer, count: frame.count });
    this.count += frame.count;
    this.trim(this.keep);
  }

  clear(): void {
    this.trim(0);
  }

  private trim(keep: number): void {
    const gl = this.renderer.getContext();
    while (this.clouds.length > keep) {
      const oldest = this.clouds.shift();
      if (!oldest) return;
      oldest.points.geometry.dispose();
      (oldest.points.material as Material).dispose();
      oldest.points.removeFromParent();
      gl.deleteBuffer(oldest.buffer);
      this.count -= oldest.count;
    }
  }
}

/** three.js takes buffers of the GPU's own; its types do not say so. */
function give(geometry: BufferGeometry, name: string, attribute: object): void {
  geometry.setAttribute(name, attribute as BufferAttribute);
}

/** One element in so many of a buffer, as three.js reads one that is interleaved with others. */
function strided(buffer: GLBufferAttribute, step: number): object {
  if (step === 1) return buffer;
  const data = Object.assign(buffer, { stride: buffer.itemSize * step });
  return { isInterleavedBufferAttribute: true, data, itemSize: buffer.itemSize, offset: 0, normalized: buffer.normalized, count: Math.ceil(PAGE / step) };
}

function shape(geometry: BufferGeometry, material: Material): Points {
  geometry.boundingSphere = new Sphere();
  const points = new Points(geometry, material);
  points.frustumCulled = false;
  return points;
}
