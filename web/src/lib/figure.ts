// A figure of a robot with two arms: where its joints are, by their angles. Axes as the robot's: x ahead,
// y to its left, z up; metres.

export type Angles = Readonly<Record<string, number>>;
export type Point = [number, number, number];

/** In the order of the sensor group `joints`. */
export const JOINTS = ["left", "right"].flatMap((side) =>
  ["shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow", "wrist_roll", "wrist_pitch"].map((joint) => `${side}_${joint}`),
);

export interface Limb {
  from: Point;
  to: Point;
  /** m */
  width: number;
  part: "arm" | "body" | "head" | "leg";
}

const UPPER = 0.2;
const FORE = 0.19;
const HAND = 0.1;

type Matrix = [Point, Point, Point];
const times = (a: Matrix, b: Matrix): Matrix =>
  a.map((row) => [0, 1, 2].map((column) => row.reduce((sum, value, index) => sum + value * (b[index]?.[column] ?? 0), 0))) as Matrix;
const turn = (matrix: Matrix, [x, y, z]: Point): Point => matrix.map((row) => row[0] * x + row[1] * y + row[2] * z) as Point;
const add = (a: Point, b: Point): Point => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];

function about(axis: "x" | "y" | "z", angle: number): Matrix {
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  if (axis === "x") return [[1, 0, 0], [0, c, -s], [0, s, c]];
  if (axis === "y") return [[c, 0, s], [0, 1, 0], [-s, 0, c]];
  return [[c, -s, 0], [s, c, 0], [0, 0, 1]];
}

/** The joints of an arm: shoulder, elbow, wrist, tip. With all angles 0 it hangs, and the forearm points ahead. */
export function arm(angles: Angles, side: "left" | "right"): [Point, Point, Point, Point] {
  const angle = (joint: string) => angles[`${side}_${joint}`] ?? 0;
  const shoulder: Point = [0, side === "left" ? 0.17 : -0.17, 1.1];
  let matrix = times(about("y", angle("shoulder_pitch")), about("x", angle("shoulder_roll")));
  matrix = times(matrix, about("z", angle("shoulder_yaw")));
  const elbow = add(shoulder, turn(matrix, [0, 0, -UPPER]));
  matrix = times(matrix, about("y", angle("elbow")));
  const wrist = add(elbow, turn(matrix, [FORE, 0, 0]));
  matrix = times(times(matrix, about("x", angle("wrist_roll"))), about("y", angle("wrist_pitch")));
  return [shoulder, elbow, wrist, add(wrist, turn(matrix, [HAND, 0, 0]))];
}

export function limbs(angles: Angles): Limb[] {
  const arms = (["left", "right"] as const).flatMap((side): Limb[] => {
    const [shoulder, elbow, wrist, tip] = arm(angles, side);
    return [
      { from: shoulder, to: elbow, width: 0.085, part: "arm" },
      { from: elbow, to: wrist, width: 0.072, part: "arm" },
      { from: wrist, to: tip, width: 0.055, part: "arm" },
    ];
  });
  const legs = [-1, 1].flatMap((side): Limb[] => [
    { from: [0, 0.075 * side, 0.68], to: [0.02, 0.085 * side, 0.36], width: 0.115, part: "leg" },
    { from: [0.02, 0.085 * side, 0.36], to: [0, 0.085 * side, 0.06], width: 0.095, part: "leg" },
    { from: [-0.03, 0.085 * side, 0.03], to: [0.1, 0.085 * side, 0.03], width: 0.06, part: "leg" },
  ]);
  return [
    ...legs,
    { from: [0, -0.05, 0.72], to: [0, 0.05, 0.72], width: 0.17, part: "leg" },
    { from: [0, 0, 0.84], to: [0, 0, 0.98], width: 0.24, part: "body" },
    { from: [0, -0.07, 1.06], to: [0, 0.07, 1.06], width: 0.2, part: "body" },
    { from: [0, 0, 1.2], to: [0, 0, 1.24], width: 0.07, part: "leg" },
    { from: [0.005, 0, 1.31], to: [0.005, 0, 1.36], width: 0.15, part: "head" },
    ...arms,
  ];
}

/** From which side it is looked at: radians about the upright and above the ground. */
export interface Look {
  yaw: number;
  pitch: number;
}

/** Where a point is in a picture: right, down, and away, m. */
export function project([x, y, z]: Point, { yaw, pitch }: Look): Point {
  const ahead = x * Math.cos(yaw) + y * Math.sin(yaw);
  const right = -x * Math.sin(yaw) + y * Math.cos(yaw);
  const up = z - 0.98;
  return [right, -(up * Math.cos(pitch) - ahead * Math.sin(pitch)), -(ahead * Math.cos(pitch) + up * Math.sin(pitch))];
}
