// Turns of a lidar, as points about the robot.

import type { Json } from "./words.ts";

/** x, y in metres. */
export type Spot = [number, number];

export interface Turn {
  spots: Spot[];
  /** Where the robot was; heading in radians. */
  pose: { x: number; y: number; z: number; yaw: number } | null;
}

/**
 * Where a lidar stands whose angles come as it counts them: the defaults of docs/vacuum.md, since what is
 * set is not told. Turns that come as seen from the robot (`view` `robot`) need none of it.
 */
const RAW = { x: -0.11, zero: (192.5 * Math.PI) / 180, optics: 0.025 };

/** Reads the sensor group `lidar`. */
export function readTurn(values: Json): Turn | null {
  const scan = (values["scan"] as { PointCloud2D?: [number, number, number][] } | undefined)?.PointCloud2D;
  if (!scan) return null;
  const raw = (values["view"] as { String?: string } | undefined)?.String === "raw";
  const spots = scan.map(([angle, distance]): Spot => {
    const [turn, far] = raw ? [RAW.zero - angle, distance + RAW.optics] : [angle, distance];
    return [(raw ? RAW.x : 0) + far * Math.cos(turn), far * Math.sin(turn)];
  });
  const place = (values["pose"] as { Vector3?: [number, number, number] } | undefined)?.Vector3;
  return { spots, pose: place ? { x: place[0], y: place[1], z: 0, yaw: place[2] } : null };
}
