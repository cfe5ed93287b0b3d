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

/** The arm joints of a `motion.seq`, in its order. The wrists' yaw is left out: the library has no place for it. */
const SEQ_JOINTS = ["left", "right"].flatMap((side) =>
  ["shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow", "wrist_roll", "wrist_pitch", null].map((joint) => joint && `${side}_${joint}`),
);

/** The joints of Unitree's `motion.seq`: YAML of one shape, of which the part with `JointDisplacement` is read. */
function readSeq(text: string): Pick<Motion, "joints" | "frames"> {
  let [content, rate, wanted, inFrames] = ["", 0, -1, false];
  const frames: number[][] = [];
  const columns = SEQ_JOINTS.flatMap((joint, index) => (joint === null ? [] : [index]));
  for (const [index, raw] of text.split("\n").entries()) {
    const line = raw.trim();
    const row = /^-\s*\[(.*)\]$/.exec(line);
    if (row && !inFrames) continue;
    if (row) {
      const cells = (row[1] ?? "").split(",").map(Number);
      const pose = columns.map((column) => cells[column] ?? NaN);
      if (cells.length !== SEQ_JOINTS.length || !pose.every(Number.isFinite)) throw new Error(`line ${index + 1} has not ${SEQ_JOINTS.length} numbers`);
      frames.push([Math.round((frames.length * 1000) / rate), ...pose]);
      continue;
    }
    if (line === "" || line.startsWith("#")) continue;
    // The frames end where anything else begins.
    if (inFrames) break;
    // The rate stays: a part without one has that of the whole.
    if (line.startsWith("-")) [content, wanted] = ["", -1];
    const [key = "", value = ""] = line.replace(/^-/, "").split(/:(.*)/).map((part) => part.trim());
    if (key === "content") content = value;
    if (key === "frame_rate") rate = Number(value);
    if (key === "num_frames") wanted = Number(value);
    inFrames = key === "frames" && content === "JointDisplacement";
    if (inFrames && !(rate >= 1 && rate <= 1000)) throw new Error("frame_rate has to be 1 to 1000, before the frames");
  }
  if (!inFrames) throw new Error("it has no part with content: JointDisplacement and frames");
  if (wanted >= 0 && wanted !== frames.length) throw new Error(`it has ${frames.length} frames, not ${wanted} as num_frames says`);
  return { joints: SEQ_JOINTS.filter((joint) => joint !== null), frames };
}

/** Reads a file that was dropped: the library's JSON, a CSV with `time_ms` and a column a joint, or a `motion.seq`. */
export function readMotion(name: string, text: string): Motion {
  const plain = name.replace(/\.[^.]*$/, "");
  if (name.toLowerCase().endsWith(".seq")) {
    const { joints, frames } = readSeq(text);
    return { version: 1, name: plain, created: Math.floor(Date.now() / 1000), duration_ms: frames.at(-1)?.[0] ?? 0, joints, frames, keyframes: [] };
  }
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
  const document = parsed(text);
  if (!Array.isArray(document?.joints)) throw new Error("it names no joints");
  if (document.frames !== undefined && !Array.isArray(document.frames)) throw new Error("its frames are no list");
  return { ...(document as Motion), frames: document.frames ?? [], name: document.name || plain };
}

/** The parser's own words are for programmers. */
function parsed(text: string): Partial<Motion> | null {
  try {
    return JSON.parse(text) as Partial<Motion> | null;
  } catch {
    throw new Error("it is not JSON, or it is cut off");
  }
}
