// What the daemon tells, in sentences.

export type Sign = "ok" | "bad" | "warn" | "info";
export type Json = Record<string, unknown>;

const text = (value: unknown): string => (value === null || value === undefined ? "-" : typeof value === "string" ? value : JSON.stringify(value));
const named = (event: Json): string => (typeof event["name"] === "string" && event["name"] !== "" ? ` ${event["name"]}` : "");
const action = (event: Json): string => (typeof event["name"] === "string" ? event["name"] : `action ${text(event["id"])}`);

/** Bytes, or one, as people compare them with documents. */
function hex(value: unknown): string {
  const bytes = Array.isArray(value) ? value : [value];
  return bytes.map((byte) => (typeof byte === "number" ? byte.toString(16).padStart(2, "0") : text(byte))).join(" ");
}

/** A flag of a robot by its name, as `cliff_left_front`. */
export function flag(name: string): string {
  const [first = "", ...rest] = name.split("_");
  if (first === "bumper") return `${rest.join(" ")} bumper`;
  if (first === "cliff") return `cliff at the ${rest.join(" ")}`;
  return name.replaceAll("_", " ");
}

/** A phase of a return to the dock. */
export function dockPhase(phase: unknown): string {
  switch (phase) {
    case "startup":
      return "asking the controller whether it is there";
    case "navigation":
      return "driving to the place in front of the dock";
    case "approach":
      return "backing onto the dock";
    case "shutdown":
      return "switching everything off";
    default:
      return text(phase);
  }
}

/** How something can be reached, and why not. */
export function link(report: Json): string {
  const state = text(report["state"]);
  const reason = report["reason"];
  const step = report["step"];
  if (typeof step === "number") return reason ? `${state} at step ${step}: ${text(reason)}` : `${state}, step ${step} of 19`;
  return reason ? `${state}: ${text(reason)}` : state;
}

/** How good a link's state is. */
export function linkSign(state: string): Sign {
  if (state === "ready" || state === "turning") return "ok";
  if (state === "silent") return "info";
  if (["booting", "starting", "connecting", "validating", "closing"].includes(state)) return "warn";
  return "bad";
}

