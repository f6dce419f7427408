// The distribution of response times: as a share of requests, or its tail, the share that is slower, both axes log.

import { duration, percent, percentile, tick } from "../format";
import type { Look } from "../view.svelte";
import type { Run } from "../wire";
import { type Chart, chart, type Extent, type Pen, type Reading, type Scene } from "./chart";
import { inside, lastAtMost, line } from "./marks";

export type Mode = "share" | "tail";

/** A run that has a distribution. */
export interface Curve {
  run: Run;
  look: Look;
}

const HEIGHT = 400;
/** The slowest share that the tail shows; below one request in a million there is nothing to see. */
const SLOWER_MIN = 1e-6;

export function distribution(element: HTMLElement, mode: Mode, floor: number): Chart {
  const x = { label: "response time, ms", log: true, ticks: tick };
  const share = { label: "answered within that time", at: [0, 0.25, 0.5, 0.75, 1], ticks: (at: number) => percent(at, 0) };
  const tail = { label: "slower than that (log)", log: true, at: slowerTicks(floor), ticks: percentile };
  return chart(element, {
    title: mode === "share" ? "Distribution of response times" : "Tail of the distribution of response times",
    x,
    y: mode === "share" ? share : tail,
    height: HEIGHT,
  });
}

/** The smallest share of slower requests that any run can tell, as a power of ten. */
export function floorOf(runs: readonly Run[]): number {
  const slower = runs.flatMap((run) => run.series?.cdf_share.filter((share) => share < 1).slice(-1) ?? []);
  const least = Math.min(0.01, ...slower.map((share) => 1 - share));
  return Math.max(SLOWER_MIN, 10 ** Math.floor(Math.log10(least) + 1e-9));
}

function slowerTicks(floor: number): number[] {
  const ticks = [1];
  while (ticks.at(-1)! > floor * 1.5) ticks.push(ticks.at(-1)! / 10);
  return ticks;
}

export function scene(curves: readonly Curve[], all: readonly Run[], mode: Mode, floor: number): Scene {
  const slower = new Map(curves.map(({ run }) => [run, tailOf(run, floor)]));
  const draw = (pen: Pen) =>
    inside(pen, () => {
      // The best run is drawn last, on top.
      for (const { run, look } of [...curves].reverse()) {
        const { cdf_ms, cdf_share } = run.series!;
        line(pen, cdf_ms, mode === "share" ? cdf_share : slower.get(run)!, look, { step: true });
      }
    });
  const read = (ms: number) => {
    const readings = curves.map(({ run, look }): Reading & { share: number } => {
      const at = lastAtMost(run.series!.cdf_ms, ms);
      const share = at < 0 ? 0 : run.series!.cdf_share[at]!;
      const y = mode === "share" ? share : Math.max(1 - share, floor);
      return { ink: look.ink, label: run.label, value: percent(share, share > 0.99 && share < 1 ? 3 : 1), at: [ms, y], share };
    });
    readings.sort((one, other) => other.share - one.share);
    return { title: `within ${duration(ms)}`, readings };
  };
  return { x: extent(all, mode), y: mode === "share" ? [0, 1] : [floor, 1], draw, read };
}

/** Shares of slower requests, down to what the axis shows. */
function tailOf(run: Run, floor: number): number[] {
  return run.series!.cdf_share.map((share) => Math.max(1 - share, floor));
}

/** The same axis whichever runs are drawn, so that toggling moves nothing. */
function extent(runs: readonly Run[], mode: Mode): Extent {
  const lists = runs.map((run) => run.series?.cdf_ms ?? []).filter((list) => list.length > 0);
  const firsts = lists.map((list) => list.find((ms) => ms > 0) ?? 0.001);
  const lasts = lists.map((list) => list.at(-1)!);
  const low = Math.min(...(mode === "share" ? firsts : lists.map((list) => list[list.length >> 2] || 0.001)));
  const high = Math.max(...lasts, low * 10);
  return [low * 0.9, high * 1.1];
}
