// Throughput against latency: one point a run, with the interval of its mean. The runs of a choice are joined by a line, which has
// its name at its end, where there is room and no other point is as near. The others are known by their marks, which the legend has.

import { duration, quantity, tick, timeTick } from "../format";
import type { Look } from "../view.svelte";
import type { Run } from "../wire";
import { type Chart, chart, type Extent, type Pen, type Scene } from "./chart";
import { inside, point } from "./marks";

/** The runs of a choice, in the order of their loads. */
export interface Trace {
  name: string;
  look: Look;
  runs: readonly Run[];
}

interface Spot {
  run: Run;
  look: Look;
}

const HEIGHT = 400;
const RADIUS = 5.5;
/** How far from a point the cursor still means it, in CSS pixels. */
const REACH = 28;

export function tradeoff(element: HTMLElement, runs: readonly Run[]): Chart {
  return chart(element, {
    title: "Throughput against mean response time",
    x: { label: "requests per second", ticks: tick },
    y: { label: "mean response", time: 1e-3, ticks: timeTick, log: spansDecades(runs) },
    height: HEIGHT,
  });
}

export function scene(traces: readonly Trace[], all: readonly Run[], ground: string, ink: string): Scene {
  const spots: Spot[] = traces.flatMap(({ look, runs }) => runs.map((run) => ({ run, look })));
  const at = ({ run }: Spot): [number, number] => [run.throughput_rps, run.response_ms.mean];
  const draw = (pen: Pen) => {
    inside(pen, () => {
      for (const trace of traces) join(pen, trace);
      for (const spot of spots) whisker(pen, spot);
      for (const spot of [...spots].reverse()) {
        const [x, y] = at(spot);
        point(pen, pen.x(x), pen.y(y), spot.look, RADIUS, ground);
      }
    });
    labels(pen, traces, spots, ground, ink);
  };
  const read: Scene["read"] = (_x, _y, near) => {
    const distances = spots.map((spot) => ({ spot, distance: near(...at(spot)) }));
    const nearest = distances.sort((one, other) => one.distance - other.distance)[0];
    if (nearest === undefined || nearest.distance > REACH) return null;
    const { run, look } = nearest.spot;
    const interval = run.response_ms.ci95;
    const row = (label: string, value: string) => ({ ink: look.ink, label, value });
    return {
      title: run.label,
      readings: [
        row("throughput", `${quantity(run.throughput_rps)} req/s`),
        row("mean response", duration(run.response_ms.mean)),
        ...(interval ? [row("95 % interval", `${duration(interval[0])} \u2013 ${duration(interval[1])}`)] : []),
        row("p99", duration(run.response_ms.p99)),
      ],
    };
  };
  return { x: rates(all), y: means(all), draw, read };
}

function spansDecades(runs: readonly Run[]): boolean {
  const all = runs.map((run) => run.response_ms.mean);
  return Math.min(...all) > 0 && Math.max(...all) / Math.min(...all) > 12;
}

function join(pen: Pen, { runs, look }: Trace): void {
  if (runs.length < 2) return;
  const { ctx, scale } = pen;
  ctx.beginPath();
  for (const run of runs) ctx.lineTo(pen.x(run.throughput_rps), pen.y(run.response_ms.mean));
  ctx.strokeStyle = look.ink;
  ctx.lineWidth = 1.75 * scale;
  ctx.setLineDash(look.dash.map((length) => length * scale));
  ctx.stroke();
  ctx.setLineDash([]);
}

function whisker(pen: Pen, { run, look }: Spot): void {
  const interval = run.response_ms.ci95;
  if (interval === null || interval[0] <= 0) return;
  const { ctx, scale } = pen;
  const x = Math.round(pen.x(run.throughput_rps));
  ctx.beginPath();
  ctx.moveTo(x, pen.y(interval[0]));
  ctx.lineTo(x, pen.y(interval[1]));
  ctx.strokeStyle = look.ink;
  ctx.globalAlpha = 0.55;
  ctx.lineWidth = 1.5 * scale;
  ctx.stroke();
  ctx.globalAlpha = 1;
}

/**
 * Labels go right of their point, or left, above or below it or its interval, or to one of the corners between; neither on points, lines or
 * intervals nor on each other, nor where another point is as near, whose label it would seem to be. Where all of this is taken, the legend and
 * the read-out have to do.
 */
