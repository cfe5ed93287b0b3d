// A place that a robot is to walk to, and which way it is to face there: pressed, and drawn to where it should look.

import { CircleGeometry, DoubleSide, Group, Mesh, MeshBasicMaterial, RingGeometry, Shape, ShapeGeometry, type Color, type Vector3 } from "three";

export interface Goal {
  x: number;
  y: number;
  yaw: number;
}

/** A shorter drag than this turns nothing, m. */
const TURNS = 0.15;

export class Target {
  readonly group = new Group();
  private readonly material = new MeshBasicMaterial({ depthTest: false, transparent: true, opacity: 0.95, side: DoubleSide });
  private from: Vector3 | null = null;

  constructor() {
    const arrow = new Shape();
    arrow.moveTo(0.85, 0);
    for (const [x, y] of [[0.55, 0.18], [0.55, 0.05], [0.3, 0.05], [0.3, -0.05], [0.55, -0.05], [0.55, -0.18]] as const) arrow.lineTo(x, y);
    for (const shape of [new RingGeometry(0.24, 0.3, 40), new CircleGeometry(0.07, 20), new ShapeGeometry(arrow)]) {
      const mesh = new Mesh(shape, this.material);
      mesh.renderOrder = 4;
      this.group.add(mesh);
    }
    this.group.visible = false;
  }

  colour(colour: Color): void {
    this.material.color = colour;
  }

  show(goal: Goal | null): void {
    this.group.visible = goal !== null;
    if (!goal) return;
    this.group.position.set(goal.x, goal.y, 0.03);
    this.group.rotation.z = goal.yaw;
  }

  /** Pressed here: it faces as the robot does until it is drawn elsewhere. */
  press(place: Vector3, yaw: number): Goal {
    this.from = place;
    return { x: place.x, y: place.y, yaw };
  }

  drag(place: Vector3, yaw: number): Goal | null {
    const { from } = this;
    if (!from) return null;
    const [x, y] = [place.x - from.x, place.y - from.y];
    return { x: from.x, y: from.y, yaw: Math.hypot(x, y) < TURNS ? yaw : Math.atan2(y, x) };
  }

  release(): void {
    this.from = null;
  }
}
