// The way of each choice along the loads: which key of the load to follow, and the runs in the order of its values.

import type { Run, Varied } from "./wire";

/** Values of a key that are numbers, rising, with the runs of each choice at them. */
export interface Way {
  /** The key of the load that is followed. */
  key: string;
  /** Its values in these runs. */
  values: number[];
  /** Whether the values are better seen on a logarithmic axis. */
  log: boolean;
  /** Indexes of the runs of a choice, in the order of the values. */
  of: (runs: readonly number[]) => number[];
  /** The value at a run. */
  at: (run: number) => number;
  /** Where runs differ in their loads alone, those that are alike but for the key, by what they share; else the choices are the lines. */
  lines: readonly Line[] | null;
}

/** Runs that a line joins. */
export interface Line {
  name: string;
  runs: readonly number[];
}

/** Beyond this ratio of the greatest value to the least the axis is logarithmic. */
const LINEAR_MAX = 6;

/**
 * The key of the load with the most values that are all numbers. Other keys stay as they are under `load`; where there is one choice alone, they tell
 * the lines apart. Null if there is no such key.
 */
export function along(runs: readonly Run[], varied: readonly Varied[], load: string): Way | null {
  const keys = varied.filter(({ role, values }) => role === "load" && values.length > 1 && values.every(isNumber));
  const key = [...keys].sort((one, other) => other.values.length - one.values.length)[0]?.key;
  // A seed only repeats: between two seeds there is no way.
  if (key === undefined || key === "seed") return null;
  const others = varied.filter((other) => other.role === "load" && other.key !== key);
  const here = runs.find((run) => run.load === load) ?? runs[0]!;
  const only = new Set(runs.map((run) => run.choice)).size < 2;
  const follows = (run: Run) => only || others.every((other) => run.settings.get(other.key) === here.settings.get(other.key));
  const at = (index: number) => Number(runs[index]!.settings.get(key));
  const followed = runs.map((_, index) => index).filter((index) => follows(runs[index]!));
  const values = [...new Set(followed.map(at))].sort((one, other) => one - other);
  if (values.length < 2) return null;
  const of = (some: readonly number[]) => some.filter((index) => follows(runs[index]!)).sort((one, other) => at(one) - at(other));
  const lines = only ? alike(runs, others.map((other) => other.key)) : null;
  return { key, values, log: values[0]! > 0 && values.at(-1)! / values[0]! > LINEAR_MAX, of, at, lines };
}

/** Runs by the values that they have of some keys, in the order in which they come. */
function alike(runs: readonly Run[], keys: readonly string[]): Line[] {
  const found = new Map<string, number[]>();
  runs.forEach((run, index) => {
    const name = keys.map((key) => `${key}=${run.settings.get(key)}`).join(" ") || run.choice;
    found.set(name, [...(found.get(name) ?? []), index]);
  });
  return [...found].map(([name, runs]) => ({ name, runs }));
}

function isNumber(word: string): boolean {
  return word.trim() !== "" && Number.isFinite(Number(word));
}