function labels(pen: Pen, traces: readonly Trace[], spots: readonly Spot[], ground: string, ink: string): void {
  const { ctx, scale } = pen;
  ctx.save();
  ctx.font = `${11 * scale}px ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, monospace`;
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  const taken = spots.flatMap(({ run }) => {
    const [x, y, r] = [pen.x(run.throughput_rps), pen.y(run.response_ms.mean), RADIUS * scale];
    const { high, low } = reach(pen, run);
    return [{ left: x - r, right: x + r, top: y - r, bottom: y + r }, { left: x - 2 * scale, right: x + 2 * scale, top: high, bottom: low }];
  });
  const lines = traces.flatMap(({ runs }) => runs.slice(1).map((run, index) => [place(pen, runs[index]!), place(pen, run)] as const));
  for (const { name, runs } of traces) {
    const run = runs.at(-1)!;
    const width = ctx.measureText(name).width;
    const [x, y, gap, half] = [pen.x(run.throughput_rps), pen.y(run.response_ms.mean), 10 * scale, 8 * scale];
    const { high, low } = reach(pen, run);
    const [right, left, middle] = [x + gap, x - gap - width, x - width / 2];
    const places = [
      [right, y],
      [left, y],
      [middle, Math.min(y - gap, high) - gap],
      [middle, Math.max(y + gap, low) + gap],
      [right, y - 2 * gap],
      [left, y - 2 * gap],
      [right, y + 2 * gap],
      [left, y + 2 * gap],
    ] as const;
    const boxes = places.map(([left, middle]) => ({ left, right: left + width, top: middle - half, bottom: middle + half }));
    const own = place(pen, run);
    const others = spots.filter((spot) => spot.run !== run).map((spot) => place(pen, spot.run));
    const isOwn = (box: Box) => others.every((other) => away(box, other) > NEARER * away(box, own));
    const isFree = (box: Box) => !taken.some((other) => overlap(box, other)) && !lines.some(([from, to]) => crosses(box, from, to));
    const free = boxes.find((box) => fits(pen, box) && isFree(box) && isOwn(box));
    if (free === undefined) continue;
    taken.push(free);
    ctx.lineWidth = 3 * scale;
    ctx.strokeStyle = ground;
    ctx.fillStyle = ink;
    ctx.strokeText(name, free.left, (free.top + free.bottom) / 2);
    ctx.fillText(name, free.left, (free.top + free.bottom) / 2);
  }
  ctx.restore();
}

/** So many times as far as the own point of a label is every other one, at least: it would seem to be the name of that. */
const NEARER = 1.25;

type Place = readonly [x: number, y: number];

/** How far a point is from the end of a label's line of letters that is nearest to it. */
export function away({ left, right, top, bottom }: Box, [x, y]: Place): number {
  const across = Math.max(left - x, x - right, 0);
  return Math.hypot(across, y - (top + bottom) / 2);
}

function place(pen: Pen, run: Run): Place {
  return [pen.x(run.throughput_rps), pen.y(run.response_ms.mean)];
}

/** From where to where the interval of a run is drawn; its mean where it has none. */
function reach(pen: Pen, { response_ms: { mean, ci95 } }: Run): { high: number; low: number } {
  const [from, to] = ci95 !== null && ci95[0] > 0 ? ci95 : [mean, mean];
  return { high: pen.y(to), low: pen.y(from) };
}

/** Whether a line goes through a box (Liang and Barsky, 1984: what each side leaves of it). */
export function crosses({ left, right, top, bottom }: Box, [fromX, fromY]: Place, [toX, toY]: Place): boolean {
  let [begin, end] = [0, 1];
  const sides = [
    [fromX - toX, fromX - left],
    [toX - fromX, right - fromX],
    [fromY - toY, fromY - top],
    [toY - fromY, bottom - fromY],
  ] as const;
  for (const [step, room] of sides) {
    if (step === 0 && room < 0) return false;
    if (step < 0) begin = Math.max(begin, room / step);
    if (step > 0) end = Math.min(end, room / step);
  }
  return begin < end;
}

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

function fits(pen: Pen, box: Box): boolean {
  return box.left >= pen.left && box.right <= pen.right && box.top >= pen.top && box.bottom <= pen.bottom;
}

function overlap(one: Box, other: Box): boolean {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}

function rates(runs: readonly Run[]): Extent {
  const all = runs.map((run) => run.throughput_rps);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  // Equal rates, as an open replay has them, still need an axis.
  const margin = Math.max((high - low) * 0.2, high * 0.02, 1e-9);
  return [Math.max(0, low - margin), high + margin];
}

function means(runs: readonly Run[]): Extent {
  const values = runs.flatMap((run) => [run.response_ms.mean, ...(run.response_ms.ci95 ?? [])]);
  const positive = values.filter((value) => value > 0);
  const high = Math.max(...positive, 1e-3);
  const low = Math.min(...positive, high);
  return spansDecades(runs) ? [low * 0.8, high * 1.25] : [0, high * 1.08];
}
