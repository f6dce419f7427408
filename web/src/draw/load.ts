// What the trace asks over time: requests per second, and distinct data touched.

import { quantity, span, tick } from "../format";
import type { Profile } from "../wire";
import { type Chart, chart, type Pen, type Scene } from "./chart";
import { inside, lastAtMost, line } from "./marks";

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
  const values = profile[key];
  const starts = values.map((_, index) => index * profile.interval_s);
  const look = { ink, dash: [], shape: "circle" } as const;
  const draw = (pen: Pen) =>
    inside(pen, () => line(pen, starts, values, { ...look, dash: [] }, { step: true, width: 1.4 }));
  const read = (seconds: number) => {
    const at = lastAtMost(starts, seconds);
    if (at < 0) return null;
    const value = values[at]!;
    const from = starts[at]!;
    return {
      title: `from ${span(from)} to ${span(from + profile.interval_s)}`,
      readings: [{ ink, label: "", value: `${quantity(value)} ${unit}`, at: [from, value] as [number, number] }],
    };
  };
  const high = values.reduce((most, value) => Math.max(most, value), 0);
  return { x: [0, Math.max(starts.at(-1) ?? 0, profile.interval_s)], y: [0, high * 1.06 || 1], draw, read };
}
