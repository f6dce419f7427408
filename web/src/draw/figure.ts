// A published figure: lines through means, each with the band of its 95 % interval.

import { quantity, tick } from "../format";
import type { Look } from "../view.svelte";
import type { Figure, FigureLine } from "../wire";
import { type Chart, chart, type Extent, type Pen, type Reading, type Scene } from "./chart";
import { inside, line, point } from "./marks";

const HEIGHT = 400;
const RADIUS = 4.5;

export interface Curve {
  line: FigureLine;
  look: Look;
}

const words = (label: string, unit: string) => (unit ? `${label}, ${unit}` : label);

export function figure(element: HTMLElement, { name, x, y }: Figure): Chart {
  return chart(element, {
    title: `${name}: ${y.label} by ${x.label}`,
    x: { label: words(x.label, x.unit), ticks: tick, log: x.log, ...(x.ticks.length > 0 ? { at: x.ticks } : {}) },
    y: { label: words(y.label, y.unit), ticks: tick, log: y.log },
    height: HEIGHT,
  });
}

/** Across, all panels; upwards, one, with all its lines: panels differ by far, and hiding a line moves nothing. */
export function extents({ panels, x, y }: Figure, chosen: number): [Extent, Extent] {
  const places = panels.flatMap((panel) => panel.lines.flatMap((line) => line.x));
  const lines = panels[chosen]?.lines ?? [];
  const heights = lines.flatMap((line) => [...line.y, ...line.high.filter((end) => end !== null)]);
  const [low, high] = [Math.min(...places), Math.max(...places)];
  const margin = (high - low) * 0.03 || 1;
  const across: Extent = x.log ? [low / 1.15, high * 1.15] : [low - margin, high + margin];
  const top = Math.max(...heights, 1e-9);
  if (!y.log) return [across, [0, top * 1.05]];
  const positive = [...heights, ...lines.flatMap((line) => line.low.filter((end) => end !== null))].filter((at) => at > 0);
  return [across, [Math.min(...positive, top) / 1.2, top * 1.2]];
}

export function scene(curves: readonly Curve[], of: Figure, chosen: number, ground: string): Scene {
  const [x, y] = extents(of, chosen);
  const [log, unit] = [of.x.log, of.y.unit];
  const draw = (pen: Pen) =>
    inside(pen, () => {
      for (const curve of curves) band(pen, curve, y[1]);
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
    const readings = curves.flatMap((curve) => reading(curve, nearest, unit));
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
  const spread = typeof low === "number" && typeof high === "number" ? ` \u00b1\u2009${quantity((high - low) / 2)}` : "";
  return [{ ink: look.ink, label: line.label, value: `${quantity(value)}${spread} ${unit}${open}`, at: [at, value], size: value }];
}

/** The ends of a line's intervals; one whose upper end lies beyond what was seen is open to the top of the chart. */
export function ends({ x, low, high }: FigureLine, top: number): { at: number; low: number; high: number }[] {
  return x.flatMap((at, index) => {
    const [from, to] = [low[index], high[index]];
    return typeof from === "number" ? [{ at, low: from, high: typeof to === "number" ? to : top }] : [];
  });
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
