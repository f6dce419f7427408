// The distribution of response times: as a share of requests, or its tail, the share that is slower, both axes log.

import { duration, percent, percentile, timeTick } from "../format";
import type { Look } from "../view.svelte";
import type { Run } from "../wire";
import { type Chart, chart, type Extent, type Pen, type Reading, type Scene } from "./chart";
import { inside, lastAtMost, line } from "./marks";

export type Mode = "share" | "tail";

/** A distribution: milliseconds, rising, and the share of requests at or below. */
export interface Curve {
  label: string;
  ms: readonly number[];
  share: readonly number[];
  look: Look;
}

/** The distribution of a run. */
export function curveOf(run: Run, look: Look): Curve {
  return { label: run.label, ms: run.series?.cdf_ms ?? [], share: run.series?.cdf_share ?? [], look };
}

/** What the trace tells of the requests of a run, in an ink that no run has. */
export function tracedOf(run: Run, ink: string): Curve {
  const { traced_cdf_ms: ms, traced_cdf_share: share } = run.series ?? { traced_cdf_ms: [], traced_cdf_share: [] };
  return { label: "as traced", ms, share, look: { ink, dash: [2, 4], shape: "cross" } };
}

const HEIGHT = 400;
/** The slowest share that the tail shows; below one request in a million there is nothing to see. */
const SLOWER_MIN = 1e-6;

export function distribution(element: HTMLElement, mode: Mode, floor: number): Chart {
  const x = { label: "response time", time: 1e-3, log: true, ticks: timeTick };
  const share = { label: "answered within that time", at: [0, 0.25, 0.5, 0.75, 1], ticks: (at: number) => percent(at, 0) };
  const tail = { label: "slower than that (log)", log: true, at: slowerTicks(floor), ticks: percentile };
  return chart(element, {
    title: mode === "share" ? "Distribution of response times" : "Tail of the distribution of response times",
    x,
    y: mode === "share" ? share : tail,
    height: HEIGHT,
  });
}

/** The smallest share of slower requests that any curve can tell, as a power of ten. */
export function floorOf(curves: readonly Curve[]): number {
  const slower = curves.flatMap((curve) => curve.share.filter((share) => share < 1).slice(-1));
  const least = Math.min(0.01, ...slower.map((share) => 1 - share));
  return Math.max(SLOWER_MIN, 10 ** Math.floor(Math.log10(least) + 1e-9));
}

function slowerTicks(floor: number): number[] {
  const ticks = [1];
  while (ticks.at(-1)! > floor * 1.5) ticks.push(ticks.at(-1)! / 10);
  return ticks;
}

/** What is drawn of a curve: it rises (or falls) from its first time on and goes on behind its last, so that equal times are seen too. */
export function outline({ ms }: Curve, heights: readonly number[], mode: Mode, [low, high]: Extent): [number[], number[]] {
  // A logarithmic axis has no place for 0.
  const times = ms.map((time) => Math.max(time, low));
  return [
    [times[0]!, ...times, high],
    [mode === "share" ? 0 : 1, ...heights, heights.at(-1)!],
  ];
}

export function scene(curves: readonly Curve[], all: readonly Curve[], mode: Mode, floor: number): Scene {
  const heights = new Map(curves.map((curve) => [curve, mode === "share" ? curve.share : tailOf(curve, floor)]));
  const x = extent(all, mode);
  const draw = (pen: Pen) =>
    inside(pen, () => {
      // The best run is drawn last, on top.
      for (const curve of [...curves].reverse()) {
        line(pen, ...outline(curve, heights.get(curve)!, mode, x), curve.look, { step: true });
      }
    });
  const read = (ms: number) => {
    const readings = curves.map((curve): Reading & { share: number } => {
      const at = lastAtMost(curve.ms, ms);
      const share = at < 0 ? 0 : curve.share[at]!;
      const y = mode === "share" ? share : Math.max(1 - share, floor);
      const value = percent(share, share > 0.99 && share < 1 ? 3 : 1);
      return { ink: curve.look.ink, label: curve.label, value, at: [ms, y], share };
    });
    readings.sort((one, other) => other.share - one.share);
    return { title: `within ${duration(ms)}`, readings };
  };
  return { x, y: mode === "share" ? [0, 1] : [floor, 1], draw, read };
}

/** Shares of slower requests, down to what the axis shows. */
function tailOf(curve: Curve, floor: number): number[] {
  return curve.share.map((share) => Math.max(1 - share, floor));
}

/** The same axis whichever runs are drawn, so that toggling moves nothing. */
function extent(curves: readonly Curve[], mode: Mode): Extent {
  const lists = curves.map((curve) => curve.ms);
  const firsts = lists.map((list) => list.find((ms) => ms > 0) ?? 0.001);
  const lasts = lists.map((list) => list.at(-1)!);
  const low = Math.min(...(mode === "share" ? firsts : lists.map((list) => list[list.length >> 2] || 0.001)));
  const high = Math.max(...lasts, low * 10);
  return [low * 0.9, high * 1.1];
}
