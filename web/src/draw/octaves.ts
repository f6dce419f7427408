// Bars by powers of two on a logarithmic axis: sizes of requests, gaps between them.

import { percent } from "../format";
import { type AxisOptions, type Chart, chart, type Pen, type Scene } from "./chart";
import { inside } from "./marks";

/** Counts of one kind, one a bin. */
export interface Kind {
  label: string;
  ink: string;
  counts: readonly number[];
}

/** Bins that begin at `from`, each as long as it begins, and counts that are stacked in them. */
export interface Bars {
  from: readonly number[];
  kinds: readonly Kind[];
  /** What all bars are shares of. */
  all: number;
  /** What a bin is called. */
  name: (from: number, to: number) => string;
}

/** Labels along an axis at most. */
const LABELS_MAX = 6;

/** Powers of ten that bins reach over, few enough for their labels. */
export function decades(from: readonly number[]): number[] {
  const [low, high] = [Math.ceil(Math.log10(from[0] ?? 1)), Math.floor(Math.log10((from.at(-1) ?? 1) * 2))];
  const step = Math.max(1, Math.ceil((high - low + 1) / LABELS_MAX));
  return Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, index) => 10 ** (low + index * step));
}

export function octaves(element: HTMLElement, title: string, x: AxisOptions): Chart {
  return chart(element, {
    title,
    x: { ...x, log: true },
    y: { label: "share of requests", ticks: (at) => percent(at, Math.abs(at * 100 - Math.round(at * 100)) < 1e-9 ? 0 : 1) },
    height: 220,
  });
}

export function scene({ from, kinds, all, name }: Bars): Scene {
  const totals = from.map((_, bin) => kinds.reduce((sum, kind) => sum + kind.counts[bin]!, 0) / all);
  const draw = (pen: Pen) =>
    inside(pen, () => {
      const { ctx } = pen;
      from.forEach((start, bin) => {
        const gap = Math.round(pen.scale);
        const [left, right] = [Math.round(pen.x(start)) + gap, Math.round(pen.x(start * 2)) - gap];
        let below = 0;
        for (const kind of kinds) {
          const above = below + kind.counts[bin]! / all;
          const [top, foot] = [Math.round(pen.y(above)), Math.round(pen.y(below))];
          ctx.fillStyle = kind.ink;
          ctx.fillRect(left, top, Math.max(right - left, 1), foot - top);
          below = above;
        }
      });
    });
  const read = (at: number) => {
    const bin = from.findIndex((start) => at >= start && at < start * 2);
    if (bin < 0) return null;
    const readings = kinds.map(({ label, ink, counts }) => ({ ink, label, value: percent(counts[bin]! / all, 2) }));
    return { title: name(from[bin]!, from[bin]! * 2), readings };
  };
  const high = totals.reduce((most, total) => Math.max(most, total), 0);
  return { x: [from[0] ?? 1, (from.at(-1) ?? 1) * 2], y: [0, high * 1.06 || 1], draw, read };
}
