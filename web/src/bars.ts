// Bars of what runs measured: what each is called and made of. The names of measures stand where the bars are put together.

import type { Run } from "./wire";

/** A number of a run; null where it has none. */
export type Of = (run: Run) => number | null;

/** Part of a bar. */
export interface Part {
  name: string;
  of: Of;
}

/** Bars of one thing, one a run. */
export interface Chart {
  title: string;
  unit: string;
  /** What is to be known of it; nothing where the title says all. */
  help: string;
  /** What is to be known of it where there are bars of several runs. */
  among: string;
  /** Parts that are set beside each other in a bar; their sum is its length. */
  parts: readonly Part[];
  /** Said where a run has no such number. */
  missing: string;
}

/** Bars of parts. */
export const stack = (title: string, unit: string, help: string, parts: readonly Part[], missing = "none"): Chart => ({ title, unit, help, among: "", parts, missing });
/** Bars of one number. */
export const chart = (title: string, unit: string, help: string, of: Of, missing?: string): Chart => stack(title, unit, help, [{ name: "", of }], missing);

/** One number to each of another; none where there is no other. */
export const to = (one: Of, other: Of): Of => (run) => {
  const [some, each] = [one(run), other(run)];
  return some === null || each === null || each === 0 ? null : some / each;
};

/** What is left of one number without another. */
export const less = (one: Of, other: Of): Of => (run) => {
  const [all, part] = [one(run), other(run)];
  return all === null || part === null ? null : Math.max(all - part, 0);
};

/** Sum of the parts; null where none is there. */
export function total({ parts }: Chart, run: Run): number | null {
  const found = parts.map(({ of }) => of(run)).filter((value) => value !== null);
  return found.length === 0 ? null : found.reduce((sum, value) => sum + value, 0);
}

/** Those of some charts that have something to show; the first always has. */
export function shown(charts: readonly Chart[], runs: readonly Run[]): Chart[] {
  return charts.filter((one, index) => index === 0 || runs.some((run) => (total(one, run) ?? 0) > 0));
}
