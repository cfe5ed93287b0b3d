// Frames of the topics `cloud` and `map`: a header, then points. docs/api.md has the layout.

export type Kind = "cloud" | "map";

export interface Pose {
  x: number;
  y: number;
  z: number;
  yaw: number;
}

export interface Frame {
  kind: Kind;
  /** For `Ack`. */
  sequence: number;
  /** When it was seen, by the daemon's clock, ms since 1970. */
  time: number;
  /** Changes when what was sent before is no part of the map any more. */
  epoch: number;
  /** The robot's place in the list of all. */
  robot: number;
  /** A map of the ground: z is 0 where it is free and 1 where something stands. */
  flat: boolean;
  pose: Pose | null;
  origin: [number, number, number];
  /** A step of a point, m. */
  unit: number;
  count: number;
  /** As they came, three numbers a point in a cloud, four in a map. */
  points: Uint16Array;
}

const FIXED = 96;

/** Reads a frame without touching its points; null if it is none. */
export function readFrame(buffer: ArrayBuffer): Frame | null {
  if (buffer.byteLength < FIXED) return null;
  const view = new DataView(buffer);
  const kind = view.getUint8(1) === 1 ? "cloud" : view.getUint8(1) === 2 ? "map" : null;
  const header = view.getUint16(2, true);
  const count = view.getUint32(4, true);
  const numbers = kind === "cloud" ? 3 : 4;
  if (view.getUint8(0) !== 1 || kind === null || header < FIXED || header % 8 !== 0) return null;
  if (buffer.byteLength !== header + count * numbers * 2) return null;
  const number = (place: number) => view.getFloat64(place, true);
  const flags = view.getUint8(30);
  const pose = { x: number(64), y: number(72), z: number(80), yaw: number(88) };
  const unit = number(56);
  const origin: [number, number, number] = [number(32), number(40), number(48)];
  if (!(unit > 0) || ![unit, ...origin, ...Object.values(pose)].every(Number.isFinite)) return null;
  return {
    kind,
    // Counted from 0: none gets near 2^53.
    sequence: Number(view.getBigUint64(8, true)),
    time: Number(view.getBigUint64(16, true)) / 1000,
    epoch: view.getUint32(24, true),
    robot: view.getUint16(28, true),
    flat: (flags & 2) !== 0,
    pose: (flags & 1) !== 0 ? pose : null,
    origin,
    unit,
    count,
    points: new Uint16Array(buffer, header, count * numbers),
  };
}
