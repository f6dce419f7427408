// Free slots by cylinder and time, as shades: a cell for each group of cylinders and each snapshot.

import { count, percent, quantity, tick } from "../format";
import type { Rgb } from "../view.svelte";
import type { FreeSpace } from "../wire";
import { type Chart, chart, type Extent, type Pen, type Scene } from "./chart";
import { inside, lastAtMost, seen, type Went, went } from "./marks";

const WHOLE = 10_000;

/** Shares as they are, or as they have changed since the first snapshot. */
export type Mode = "share" | "change";

export function space(element: HTMLElement, label: string): Chart {
  return chart(element, {
    title: `Free slots by cylinder over time, ${label}`,
    x: { label: "since the start of the measured part", short: "since the start", time: 1, unitFirst: true },
    y: { label: "cylinder", ticks: tick, whole: true },
    height: 260,
    key: "time",
    rows: true,
  });
}

/** What a cell shows, as a share of its slots. */
export function value(free: FreeSpace, mode: Mode, at: number, group: number): number {
  const share = free.free_per_10k[at]![group]!;
  return (mode === "share" ? share : share - free.free_per_10k[0]![group]!) / WHOLE;
}

/** The least and the most of all cells: one scale for all runs. Changes have as much room on both sides of none. */
export function range(maps: readonly FreeSpace[], mode: Mode): Extent {
  let [low, high] = [Infinity, -Infinity];
  for (const free of maps) {
    free.free_per_10k.forEach((shares, at) => {
      for (let group = 0; group < shares.length; group++) {
        const found = value(free, mode, at, group);
        low = Math.min(low, found);
        high = Math.max(high, found);
      }
    });
  }
  if (low > high) return [0, 1];
  if (mode === "share") return high > low ? [low, high] : [Math.max(0, low - 0.005), high + 0.005];
  const most = Math.max(-low, high, 1 / WHOLE);
  return [-most, most];
}

/** The colour of a part of the ramp, from 0 to 1. */
export function shade(ramp: readonly Rgb[], part: number): Rgb {
  const place = Math.min(Math.max(part, 0), 1) * (ramp.length - 1);
  const below = Math.min(Math.floor(place), ramp.length - 2);
  const [one, other] = [ramp[below]!, ramp[below + 1]!];
  const mixed = one.map((from, index) => Math.round(from + (other[index]! - from) * (place - below)));
  return [mixed[0]!, mixed[1]!, mixed[2]!];
}

export function css([red, green, blue]: Rgb): string {
  return `rgb(${red} ${green} ${blue})`;
}

/** Snapshots are at instants; each stands until the next, and the last as long as the one before. */
function until(times: readonly number[], at: number): number {
  return times[at + 1] ?? times[at]! + (at > 0 ? times[at]! - times[at - 1]! : 1);
}

export function scene(free: FreeSpace, x: Extent, mode: Mode, scale: Extent, ramp: readonly Rgb[], gone: readonly Went[], { ink, ground }: { ink: string; ground: string }): Scene {
  const { cylinders, time_s } = free;
  const y: Extent = [cylinders[0]!, cylinders.at(-1)!];
  const part = (found: number) => (found - scale[0]) / (scale[1] - scale[0]);
  const draw = (pen: Pen) =>
    inside(pen, () => {
      cells(pen, free, mode, part, ramp);
      went(pen, gone, ground);
    });
  const read = (seconds: number, cylinder: number) => {
    const at = lastAtMost(time_s, seconds);
    const group = lastAtMost(cylinders, cylinder);
    if (at < 0 || group < 0 || group >= cylinders.length - 1) return null;
    const share = free.free_per_10k[at]![group]!;
    const change = share - free.free_per_10k[0]![group]!;
    const signed = `${change < 0 ? "\u2212" : "+"}${percent(Math.abs(change) / WHOLE, 2)}`;
    return {
      title: `cylinders ${count(cylinders[group]!)} to ${count(cylinders[group + 1]! - 1)}, at ${quantity(time_s[at]!)} s`,
      readings: [
        { ink, label: "free", value: percent(share / WHOLE, 2) },
        { ink, label: "since the start", value: signed },
      ],
    };
  };
  return { x, y, draw, read };
}

function cells(pen: Pen, free: FreeSpace, mode: Mode, part: (found: number) => number, ramp: readonly Rgb[]): void {
  const { ctx } = pen;
  const { cylinders, time_s } = free;
  const [from, to] = seen(time_s, pen.seen);
  for (let at = from; at <= to; at++) {
    // Whole pixels, so that no seam shows between cells.
    const [left, right] = [Math.round(pen.x(time_s[at]!)), Math.round(pen.x(until(time_s, at)))];
    for (let group = 0; group < cylinders.length - 1; group++) {
      const [bottom, top] = [Math.round(pen.y(cylinders[group]!)), Math.round(pen.y(cylinders[group + 1]!))];
      ctx.fillStyle = css(shade(ramp, part(value(free, mode, at, group))));
      ctx.fillRect(left, top, Math.max(right - left, 1), bottom - top);
    }
  }
}
