// The run over time: three quantities under one another, with one cursor.

import { duration, quantity, span, tick } from "../format";
import type { Look } from "../view.svelte";
import type { Run } from "../wire";
import { type Chart, chart, type Pen, type Reading, type Scene } from "./chart";
import { endOf, wholeTime } from "./intervals";
import { inside, lastAtMost, steps, went, wentIn } from "./marks";

/** One of the quantities. */
export interface Quantity {
  key: "rate_rps" | "response_ms" | "queue";
  title: string;
  /** The same on a button. */
  short: string;
  unit: string;
}

export const QUANTITIES: readonly Quantity[] = [
  { key: "rate_rps", title: "Answered", short: "Rate", unit: "req/s" },
  // Its unit is that of the axis.
  { key: "response_ms", title: "Mean response", short: "Response", unit: "" },
  { key: "queue", title: "In the system", short: "Queue", unit: "requests" },
];

/** Inks of words, and of what is around them. */
export interface Inks {
  ink: string;
  ground: string;
}

export interface Line {
  run: Run;
  look: Look;
}

/** `words` are the title; the axis of time has its words below the last of several charts only. */
export function overtime(element: HTMLElement, quantity: Quantity, last: boolean, words = quantity.title, height = 156): Chart {
  return chart(element, {
    title: [`${words} over time`, quantity.unit].filter(Boolean).join(", "),
    x: { label: last ? "since the start of the measured part" : "", short: "since the start", time: 1, unitFirst: true },
    y: quantity.key === "response_ms" ? { label: "mean", time: 1e-3 } : { label: quantity.unit, ticks: tick },
    height: last ? height + 36 : height,
    key: "time",
  });
}

/**
 * `all` are the runs of the chosen load: the axis is as long as the longest of them, drawn or not. It is as high as `beside` need, which are
 * drawn in charts of their own.
 */
export function scene(lines: readonly Line[], all: readonly Run[], { key, unit }: Quantity, inks: Inks, beside = lines): Scene {
  const draw = (pen: Pen) =>
    inside(pen, () => {
      // Of several runs in one chart, nobody could tell whose start it is.
      const only = lines.length === 1 ? lines[0]! : null;
      if (only) shade(pen, only, inks);
      for (const { run, look } of [...lines].reverse()) {
        steps(pen, run.series!.time_s, endOf(run), run.series![key], look);
      }
      if (only) words(pen, only, inks);
      went(pen, wentIn(lines, inks.ink), inks.ground);
    });
  const read = (seconds: number) => {
    const readings = lines.flatMap(({ run, look }): (Reading & { size: number })[] => {
      const at = lastAtMost(run.series!.time_s, seconds);
      const value = run.series![key][at];
      if (at < 0 || seconds > endOf(run) || value === null || value === undefined) return [];
      return [{ ink: look.ink, label: run.label, value: key === "queue" ? quantity(value) : key === "response_ms" ? duration(value) : `${quantity(value)} ${unit}`, at: [seconds, value], size: value }];
    });
    readings.sort((one, other) => other.size - one.size);
    return readings.length === 0 ? null : { title: `at ${span(seconds)}`, readings };
  };
  return { x: wholeTime(all), y: [0, reach(beside, key).top], draw, read };
}

/** From where to where on the canvas applications start. */
function starting(pen: Pen, { run }: Line): { from: number; to: number; up: boolean }[] {
  const startups = run.series?.startups ?? [];
  return startups.map(({ began_s, up_s }) => ({ from: pen.x(began_s), to: pen.x(up_s ?? run.duration_s), up: up_s !== null }));
}

/** While an application starts the ground is shaded, from a line at its start to one where it is up. */
function shade(pen: Pen, line: Line, { ink }: Inks): void {
  const { ctx, scale, top, bottom } = pen;
  ctx.save();
  [ctx.fillStyle, ctx.strokeStyle, ctx.lineWidth] = [line.look.ink, ink, scale];
  for (const { from, to, up } of starting(pen, line)) {
    ctx.globalAlpha = 0.13;
    ctx.fillRect(from, top, to - from, bottom - top);
    ctx.globalAlpha = 1;
    upright(pen, from);
    if (up) upright(pen, to);
  }
  ctx.restore();
}

/** Words beside the lines of the first start, where there is room for them. */
function words(pen: Pen, line: Line, { ink, ground }: Inks): void {
  const [part, next] = starting(pen, line);
  if (part === undefined) return;
  const { ctx, scale, left, right, top } = pen;
  const { from, to, up } = part;
  ctx.save();
  ctx.font = `${11 * scale}px system-ui, sans-serif`;
  ctx.textBaseline = "top";
  [ctx.fillStyle, ctx.strokeStyle, ctx.lineWidth] = [ink, ground, 3 * scale];
  const room = (text: string) => ctx.measureText(text).width + 8 * scale;
  const word = (text: string, at: number, behind: boolean) => {
    ctx.textAlign = behind ? "left" : "right";
    const place = [at + (behind ? 4 : -4) * scale, top + 2 * scale] as const;
    ctx.strokeText(text, ...place);
    ctx.fillText(text, ...place);
  };
  const before = from - left >= room("start");
  if (before || to - from >= room("start")) word("start", from, !before);
  const end = next?.from ?? right;
  if (up && end - to > room("up")) word("up", to, true);
  else if (up && to - from > room("up")) word("up", to, false);
  else if (!up && to - from > room("not up")) word("not up", to, false);
  ctx.restore();
}

function upright({ ctx, top, bottom }: Pen, at: number): void {
  ctx.beginPath();
  ctx.moveTo(Math.round(at), top);
  ctx.lineTo(Math.round(at), bottom);
  ctx.stroke();
}

/** One interval so many times as high as the 99th percentile of all would flatten the others. */
const OUTLIER = 5;
/** How much higher an axis is than what is drawn; and where words of a start, or of a drive that went, stand above that. */
const ABOVE = { alone: 1.06, words: 1.45 };

/** How far the axis goes, how many intervals lie above it, and how high the highest is. */
export function reach(lines: readonly Line[], key: Quantity["key"]): { top: number; above: number; most: number } {
  const of = (run: Run): readonly (number | null)[] => run.series![key];
  const all = lines.flatMap(({ run }) => of(run).filter((value) => value !== null));
  all.sort((one, other) => one - other);
  const most = all.at(-1) ?? 0;
  const usual = all[Math.floor(0.99 * (all.length - 1))] ?? 0;
  const room = lines.some(({ run }) => run.series!.startups.length + run.series!.gone.length > 0) ? ABOVE.words : ABOVE.alone;
  if (usual <= 0 || most <= OUTLIER * usual) return { top: most * room || 1, above: 0, most };
  const top = 2 * usual;
  return { top, above: all.filter((value) => value > top).length, most };
}

/** What is to be said of intervals above the axis; none if there are none. */
export function aboveAxis(lines: readonly Line[], { key, unit }: Quantity): string | null {
  const { above, most } = reach(lines, key);
  if (above === 0) return null;
  const high = key === "response_ms" ? duration(most) : `${quantity(most)} ${unit}`;
  return `${above} ${above === 1 ? "interval lies" : "intervals lie"} above this axis, up to ${high}; the pointer tells.`;
}