/** An event of a robot: how good it is, and a sentence. One that is not known is told as it came. */
export function sentence(event: Json): [Sign, string] {
  const by = text(event["by"]);
  const on = event["on"] === true;
  switch (event["event"]) {
    case "link": {
      const report = (event["link"] ?? {}) as Json;
      const driver = typeof event["driver"] === "string" ? `${event["driver"]} link` : "Link";
      return [linkSign(text(report["state"])), `${driver} ${link(report)}`];
    }
    case "boot_step":
      return ["info", `Booting, step ${text(event["step"])} of 19: ${text(event["what"])}`];
    case "boot_done":
      return ["ok", "Booted: the controller takes commands"];
    case "boot_failed":
      return ["bad", `Boot failed at step ${text(event["step"])}: ${text(event["reason"])}`];
    case "stopped":
      return ["warn", `Stopped by ${by}`];
    case "enabled":
      return ["ok", `Drive enabled by ${by}`];
    case "reflex":
      return ["warn", `Stopped: ${(Array.isArray(event["what"]) ? event["what"] : []).map((name) => flag(text(name))).join(", ")}. Back off or turn to go on`];
    case "deadman_expired":
      return ["warn", "Stopped: no fresh velocity came"];
    case "held":
      return ["info", `${by} may hold its velocity for ${text(event["hold_ms"])} ms without repeating it`];
    case "hold_ended":
      return ["warn", "Stopped: a velocity was held for as long as it may be"];
    case "scaled":
      return ["info", `${by} wants to go faster than it may: its speeds are scaled`];
    case "repeats":
      return ["info", `${by} repeats its velocities`];
    case "dock":
      if (event["dock"] === "phase") return ["info", `Docking: ${dockPhase(event["phase"])}`];
      if (event["dock"] === "arrived") return ["ok", "Docked: the robot charges"];
      return ["bad", `Docking given up: ${text(event["reason"])}`];
    case "taken":
      return ["info", `${by} took the controls from ${text(event["from"])}`];
    case "imu_state":
      return ["info", `The IMU's calibration state is ${text(event["value"])}`];
    case "lidar_check":
      return ["info", event["check"] === "proven" ? "The lidar's check is proven: damaged frames are dropped" : "The lidar's check is not known: its frames are taken unchecked"];
    case "lidar_state":
      return ["info", `The lidar's state is ${hex(event["bytes"])}`];
    case "lidar_unknown":
      return ["info", `A frame of the lidar that no reader describes: ${hex(event["command"])} ${hex(event["payload"])}`];
    case "compass_state":
      return ["info", `The compass answered ${hex(event["payload"])}`];
    case "unknown":
      return ["info", `A frame that no document describes: ${hex(event["command"])} ${hex(event["payload"])}`];
    case "synced":
      return ["ok", "The controller answered the protocol's wake-up"];
    case "teaching":
      return on ? ["warn", `Teaching began (${by}): the arms are soft`] : ["ok", `Teaching ended (${by}): the arms are stiff again`];
    case "recording":
      return on ? ["info", `Recording${named(event)} began`] : ["ok", `Recording${named(event)} ended, ${text(event["frames"])} frames`];
    case "foreign_recording":
      return ["warn", `The robot records${named(event)}, and was not asked to from here`];
    case "recording_long":
      return ["warn", `The recording lasts ${text(event["seconds"])} s, longer than the vendor's app lets one get`];
    case "not_offered":
      return ["info", `The robot does not tell ${text(event["topic"])}`];
    case "step_refused":
      return ["warn", `The robot refused step ${hex(event["command"])} of the opening cycle (its status ${text(event["status"])}), which goes on`];
    case "closed":
      return ["info", "The link is closed"];
    case "arm":
      return ["info", `Arms: ${text(event["phase"])}${named(event)}`];
    case "stop_ended":
      return event["confirmed"] === true ? ["ok", `Ended (${by}): ${text(event["why"])}`] : ["bad", `The end is not confirmed (${by}): ${text(event["why"])}`];
    case "fault":
      return on ? ["bad", `Fault: ${text(event["text"])}`] : ["ok", `No longer a fault: ${text(event["text"])}`];
    case "mapping":
      return ["info", on ? `Mapping began (${by})` : `Mapping ended (${by})`];
    case "bumped": {
      const degrees = Math.abs((Number(event["radians"]) * 180) / Math.PI);
      return ["warn", `Put right in the map: ${(Number(event["metres"]) * 100).toFixed(0)} cm and ${degrees.toFixed(0)}° off from where its wheels say`];
    }
    case "lost":
      return ["bad", "It is not known where the robot is: what it sees contradicts the map"];
    case "found":
      return ["ok", "It is known again where the robot is"];
    case "cloud_rejected":
      return ["warn", `Clouds that were not taken: ${text(event["count"])}: ${text(event["why"])}`];
    case "walking": {
      const to = event["to"] as Json | null | undefined;
      return to ? ["info", `Walking to x ${figure(Number(to["x"]), 2)} m, y ${figure(Number(to["y"]), 2)} m`] : ["warn", "Walking, and was not asked to from here"];
    }
    case "walk_ended":
      return event["arrived"] === true ? ["ok", "Walked to its goal"] : ["warn", `Did not reach its goal: ${text(event["why"])}`];
    case "playing":
      return ["info", `Playing ${action(event)}`];
    case "play_ended":
      return event["whole"] === true ? ["ok", `Played ${action(event)} to its end`] : ["warn", `Playing ${action(event)} was cut short: ${text(event["why"])}`];
    case "recording_full":
      return ["warn", `The recording is full: what follows its ${text(event["frames"])} frames is not kept`];
    case "encrypted_peer":
      return ["bad", "What comes is encrypted: this robot speaks WebRTC"];
    case "refused":
      return ["warn", `Refused ${text(event["command"])} of ${by}: ${text(event["message"])}`];
    default:
      return ["info", JSON.stringify(event)];
  }
}

/** What keeps a robot from driving. */
export function stopReason(by: string, here: boolean): string {
  if (here) return "Stopped from this page";
  return by === "http" ? "Stopped by another page or program" : `Stopped: ${by}`;
}

/** What a name of a motion may have. */
export const NAME_BYTES = 31;

/** A text of at most so many bytes, which is how robots count names. */
export function cut(text: string, bytes: number): string {
  const encoder = new TextEncoder();
  let [kept, length] = ["", 0];
  for (const letter of text) {
    length += encoder.encode(letter).length;
    if (length > bytes) break;
    kept += letter;
  }
  return kept;
}

/** What helps against a refusal, in the words of this page. */
export function remedy(remedy: string | null): string {
  switch (remedy) {
    case "take_control":
      return " Take control to do it anyway.";
    case "enable":
      return " Enable drive first.";
    case "show_token":
      return " It takes a token that may.";
    case "enter":
      return " Teach makes the arms soft.";
    case "exit":
      return " End teaching first.";
    default:
      return "";
  }
}

/** Seconds as people say them. */
export function age(seconds: number): string {
  if (seconds < 1) return `${seconds.toFixed(2)} s`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${seconds.toFixed(0)} s`;
  return `${(seconds / 60).toFixed(0)} min`;
}

/** A number with a true minus and so many digits. */
export function figure(value: number | null | undefined, digits: number): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "-";
  const shown = value.toFixed(digits);
  return Number(shown) === 0 ? (0).toFixed(digits) : shown.replace("-", "−");
}

const thousands = new Intl.NumberFormat("en-GB");
/** A whole number. */
export function count(value: number): string {
  return thousands.format(value);
}
