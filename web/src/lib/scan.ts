// Turns of a lidar, as points about the robot.

import type { Json } from "./words.ts";

/** x, y in metres. */
export type Spot = [number, number];

export interface Turn {
  spots: Spot[];
  /** Where the robot was; heading in radians. */
  pose: { x: number; y: number; z: number; yaw: number } | null;
}

/** How a lidar stands on its robot, as `state.scan.mounting` tells it. */
interface Mounting {
  clockwise: boolean;
  zero_deg: number;
  x: number;
  y: number;
  optics: number;
}

/** Reads the sensor group `lidar`. Turns that come as the lidar counts them need its mounting. */
export function readTurn(values: Json, mounting: unknown): Turn | null {
  const scan = (values["scan"] as { PointCloud2D?: [number, number, number][] } | undefined)?.PointCloud2D;
  const raw = (values["view"] as { String?: string } | undefined)?.String === "raw";
  if (!scan || (raw && !mounting)) return null;
  const seen = (angle: number, distance: number): Spot => [distance * Math.cos(angle), distance * Math.sin(angle)];
  const counted = (angle: number, distance: number): Spot => {
    const { clockwise, zero_deg, x, y, optics } = mounting as Mounting;
    const [ahead, left] = seen((zero_deg * Math.PI) / 180 + (clockwise ? -angle : angle), distance + optics);
    return [x + ahead, y + left];
  };
  const place = (values["pose"] as { Vector3?: [number, number, number] } | undefined)?.Vector3;
  return {
    spots: scan.map(([angle, distance]) => (raw ? counted : seen)(angle, distance)),
    pose: place ? { x: place[0], y: place[1], z: 0, yaw: place[2] } : null,
  };
}
