// What a robot tells, in words for a glance. It goes by what is told, never by the robot's kind.

import type { RobotReport } from "../api.gen.ts";
import { isMapping, mappingWaits } from "./place.ts";
import { dockPhase, linkSign, type Json } from "./words.ts";

const number = (value: unknown): number | null => (typeof value === "number" && Number.isFinite(value) ? value : null);
const object = (value: unknown): Json => (typeof value === "object" && value !== null ? (value as Json) : {});

/** Percent, if it is known. */
export function battery(state: Json): number | null {
  return number(state["battery_percent"]) ?? number(object(state["battery"])["percent"]);
}

export function volts(state: Json): number | null {
  return number(state["battery_volts"]) ?? number(object(state["battery"])["volts"]);
}

/** Where it is, if it tells. */
export function pose(state: Json): { x: number; y: number; z: number; yaw: number } | null {
  const told = object(state["pose"]);
  const [x, y] = [number(told["x"]), number(told["y"])];
  if (x === null || y === null) return null;
  return { x, y, z: number(told["z"]) ?? 0, yaw: number(told["yaw"]) ?? number(told["heading"]) ?? 0 };
}

/** What it does now. */
export function activity(robot: RobotReport): string {
  const { state, link } = robot;
  if (linkSign(link.state) === "bad") return "link lost";
  if (link.state !== "ready") return link.state;
  const velocity = object(state["velocity"]);
  const playing = object(state["playing"]);
  if (typeof state["docking"] === "string") return `docking: ${dockPhase(state["docking"])}`;
  if (state["playing"]) return `playing ${String(playing["name"] ?? playing["id"] ?? "")}`;
  if (state["recording"] === true) return "recording";
  if (state["teaching"] === true) return "arms soft";
  if (object(state["mapping"])["walking"] === true) return "walking";
  if (Math.abs(number(velocity["linear"]) ?? 0) > 0.005 || Math.abs(number(velocity["angular"]) ?? 0) > 0.01) return "driving";
  const waits = mappingWaits(state, robot.links ?? {});
  if (waits) return waits.off ? "lidar off, mapping waits" : "no scan, mapping waits";
  if (isMapping(state)) return "mapping";
  if (state["is_charging"] === true) return "charging";
  return "ready";
}

/** Whether it does something that STOP would end: a paused walk stands, soft arms wait for a hand. */
export function isBusy({ state }: Pick<RobotReport, "state">): boolean {
  const velocity = object(state["velocity"]);
  const moves = [velocity["linear"], velocity["angular"]].some((value) => (number(value) ?? 0) !== 0);
  const mapping = object(state["mapping"]);
  return moves || typeof state["docking"] === "string" || Boolean(state["playing"]) || state["recording"] === true || mapping["walking"] === true;
}

/** The class of a robot's dot: filled is live, a ring is old, a diamond is lost. */
export function dot(robot: RobotReport, lost: boolean): "" | "warn" | "bad" {
  const sign = linkSign(robot.link.state);
  if (sign === "bad") return "bad";
  const waits = mappingWaits(robot.state, robot.links ?? {}) !== null;
  return lost || sign === "warn" || !robot.fresh || waits ? "warn" : "";
}
