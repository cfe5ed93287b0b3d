// Motions of the library: their documents, and the formats in which they come and go.

/** As a file of the library has it; docs/teach.md. */
export interface Motion {
  version: number;
  name: string;
  created?: number;
  duration_ms: number;
  joints: string[];
  /** Time in ms, then a position for each joint. */
  frames: number[][];
  keyframes?: { joint: string; time_ms: number; value: number }[];
}

/** Where the joints are at a time of a motion. */
export function poseAt(motion: Motion, time: number): Record<string, number> {
  const { frames, joints } = motion;
  let low = 0;
  let high = frames.length - 1;
  if (high < 0) return keyed(motion, time);
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((frames[middle]?.[0] ?? 0) <= time) low = middle;
    else high = middle;
  }
  const [before = [], after = []] = [frames[low], frames[high]];
  const span = (after[0] ?? 0) - (before[0] ?? 0);
  const share = span > 0 ? Math.min(1, Math.max(0, (time - (before[0] ?? 0)) / span)) : 0;
  return Object.fromEntries(joints.map((joint, index) => [joint, mix(before[index + 1], after[index + 1], share)]));
}

/** The same for a motion that has keyframes alone. */
function keyed(motion: Motion, time: number): Record<string, number> {
  const pose: Record<string, number> = {};
  for (const joint of motion.joints) {
    const keys = (motion.keyframes ?? []).filter((key) => key.joint === joint).sort((a, b) => a.time_ms - b.time_ms);
    const after = keys.find(({ time_ms }) => time_ms >= time) ?? keys.at(-1);
    const before = keys.findLast(({ time_ms }) => time_ms <= time) ?? keys[0];
    if (!after || !before) continue;
    const span = after.time_ms - before.time_ms;
    pose[joint] = mix(before.value, after.value, span > 0 ? (time - before.time_ms) / span : 0);
  }
  return pose;
}

function mix(from = 0, to = 0, share: number): number {
  return from + (to - from) * share;
}

/** The joints that move most, with how far. */
export function movers(motion: Motion, most: number): string[] {
  const reach = motion.joints.map((joint, index) => {
    const values = motion.frames.map((frame) => frame[index + 1] ?? 0);
    // Not by spreading: there may be 60,000 of them.
    const [low, high] = values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
    return { joint, reach: high - low };
  });
  return reach.filter(({ reach }) => reach > 0.02).sort((a, b) => b.reach - a.reach).slice(0, most).map(({ joint }) => joint);
}

export function toCsv(motion: Motion): string {
  const rows = motion.frames.map((frame) => frame.join(","));
  return [["time_ms", ...motion.joints].join(","), ...rows, ""].join("\n");
}

/** Reads a file that was dropped: the library's JSON, or a CSV with `time_ms` and a column a joint. */
export function readMotion(name: string, text: string): Motion {
  const plain = name.replace(/\.[^.]*$/, "");
  if (name.toLowerCase().endsWith(".csv")) {
    const [head = "", ...lines] = text.split(/\r?\n/).filter((line) => line.trim() !== "");
    const [first, ...joints] = head.split(",").map((cell) => cell.trim());
    if (first !== "time_ms" || joints.length === 0) throw new Error("a CSV begins with time_ms and the joints' names");
    const frames = lines.map((line) => line.split(",").map(Number));
    const bad = frames.findIndex((frame) => frame.length !== joints.length + 1 || !frame.every(Number.isFinite));
    if (bad >= 0) throw new Error(`line ${bad + 2} has not ${joints.length + 1} numbers`);
    const created = Math.floor(Date.now() / 1000);
    return { version: 1, name: plain, created, duration_ms: frames.at(-1)?.[0] ?? 0, joints, frames, keyframes: [] };
  }
  const document = JSON.parse(text) as Motion;
  if (!Array.isArray(document.joints)) throw new Error("this is no motion of the library: it has no joints");
  return { ...document, name: document.name || plain };
}
