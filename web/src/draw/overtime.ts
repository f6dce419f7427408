// The run over time: three quantities under one another, with one cursor.

import { duration, quantity, span, tick } from "../format";
import type { Look } from "../view.svelte";
import type { Run } from "../wire";
import { type Chart, chart, type Extent, type Pen, type Reading, type Scene } from "./chart";
import { inside, lastAtMost, line } from "./marks";

/** One of the quantities. */
export interface Quantity {
  key: "rate_rps" | "response_ms" | "queue";
  title: string;
  unit: string;
}

export const QUANTITIES: readonly Quantity[] = [
  { key: "rate_rps", title: "Answered", unit: "req/s" },
  // Its unit is that of the axis.
  { key: "response_ms", title: "Mean response", unit: "" },
  { key: "queue", title: "In the system", unit: "requests" },
];

export interface Line {
  run: Run;
  look: Look;
}

export function overtime(element: HTMLElement, quantity: Quantity, last: boolean): Chart {
  return chart(element, {
    title: [`${quantity.title} over time`, quantity.unit].filter(Boolean).join(", "),
    x: { label: last ? "since the start of the measured part" : "", time: 1, unitFirst: true },
    y: quantity.key === "response_ms" ? { label: "mean", time: 1e-3 } : { label: quantity.unit, ticks: tick },
    height: last ? 192 : 156,
    key: "time",
  });
}

/** `all` are the runs of the chosen load: the axis is as long as the longest of them, drawn or not. */
export function scene(lines: readonly Line[], all: readonly Run[], { key, unit }: Quantity): Scene {
  const draw = (pen: Pen) =>
    inside(pen, () => {
      for (const { run, look } of [...lines].reverse()) {
        line(pen, run.series!.time_s, run.series![key], look, { width: 1.4 });
      }
    });
  const read = (seconds: number) => {
    const readings = lines.flatMap(({ run, look }): (Reading & { size: number })[] => {
      const at = lastAtMost(run.series!.time_s, seconds);
      const value = run.series![key][at];
      if (at < 0 || value === null || value === undefined) return [];
      return [{ ink: look.ink, label: run.label, value: key === "queue" ? quantity(value) : key === "response_ms" ? duration(value) : `${quantity(value)} ${unit}`, at: [run.series!.time_s[at]!, value], size: value }];
    });
    readings.sort((one, other) => other.size - one.size);
    return readings.length === 0 ? null : { title: `at ${span(seconds)}`, readings };
  };
  return { x: times(all), y: [0, reach(lines, key).top], draw, read };
}

function times(runs: readonly Run[]): Extent {
  const last = Math.max(...runs.map((run) => run.series?.time_s.at(-1) ?? 0));
  return [0, last || 1];
}

/** One interval so many times as high as the 99th percentile of all would flatten the others. */
const OUTLIER = 5;

/** How far the axis goes, how many intervals lie above it, and how high the highest is. */
export function reach(lines: readonly Line[], key: Quantity["key"]): { top: number; above: number; most: number } {
  const of = (run: Run): readonly (number | null)[] => run.series![key];
  const all = lines.flatMap(({ run }) => of(run).filter((value) => value !== null));
  all.sort((one, other) => one - other);
  const most = all.at(-1) ?? 0;
  const usual = all[Math.floor(0.99 * (all.length - 1))] ?? 0;
  if (usual <= 0 || most <= OUTLIER * usual) return { top: most * 1.06 || 1, above: 0, most };
  const top = 2 * usual;
  return { top, above: all.filter((value) => value > top).length, most };
}

/** What is to be said of intervals above the axis; none if there are none. */
export function aboveAxis(lines: readonly Line[], { key, unit }: Quantity): string | null {
  const { above, most } = reach(lines, key);
  if (above === 0) return null;
  const high = key === "response_ms" ? duration(most) : `${quantity(most)} ${unit}`;
  return `${above} ${above === 1 ? "interval lies" : "intervals lie"} above this axis, up to ${high}; the pointer tells.`;
}
