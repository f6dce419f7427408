// Marks on a canvas: lines, steps, points of eight shapes, instants at which drives went. All lengths are CSS pixels.

import type { Look } from "../view.svelte";
import type { Run } from "../wire";
import type { Pen } from "./chart";

/** Runs `draw` with marks kept inside the axes. */
export function inside(pen: Pen, draw: () => void): void {
  const { ctx, left, top, right, bottom } = pen;
  ctx.save();
  ctx.beginPath();
  // A little more than the axes, so that lines on the border keep their width.
  ctx.rect(left - 2, top - 4, right - left + 4, bottom - top + 6);
  ctx.clip();
  draw();
  ctx.restore();
}

/** Index of the last value at or below `limit` in a rising list; -1 if there is none. */
export function lastAtMost(rising: readonly number[], limit: number): number {
  let [low, high] = [0, rising.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rising[middle]! <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The part of a rising list that is seen, with a neighbour on each side. */
export function seen(rising: readonly number[], [low, high]: readonly [number, number]): [number, number] {
  const from = Math.max(0, lastAtMost(rising, low));
  const to = Math.min(rising.length - 1, lastAtMost(rising, high) + 1);
  return [from, to];
}

/** A line through points; `null` interrupts it. A step holds each value until the next. */
export function line(
  pen: Pen,
  xs: readonly number[],
  ys: readonly (number | null)[],
  look: Look,
  { step = false, width = 1.75 }: { step?: boolean; width?: number } = {},
): void {
  const { ctx, scale } = pen;
  const [from, to] = seen(xs, pen.seen);
  ctx.beginPath();
  let last: number | null = null;
  for (let index = from; index <= to; index++) {
    const value = ys[index];
    if (value === null || value === undefined) {
      last = null;
      continue;
    }
    const [x, y] = [pen.x(xs[index]!), pen.y(value)];
    if (last === null) ctx.moveTo(x, y);
    else if (step) ctx.lineTo(x, last);
    ctx.lineTo(x, y);
    last = y;
  }
  ctx.strokeStyle = look.ink;
  ctx.lineWidth = width * scale;
  ctx.lineJoin = "round";
  ctx.setLineDash(look.dash.map((length) => length * scale));
  ctx.stroke();
  ctx.setLineDash([]);
}

/** Values of intervals that follow each other, the last until `end`: level within each; `null` interrupts. */
export function steps(pen: Pen, starts: readonly number[], end: number, values: readonly (number | null)[], look: Look, width = 1.4): void {
  const { ctx, scale } = pen;
  const [from, to] = seen(starts, pen.seen);
  ctx.beginPath();
  let level = false;
  for (let index = from; index <= to; index++) {
    const value = values[index];
    if (value === null || value === undefined) {
      level = false;
      continue;
    }
    const y = pen.y(value);
    if (level) ctx.lineTo(pen.x(starts[index]!), y);
    else ctx.moveTo(pen.x(starts[index]!), y);
    ctx.lineTo(pen.x(starts[index + 1] ?? end), y);
    level = true;
  }
  ctx.strokeStyle = look.ink;
  ctx.lineWidth = width * scale;
  ctx.lineJoin = "round";
  ctx.setLineDash(look.dash.map((length) => length * scale));
  ctx.stroke();
  ctx.setLineDash([]);
}

/** What an outline is made of: a canvas has it, and the words of an SVG. */
type Sketch = Pick<Path2D, "moveTo" | "lineTo" | "arc" | "rect" | "closePath">;

/** Outlines of the shapes around the origin. */
const OUTLINES: Record<Look["shape"], (path: Sketch, r: number) => void> = {
  circle: (path, r) => path.arc(0, 0, r, 0, 2 * Math.PI),
  ring: (path, r) => path.arc(0, 0, r, 0, 2 * Math.PI),
  square: (path, r) => path.rect(-0.85 * r, -0.85 * r, 1.7 * r, 1.7 * r),
  triangle: (path, r) => polygon(path, 3, r * 1.15),
  diamond: (path, r) => polygon(path, 4, r * 1.15),
  star: (path, r) => polygon(path, 10, r * 1.25, 0.5),
  cross: (path, r) => strokes(path, r * 0.9, Math.PI / 4),
  plus: (path, r) => strokes(path, r, 0),
};

function polygon(path: Sketch, corners: number, r: number, inner = 1): void {
  for (let corner = 0; corner < corners; corner++) {
    const angle = -Math.PI / 2 + (2 * Math.PI * corner) / corners;
    const radius = corner % 2 === 1 ? r * inner : r;
    const [x, y] = [radius * Math.cos(angle), radius * Math.sin(angle)];
    if (corner === 0) path.moveTo(x, y);
    else path.lineTo(x, y);
  }
  path.closePath();
}

function strokes(path: Sketch, r: number, turn: number): void {
  for (const angle of [turn, turn + Math.PI / 2]) {
    path.moveTo(-r * Math.cos(angle), -r * Math.sin(angle));
    path.lineTo(r * Math.cos(angle), r * Math.sin(angle));
  }
}

/** A drive that went in some runs, and the ink of its mark. */
export interface Went {
  drive: number;
  at_s: number;
  ink: string;
}

/** Drives that went in these runs, each once; in the ink of its run where not all runs lost it then. */
export function wentIn(lines: readonly { run: Run; look: Look }[], ink: string): Went[] {
  const found: Went[] = [];
  for (const { run, look } of lines) {
    for (const { drive, at_s } of run.series?.gone ?? []) {
      const same = (other: { drive: number; at_s: number }) => other.drive === drive && other.at_s === at_s;
      const all = lines.every((line) => line.run.series?.gone.some(same));
      if (!found.some((other) => same(other) && (all || other.ink === look.ink))) found.push({ drive, at_s, ink: all ? ink : look.ink });
    }
  }
  return found;
}

/** Marks the instants at which drives went, each with its words where there is room: those of the first on top. */
export function went(pen: Pen, all: readonly Went[], ground: string): void {
  const { ctx, scale, left, right, top, bottom } = pen;
  ctx.save();
  ctx.font = `${11 * scale}px system-ui, sans-serif`;
  ctx.textBaseline = "top";
  all.forEach(({ drive, at_s, ink }, row) => {
    // What went in the warm-up is missing from the start of the axis on.
    const at = Math.round(pen.x(Math.max(at_s, 0)));
    if (at < left - 1 || at > right + 1) return;
    [ctx.strokeStyle, ctx.lineWidth] = [ink, 1.5 * scale];
    ctx.setLineDash([5 * scale, 3 * scale]);
    ctx.beginPath();
    ctx.moveTo(at, top);
    ctx.lineTo(at, bottom);
    ctx.stroke();
    ctx.setLineDash([]);
    const words = `drive ${drive} gone${at_s < 0 ? " before" : ""}`;
    const behind = at + ctx.measureText(words).width + 8 * scale <= right;
    ctx.textAlign = behind ? "left" : "right";
    const place = [at + (behind ? 4 : -4) * scale, top + (2 + 15 * row) * scale] as const;
    [ctx.fillStyle, ctx.strokeStyle, ctx.lineWidth] = [ink, ground, 3 * scale];
    ctx.strokeText(words, ...place);
    ctx.fillText(words, ...place);
  });
  ctx.restore();
}

/** Shapes that are lines alone. */
function isOpen(shape: Look["shape"]): boolean {
  return shape === "cross" || shape === "plus" || shape === "ring";
}

/** A shape as the path of an SVG around the origin, and whether it is lines alone. */
export function outline(shape: Look["shape"], radius: number): { path: string; open: boolean } {
  const words: string[] = [];
  const at = (x: number, y: number) => `${+x.toFixed(2)} ${+y.toFixed(2)}`;
  OUTLINES[shape](
    {
      moveTo: (x, y) => words.push(`M${at(x, y)}`),
      lineTo: (x, y) => words.push(`L${at(x, y)}`),
      // Only whole circles are drawn.
      arc: (x, y, r) => words.push(`M${at(x + r, y)}A${at(r, r)} 0 1 1 ${at(x - r, y)}A${at(r, r)} 0 1 1 ${at(x + r, y)}Z`),
      rect: (x, y, width, height) => words.push(`M${at(x, y)}h${+width.toFixed(2)}v${+height.toFixed(2)}h${+(-width).toFixed(2)}Z`),
      closePath: () => words.push("Z"),
    },
    radius,
  );
  return { path: words.join(""), open: isOpen(shape) };
}

/** A point in a run's shape and ink. */
export function point(pen: Pen, x: number, y: number, look: Look, radius: number, ground: string): void {
  const { ctx, scale } = pen;
  const path = new Path2D();
  OUTLINES[look.shape](path, radius * scale);
  ctx.save();
  ctx.translate(x, y);
  const open = isOpen(look.shape);
  ctx.lineWidth = (open ? 4.5 : 2.5) * scale;
  ctx.strokeStyle = ground;
  ctx.stroke(path);
  if (open) {
    ctx.lineWidth = 2.25 * scale;
    ctx.strokeStyle = look.ink;
    ctx.stroke(path);
  } else {
    ctx.fillStyle = look.ink;
    ctx.fill(path);
  }
  ctx.restore();
}
