// Intervals of a time series. What was counted ends within the last of them: it is drawn as long as it is, never as if it were whole.

import type { Run } from "../wire";

/** When the last interval of a run's series ends: with the run. */
export function endOf({ series, duration_s }: Run): number {
  const times = series?.time_s ?? [];
  const last = times.at(-1) ?? 0;
  // Of a run that was cut short only the begin of its last interval is known.
  return duration_s > last ? duration_s : 2 * last - (times.at(-2) ?? last);
}

/** From 0 to the end of the longest of some runs. */
export function wholeTime(runs: readonly Run[]): [number, number] {
  return [0, Math.max(...runs.map(endOf), 0) || 1];
}

/** Equal intervals of a trace. */
export interface Intervals {
  /** Those that are shown. */
  starts: number[];
  /** Where the last one ends. */
  end: number;
  /** What its rates are to be multiplied by, as they were counted as if it were whole. */
  factor: number;
  /** How much of a last interval is not shown, as it is less than half of one: a few requests would be its rate. */
  left: number;
}

/** So many equal intervals of a trace that is `span` long. */
export function intervals(count: number, length: number, span: number): Intervals {
  const starts = Array.from({ length: count }, (_, index) => index * length);
  const last = span - (count - 1) * length;
  if (last >= length || count === 0 || span <= 0) return { starts, end: count * length, factor: 1, left: 0 };
  if (count > 1 && last < length / 2) return { starts: starts.slice(0, -1), end: (count - 1) * length, factor: 1, left: Math.max(last, 0) };
  return { starts, end: span, factor: length / last, left: 0 };
}

/** Rates in these intervals. */
export function rates(values: readonly number[], { starts, factor }: Intervals): number[] {
  return starts.map((_, index) => values[index]! * (index === starts.length - 1 ? factor : 1));
}
