// The share of touches that a cache would have held, over its size: one line each for reads, writes and both.

import { bytes, percent } from "../format";
import type { Held, Reuse } from "../inspection";
import type { Look } from "../view.svelte";
import { type Chart, chart, type Pen, type Reading, type Scene } from "./chart";
import { inside, lastAtMost, line } from "./marks";

export interface Curve {
  label: string;
  look: Look;
  held: Held;
}

/** Standard errors of a band: 95 % of a normal distribution. */
const BAND = 1.96;
/** Labels along the sizes at most. */
const LABELS_MAX = 6;

export function reuse(element: HTMLElement, { cache_bytes }: Reuse): Chart {
  return chart(element, {
    title: "Share of block touches that a cache would have held, by its size",
    x: { label: "size of the cache", log: true, ticks: bytes, at: sizes(cache_bytes[0]!, cache_bytes.at(-1)!) },
    y: { label: "held in the cache", ticks: (at) => percent(at, 0), at: [0, 0.25, 0.5, 0.75, 1] },
    height: 320,
  });
}

/** Powers of two between two sizes, few enough for their labels. */
function sizes(first: number, last: number): number[] {
  const [low, high] = [Math.ceil(Math.log2(first)), Math.floor(Math.log2(last))];
  const step = Math.max(1, Math.ceil((high - low + 1) / LABELS_MAX));
  return Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, index) => 2 ** (low + index * step));
}

export function scene(curves: readonly Curve[], { cache_bytes }: Reuse): Scene {
  const draw = (pen: Pen) =>
    inside(pen, () => {
      for (const curve of curves) band(pen, cache_bytes, curve);
      for (const { held, look } of [...curves].reverse()) line(pen, cache_bytes, held.held_share, look, { width: 2 });
    });
  const read = (at: number) => {
    const index = Math.max(0, lastAtMost(cache_bytes, at));
    const size = cache_bytes[index]!;
    const readings = curves.map(({ held, label, look }): Reading => {
      const [share, error] = [held.held_share[index]!, BAND * held.standard_error[index]!];
      const spread = error > 0 ? ` \u00b1\u202f${percent(error, 2)}` : "";
      return { ink: look.ink, label, value: `${percent(share)}${spread}`, at: [size, share] };
    });
    return { title: `a cache of ${bytes(size)}`, readings };
  };
  const [low, high] = [cache_bytes[0]!, cache_bytes.at(-1)!];
  return { x: [low, Math.max(high, low * 2)], y: [0, 1], draw, read };
}

function band(pen: Pen, sizes: readonly number[], { held, look }: Curve): void {
  const { ctx } = pen;
  const ends = (sign: number) => held.held_share.map((share, at) => share + sign * BAND * held.standard_error[at]!);
  const [high, low] = [ends(1), ends(-1)];
  ctx.beginPath();
  sizes.forEach((size, at) => ctx.lineTo(pen.x(size), pen.y(high[at]!)));
  for (let at = sizes.length - 1; at >= 0; at--) ctx.lineTo(pen.x(sizes[at]!), pen.y(low[at]!));
  ctx.closePath();
  ctx.fillStyle = look.ink;
  ctx.globalAlpha = 0.16;
  ctx.fill();
  ctx.globalAlpha = 1;
}
