// Values over the last seconds, for plots. They are kept outside the framework.

/** Times and so many rows, each as long as the times: a plot reads beyond what is missing, and fails there. */
export function aligned(data: readonly ArrayLike<number | null | undefined>[], lines: number): [number[], ...(number | null)[][]] {
  const times = Array.from(data[0] ?? [], (at) => at ?? 0);
  return [times, ...Array.from({ length: lines }, (_, line) => times.map((_, index) => data[line + 1]?.[index] ?? null))];
}

/** A silence of this many seconds is an outage: no line is drawn over it. */
const OUTAGE = 2.5;

export class History {
  private times: number[] = [];
  private rows: (number | null)[][];

  constructor(
    lines: number,
    private readonly seconds: number,
  ) {
    this.rows = Array.from({ length: lines }, () => []);
  }

  push(time: number, values: readonly (number | null)[]): void {
    // What comes again, or from before a restart, would be drawn backwards.
    if (time <= (this.times.at(-1) ?? -Infinity)) {
      if (time < (this.times[0] ?? 0)) this.clear();
      else return;
    }
    const last = this.times.at(-1);
    if (last !== undefined && time - last > OUTAGE) {
      this.times.push((last + time) / 2);
      this.rows.forEach((row) => row.push(null));
    }
    this.times.push(time);
    this.rows.forEach((row, index) => row.push(values[index] ?? null));
    const old = this.times.findIndex((at) => at >= time - this.seconds);
    // Not one by one: the beginning of an array is dear to remove.
    if (old > 200) {
      this.times = this.times.slice(old);
      this.rows = this.rows.map((row) => row.slice(old));
    }
  }

  clear(): void {
    this.times = [];
    this.rows = this.rows.map(() => []);
  }

  /** Times from 0 (now) back, and a row for each line. */
  read(): [number[], ...(number | null)[][]] {
    const now = this.times.at(-1) ?? 0;
    const from = Math.max(0, this.times.findIndex((at) => at >= now - this.seconds));
    return [this.times.slice(from).map((at) => at - now), ...this.rows.map((row) => row.slice(from))];
  }

  last(line: number): number | null {
    return this.rows[line]?.at(-1) ?? null;
  }
}
