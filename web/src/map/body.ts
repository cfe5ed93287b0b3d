// What stands for the robot in the map.

import { CapsuleGeometry, CircleGeometry, CylinderGeometry, Group, Mesh, MeshBasicMaterial, MeshLambertMaterial, RingGeometry, Shape, ShapeGeometry, type BufferGeometry, type Color } from "three";

/** A low disc on wheels, or a figure that stands. */
export type Body = "disc" | "figure";

export function figure(body: Body, accent: Color, ink: Color): Group {
  const group = new Group();
  const solid = (geometry: BufferGeometry, colour: Color, x: number, y: number, z: number) => {
    const mesh = new Mesh(geometry, new MeshLambertMaterial({ color: colour }));
    mesh.position.set(x, y, z);
    group.add(mesh);
    return mesh;
  };
  const upright = (geometry: BufferGeometry) => geometry.rotateX(Math.PI / 2);
  const mark = (geometry: BufferGeometry, z: number) => {
    const mesh = new Mesh(geometry, new MeshBasicMaterial({ color: body === "disc" ? accent : ink, depthTest: false }));
    mesh.position.z = z;
    mesh.renderOrder = 3;
    group.add(mesh);
  };
  const arrow = new Shape();
  if (body === "disc") {
    solid(upright(new CylinderGeometry(0.165, 0.165, 0.09, 40)), ink, 0, 0, 0.045);
    mark(new RingGeometry(0.15, 0.19, 48), 0.1);
    arrow.moveTo(0.13, 0);
    for (const [x, y] of [[-0.09, 0.09], [-0.04, 0], [-0.09, -0.09]] as const) arrow.lineTo(x, y);
    mark(new ShapeGeometry(arrow), 0.1);
    return group;
  }
  for (const side of [-1, 1]) {
    solid(upright(new CapsuleGeometry(0.06, 0.55, 4, 12)), ink, 0, 0.1 * side, 0.36);
    solid(upright(new CapsuleGeometry(0.042, 0.36, 4, 12)), ink, 0.02, 0.23 * side, 0.92);
  }
  solid(upright(new CapsuleGeometry(0.12, 0.28, 6, 18)), ink, 0, 0, 0.93).scale.set(0.85, 1.25, 1);
  solid(upright(new CapsuleGeometry(0.075, 0.07, 6, 16)), accent, 0.01, 0, 1.24);
  mark(new RingGeometry(0.42, 0.47, 48), 0.02);
  mark(new CircleGeometry(0.05, 24), 0.02);
  arrow.moveTo(0.78, 0);
  for (const [x, y] of [[0.53, 0.15], [0.53, -0.15]] as const) arrow.lineTo(x, y);
  mark(new ShapeGeometry(arrow), 0.02);
  return group;
}
