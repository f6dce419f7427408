// A published figure: lines through means, each with the band of its 95 % interval.

import { quantity, tick, timeTick } from "../format";
import type { Look } from "../view.svelte";
import type { Figure, FigureAxis, FigureLine } from "../wire";
import { type AxisOptions, type Chart, chart, type Extent, type Pen, type Reading, type Scene } from "./chart";
import { inside, line, point } from "./marks";

const HEIGHT = 400;
const RADIUS = 4.5;

export interface Curve {
  line: FigureLine;
  look: Look;
}

const words = (label: string, unit: string) => (unit ? `${label}, ${unit}` : label);

/** Times along an axis have the unit that suits what is seen; those that have ticks of their own keep theirs. */
function axis({ label, unit, log, ticks }: FigureAxis): AxisOptions {
  if (unit === "ms" && ticks.length === 0) return { label, time: 1e-3, log, ticks: timeTick };
  return { label: words(label, unit), ticks: tick, log };
}

export function figure(element: HTMLElement, { name, x, y }: Figure): Chart {
  return chart(element, {
    title: `${name}: ${y.label} by ${x.label}`,
    x: { ...axis(x), ...(x.ticks.length > 0 ? { at: x.ticks } : {}) },
    y: axis(y),
    height: HEIGHT,
  });
}

/** Across, all panels; upwards, one, with all its lines: panels differ by far, and hiding a line moves nothing. */
export function extents({ panels, x, y, limit }: Figure, chosen: number): [Extent, Extent] {
  const places = panels.flatMap((panel) => panel.lines.flatMap((line) => line.x));
  const lines = panels[chosen]?.lines ?? [];
  const heights = [...(limit === null ? [] : [limit]), ...lines.flatMap((line) => [...line.y, ...line.high.filter((end) => end !== null)])];
  const [low, high] = [Math.min(...places), Math.max(...places)];
  const margin = (high - low) * 0.03 || 1;
  const across: Extent = x.log ? [low / 1.15, high * 1.15] : [low - margin, high + margin];
  const top = Math.max(...heights, 1e-9);
  if (!y.log) return [across, [0, top * 1.05]];
  const positive = [...heights, ...lines.flatMap((line) => line.low.filter((end) => end !== null))].filter((at) => at > 0);
  return [across, [Math.min(...positive, top) / 1.2, top * 1.2]];
}

export function scene(curves: readonly Curve[], of: Figure, chosen: number, { ground, ink }: { ground: string; ink: string }): Scene {
  const [x, y] = extents(of, chosen);
  const log = of.x.log;
  const draw = (pen: Pen) =>
    inside(pen, () => {
      for (const curve of curves) band(pen, curve, y[1]);
      if (of.limit !== null) rule(pen, of.limit, ink);
      for (const curve of [...curves].reverse()) {
        line(pen, curve.line.x, curve.line.y, curve.look, { width: 2 });
        curve.line.x.forEach((at, index) => {
          point(pen, pen.x(at), pen.y(curve.line.y[index]!), curve.look, RADIUS, ground);
        });
      }
    });
  const read = (at: number) => {
    const places = curves.flatMap((curve) => curve.line.x);
    const nearest = closest(places, at, log);
    if (nearest === undefined) return null;
    const readings = curves.flatMap((curve) => reading(curve, nearest, of.y.unit));
    readings.sort((one, other) => other.size - one.size);
    return { title: `at ${tick(nearest)}`, readings };
  };
  return { x, y, draw, read };
}

/** The place that is nearest to the cursor as it is seen. */
export function closest(places: readonly number[], at: number, log: boolean): number | undefined {
  const seen = (place: number) => (log ? Math.log(place) : place);
  const distance = (place: number) => Math.abs(seen(place) - seen(at));
  return [...places].sort((one, other) => distance(one) - distance(other))[0];
}

function reading({ line, look }: Curve, at: number, unit: string): (Reading & { size: number })[] {
  const index = line.x.indexOf(at);
  if (index < 0) return [];
  const [value, low, high] = [line.y[index]!, line.low[index], line.high[index]];
  const open = typeof low === "number" && typeof high !== "number" ? `, surely from ${quantity(low)} on` : "";
  const spread = typeof low === "number" && typeof high === "number" ? ` \u00b1\u202f${quantity((high - low) / 2)}` : "";
  return [{ ink: look.ink, label: line.label, value: `${quantity(value)}${spread} ${unit}${open}`, at: [at, value], size: value }];
}

/** The ends of a line's intervals; one whose upper end lies beyond what was seen is open to the top of the chart. */
export function ends({ x, low, high }: FigureLine, top: number): { at: number; low: number; high: number }[] {
  return x.flatMap((at, index) => {
    const [from, to] = [low[index], high[index]];
    return typeof from === "number" ? [{ at, low: from, high: typeof to === "number" ? to : top }] : [];
  });
}

/** What must not be reached, over the whole width. */
function rule(pen: Pen, limit: number, ink: string): void {
  const { ctx, left, right, scale } = pen;
  ctx.beginPath();
  ctx.moveTo(left, pen.y(limit));
  ctx.lineTo(right, pen.y(limit));
  ctx.strokeStyle = ink;
  ctx.lineWidth = 1.5 * scale;
  ctx.setLineDash([6 * scale, 4 * scale]);
  ctx.stroke();
  ctx.setLineDash([]);
}

function band(pen: Pen, { line, look }: Curve, top: number): void {
  const { ctx } = pen;
  const known = ends(line, top);
  if (known.length < 2) return;
  ctx.beginPath();
  for (const { at, high } of known) ctx.lineTo(pen.x(at), pen.y(high));
  for (const { at, low } of known.reverse()) ctx.lineTo(pen.x(at), pen.y(low));
  ctx.closePath();
  ctx.fillStyle = look.ink;
  ctx.globalAlpha = 0.16;
  ctx.fill();
  ctx.globalAlpha = 1;
}
