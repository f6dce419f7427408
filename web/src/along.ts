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
}

/** Beyond this ratio of the greatest value to the least the axis is logarithmic. */
const LINEAR_MAX = 6;

/** The key of the load with the most values that are all numbers; other keys stay as they are under `load`. Null if there is none. */
export function along(runs: readonly Run[], varied: readonly Varied[], load: string): Way | null {
  const keys = varied.filter(({ role, values }) => role === "load" && values.length > 1 && values.every(isNumber));
  const key = [...keys].sort((one, other) => other.values.length - one.values.length)[0]?.key;
  // A seed only repeats: between two seeds there is no way.
  if (key === undefined || key === "seed") return null;
  const others = varied.filter((other) => other.role === "load" && other.key !== key);
  const here = runs.find((run) => run.load === load) ?? runs[0]!;
  const follows = (run: Run) => others.every((other) => run.settings.get(other.key) === here.settings.get(other.key));
  const at = (index: number) => Number(runs[index]!.settings.get(key));
  const followed = runs.map((_, index) => index).filter((index) => follows(runs[index]!));
  const values = [...new Set(followed.map(at))].sort((one, other) => one - other);
  if (values.length < 2) return null;
  const of = (some: readonly number[]) => some.filter((index) => follows(runs[index]!)).sort((one, other) => at(one) - at(other));
  return { key, values, log: values[0]! > 0 && values.at(-1)! / values[0]! > LINEAR_MAX, of, at };
}

function isNumber(word: string): boolean {
  return word.trim() !== "" && Number.isFinite(Number(word));
}
