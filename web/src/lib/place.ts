// Where a robot is, and in the frame of what.

import type { Pose } from "./frame.ts";
import { pose } from "./robot.ts";
import type { Json } from "./words.ts";

export interface Place {
  /** Null while it is not known. */
  pose: Pose | null;
  /** `map` is the frame of the map that is shown, `own` one that begins where the robot was switched on. */
  frame: "map" | "own";
  /** There is a map that the robot is not followed in any more. */
  left: boolean;
}

/** A robot that makes its map by its own place tells that; others tell one place, which is the map's. */
export function placeOf(state: Json): Place {
  const map = (state["map"] ?? {}) as Json;
  if (!("pose" in map)) return { pose: pose(state), frame: "own", left: false };
  if (map["mapping"] === true) return { pose: pose(map), frame: "map", left: false };
  const kept = typeof map["voxels"] === "number" && map["voxels"] > 0;
  return kept ? { pose: null, frame: "map", left: true } : { pose: pose(state), frame: "own", left: false };
}

/** Why a map that is being made does not grow, where that is known: a controller that boots switches its lidar off. */
export function mappingWaits(state: Json, links: Record<string, { state: string }>): { why: string; off: boolean } | null {
  if (!isMapping(state)) return null;
  if ("lidar" in state && !(typeof state["lidar"] === "number" && state["lidar"] > 0)) return { why: "the lidar is off", off: true };
  const link = links["lidar"]?.state;
  return link === undefined || link === "turning" || link === "starting" ? null : { why: "nothing comes from the lidar", off: false };
}

/** Whether a map is made now, by the robot or of what it tells. */
export function isMapping(state: Json): boolean {
  const [robot, map] = [state["mapping"], state["map"]] as (Json | undefined)[];
  return robot?.["active"] === true || map?.["mapping"] === true;
}
