// Motions of a robot and of the library, and what can be done with them.

import type { Command } from "../api.gen.ts";
import type { Asked } from "./link.ts";
import { daemon, keep } from "./daemon.svelte.ts";
import { readMotion, toCsv, type Motion } from "./motion.ts";

export interface Action {
  name: string;
  /** `library` where the robot does not have it. */
  kind: string;
  duration: number | null;
  /** s since 1970, of the library's copy. */
  created: number | null;
  /** Whether the library has it, so that it can be shown before it is played. */
  kept: boolean;
}

interface Problem {
  file: string;
  message: string;
}

/** Frames of a message, so that each stays well under its limit. */
const PART = 2000;

/** What is asked of a robot's teaching, without what all of it has. */
type Op = { op: Extract<Command, { type: "Teach" }>["op"] } & Record<string, unknown>;

export class Teacher {
  actions: Action[] = $state.raw([]);
  problems: Problem[] = $state.raw([]);
  loading = $state(false);

  async refresh(): Promise<void> {
    this.loading = true;
    try {
      const [list, library] = await Promise.all([
        daemon.ask({ type: "Teach", op: "list" }).catch(() => ({ actions: [] })),
        daemon.ask({ type: "Teach", op: "library" }).catch(() => ({ motions: [], problems: [] })),
      ]);
      const { actions = [] } = list as { actions?: { name: string; kind: string; duration_ms: number | null }[] };
      const { motions = [], problems = [] } = library as { motions?: { name: string; created: number | null; duration_ms: number }[]; problems?: Problem[] };
      const kept = new Map(motions.map((motion) => [motion.name, motion]));
      const own: Action[] = actions.map(({ name, kind, duration_ms }) => {
        const motion = kept.get(name);
        return { name, kind, duration: duration_ms ?? motion?.duration_ms ?? null, created: motion?.created ?? null, kept: motion !== undefined };
      });
      const names = new Set(own.map(({ name }) => name));
      const others = motions.filter(({ name }) => !names.has(name)).map(({ name, created, duration_ms }) => ({ name, kind: "library", duration: duration_ms, created, kept: true }));
      const order = (action: Action) => (action.kind === "preset" ? 1 : 0);
      this.actions = [...own, ...others].sort((a, b) => order(a) - order(b) || (b.created ?? 0) - (a.created ?? 0) || a.name.localeCompare(b.name));
      this.problems = problems;
    } finally {
      this.loading = false;
    }
  }

  soft(on: boolean): Promise<unknown> {
    return this.act({ op: on ? "enter" : "exit" }, on ? "Teach: arms soft" : "End teaching: arms stiff");
  }

  /** Makes the arms soft where they are not, and records. */
  async record(name: string): Promise<void> {
    const state = daemon.robot?.state;
    if (state?.["teaching"] === false && !(await this.did({ op: "enter" }, "Teach: arms soft"))) return;
    await this.act({ op: "record_start", ...(name ? { name } : {}) }, name ? `Record ${name}` : "Record");
  }

  async endRecording(name: string): Promise<void> {
    if (!(await this.did({ op: "record_stop" }, "End recording"))) return;
    const saved = (await this.act({ op: "save", ...(name ? { name } : {}) }, name ? `Save ${name}` : "Save")) as { note?: string } | undefined;
    if (saved?.note) daemon.tell(daemon.chosen, "info", saved.note);
    if (daemon.robot?.state["teaching"] === true) await this.act({ op: "exit" }, "End teaching: arms stiff");
    await this.refresh();
  }

  async play({ name, kind }: Action, speed: number, loop: boolean): Promise<void> {
    const how = { ...(speed === 1 ? {} : { speed }), ...(loop ? { loop } : {}), ...(kind === "library" ? { library: true } : {}) };
    const answer = (await this.act({ op: "play", name, ...how }, `Play ${name}`)) as { note?: string } | undefined;
    if (answer?.note) daemon.tell(daemon.chosen, "info", answer.note);
  }

  stop(): Promise<unknown> {
    return this.act({ op: "stop" }, "Stop playing");
  }

  /** Whether it has its new name now. */
  async rename({ name, kind }: Action, newName: string): Promise<boolean> {
    const renamed = await this.did({ op: "rename", name, new_name: newName, ...(kind === "library" ? { library: true } : {}) }, `Rename ${name} to ${newName}`);
    await this.refresh();
    return renamed;
  }

  async remove({ name, kind, kept }: Action): Promise<void> {
    const removed = await this.did({ op: "delete", name, ...(kind === "library" ? { library: true } : {}) }, `Delete ${name}`);
    if (removed && kind !== "library" && kept) {
      const text = `The robot has ${name} no more; a copy stays in the library`;
      daemon.tell(daemon.chosen, "info", text);
      daemon.notice = { sign: "ok", text };
    }
    await this.refresh();
  }

  /** A motion of the library, whole. */
  async show(name: string): Promise<Motion | null> {
    try {
      const part = async (from: number) => (await daemon.ask({ type: "Teach", op: "show", name, from })) as Motion & { next?: number | null };
      const motion = await part(0);
      for (let next = motion.next; typeof next === "number"; ) {
        const more = await part(next);
        motion.frames.push(...more.frames);
        next = more.next;
      }
      return motion;
    } catch (error) {
      daemon.fail(daemon.chosen, `Preview ${name}`, error);
      return null;
    }
  }

  /** A motion of the library as the text of a file. */
  async file(name: string, format: "json" | "csv"): Promise<string | null> {
    const motion = await this.show(name);
    if (!motion) return null;
    const { version, created, duration_ms, joints, frames, keyframes } = motion;
    return format === "csv" ? toCsv(motion) : JSON.stringify({ version, name: motion.name, created, duration_ms, joints, frames, keyframes });
  }

  async export(name: string, format: "json" | "csv"): Promise<void> {
    const text = await this.file(name, format);
    if (text === null) return;
    keep(new Blob([text], { type: format === "csv" ? "text/csv" : "application/json" }), `${name}.${format}`);
    daemon.tell(daemon.chosen, "ok", `Export ${name} as ${format.toUpperCase()}`);
  }

  async import(files: Iterable<File>): Promise<void> {
    for (const file of files) {
      try {
        const motion = read(file.name, await file.text());
        const { frames, ...rest } = motion;
        for (let from = 0; from === 0 || from < frames.length; from += PART) {
          const document = { ...rest, frames: frames.slice(from, from + PART), ...(from > 0 ? { keyframes: [] } : {}) };
          await daemon.ask({ type: "Teach", op: "import", document, ...(from > 0 ? { append: true } : {}), ...(from + PART < frames.length ? { more: true } : {}) } as Asked);
        }
        daemon.tell(daemon.chosen, "ok", `Import ${motion.name}, ${frames.length} frames`);
      } catch (error) {
        daemon.fail(daemon.chosen, `Import ${file.name}`, error);
      }
    }
    await this.refresh();
  }

  private act(op: Op, words: string): Promise<unknown> {
    return daemon.act({ type: "Teach", ...op } as Asked, words);
  }

  private async did(op: Op, words: string): Promise<boolean> {
    // Not by the answer's data: not every answer has some.
    try {
      await daemon.ask({ type: "Teach", ...op } as Asked);
      daemon.tell(daemon.chosen, "ok", words);
      return true;
    } catch (error) {
      daemon.fail(daemon.chosen, words, error);
      return false;
    }
  }
}

function read(name: string, text: string): Motion {
  try {
    return readMotion(name, text);
  } catch (error) {
    throw new Error(`this file is no motion: ${error instanceof Error ? error.message : String(error)}`);
  }
}
