// A capture that the daemon looks into: what is sent, and what comes back.

import { daemon } from "./daemon.svelte.ts";

export interface Flow {
  a: string;
  b: string;
  transport: string;
  protocol: string;
  why: string;
  packets: number;
  bytes: number;
  first_s: number;
  last_s: number;
}

export interface Command {
  flow: number;
  id: number;
  name: string;
  count: number;
  average_size: number;
  min_size: number;
  max_size: number;
  rate_hz: number;
  share: number;
}

export interface Verdict {
  kind: string;
  flow: number;
  text: string;
}

export interface Report {
  format: string;
  packets: number;
  bytes: number;
  duration_s: number;
  truncated: boolean;
  notes: string[];
  flows: Flow[];
  commands: Command[];
  verdicts: Verdict[];
}

class Captures {
  shown = $state(false);
  name = $state("");
  size = $state(0);
  /** What is being looked into. */
  busy = $state(false);
  report = $state.raw<Report | null>(null);
  error = $state("");
  private sent: AbortController | null = null;

  /** Sends a file to the daemon, which says what is in it. */
  async look(file: File): Promise<void> {
    this.sent?.abort();
    const sent = new AbortController();
    Object.assign(this, { sent, shown: true, name: file.name, size: file.size, busy: true, report: null, error: "" });
    try {
      const answer = await fetch("/api/v1/inspect", { method: "POST", body: file, headers: daemon.credentials(), signal: sent.signal });
      const body = (await answer.json().catch(() => null)) as (Report & { error?: { message: string } }) | null;
      if (this.sent !== sent) return;
      if (answer.ok && body) this.report = body;
      else this.error = body?.error?.message ?? `${answer.status} ${answer.statusText}`;
    } catch (error) {
      if (this.sent !== sent) return;
      this.error = sent.signal.aborted ? "Cancelled." : `It did not reach Sinew: ${error instanceof Error ? error.message : String(error)}`;
    } finally {
      if (this.sent === sent) this.busy = false;
    }
  }

  cancel(): void {
    this.sent?.abort();
  }
}

export const captures = new Captures();
