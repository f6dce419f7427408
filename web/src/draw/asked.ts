// What a trace asks over time: reads and writes apart, as requests and as data.

import { quantity, tick, type Unit } from "../format";
import type { LoadOverTime } from "../inspection";
import { type Chart, chart, type Pen, type Scene } from "./chart";
import { type Intervals, rates } from "./intervals";
import { inside, lastAtMost, steps } from "./marks";

/** Inks of reads, writes and everything else. */
export interface OpInks {
  read: string;
  write: string;
  other: string;
}

type List = Exclude<keyof LoadOverTime, "interval_s">;

/** One of the quantities, and the lists that have it. */
export interface Asked {
  title: string;
  unit: string;
  lists: readonly [op: keyof OpInks, list: List][];
}

export const ASKED: readonly Asked[] = [
  { title: "Requests", unit: "requests/s", lists: [["read", "read_rps"], ["write", "write_rps"], ["other", "other_rps"]] },
  { title: "Data", unit: "MB/s", lists: [["read", "read_mb_s"], ["write", "write_mb_s"]] },
];

export function asked(element: HTMLElement, { title, unit }: Asked, time: Unit, last: boolean): Chart {
  return chart(element, {
    title: `${title} over time, ${unit}`,
    x: last ? { label: `${time.name} since the first request`, ticks: tick } : { label: "", ticks: () => "" },
    y: { label: unit, ticks: tick },
    height: last ? 200 : 168,
    key: "trace",
  });
}

const NAMES = { read: "reads", write: "writes", other: "other" };

export function scene(load: LoadOverTime, { lists, unit }: Asked, intervals: Intervals, time: Unit, inks: OpInks): Scene {
  const shown = lists.filter(([, list]) => load[list].some((value) => value > 0));
  const starts = intervals.starts.map((start) => start / time.size);
  const end = intervals.end / time.size;
  const values = Object.fromEntries(shown.map(([, list]) => [list, rates(load[list], intervals)]));
  const draw = (pen: Pen) =>
    inside(pen, () => {
      for (const [op, list] of [...shown].reverse()) {
        const look = { ink: inks[op], dash: [], shape: "circle" } as const;
        steps(pen, starts, end, values[list]!, { ...look, dash: [] });
      }
    });
  const read = (at: number) => {
    const index = lastAtMost(starts, at);
    if (index < 0 || at > end) return null;
    const [from, until] = [starts[index]!, starts[index + 1] ?? end];
    const readings = shown.map(([op, list]) => ({
      ink: inks[op],
      label: NAMES[op],
      value: `${quantity(values[list]![index]!)} ${unit}`,
      at: [at, values[list]![index]!] as [number, number],
    }));
    return { title: `from ${quantity(from)} to ${quantity(until)} ${time.name}`, readings };
  };
  const high = shown.reduce((most, [, list]) => values[list]!.reduce((one, other) => Math.max(one, other), most), 0);
  return { x: [0, end || 1], y: [0, high * 1.06 || 1], draw, read };
}
