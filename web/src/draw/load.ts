// What the trace asks over time: requests per second, and distinct data touched.

import { quantity, span, tick } from "../format";
import type { Profile } from "../wire";
import { type Chart, chart, type Pen, type Scene } from "./chart";
import { intervals, rates } from "./intervals";
import { inside, lastAtMost, steps } from "./marks";

/** One of the quantities. */
export interface Demand {
  key: "rate_rps" | "working_set_mib";
  title: string;
  unit: string;
}

export const DEMANDS: readonly Demand[] = [
  { key: "rate_rps", title: "Arrivals", unit: "req/s" },
  { key: "working_set_mib", title: "Distinct data touched", unit: "MiB" },
];

export function load(element: HTMLElement, { title, unit }: Demand, last: boolean): Chart {
  return chart(element, {
    title: `${title} over time, ${unit}`,
    x: { label: last ? "since the first request" : "", time: 1, unitFirst: true },
    y: { label: unit, ticks: tick },
    height: last ? 172 : 136,
    key: "trace",
  });
}

export function scene(profile: Profile, { key, unit }: Demand, ink: string): Scene {
  const shown = intervals(profile[key].length, profile.interval_s, profile.span_s);
  const { starts, end } = shown;
  const values = key === "rate_rps" ? rates(profile[key], shown) : profile[key].slice(0, starts.length);
  const look = { ink, dash: [], shape: "circle" } as const;
  const draw = (pen: Pen) =>
    inside(pen, () => steps(pen, starts, end, values, { ...look, dash: [] }));
  const read = (seconds: number) => {
    const at = lastAtMost(starts, seconds);
    if (at < 0 || seconds > end) return null;
    const value = values[at]!;
    const from = starts[at]!;
    return {
      title: `from ${span(from)} to ${span(Math.min(from + profile.interval_s, end))}`,
      readings: [{ ink, label: "", value: `${quantity(value)} ${unit}`, at: [seconds, value] as [number, number] }],
    };
  };
  const high = values.reduce((most, value) => Math.max(most, value), 0);
  return { x: [0, end || 1], y: [0, high * 1.06 || 1], draw, read };
}
