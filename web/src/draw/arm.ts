// The arm's way over the cylinders, command by command: sloped while it seeks, level while it waits for the platter. Reads
// are discs, eager and range writes filled diamonds, writes in place open ones.
//
// What the drive answers from its cache, or does not serve at all, costs no time on the medium: the arm did not go there for it. Such commands are
// strokes at the foot of the picture, where no cylinder is. When the drive writes what its cache has, and where its arm is then, is not recorded: from the
// first write that it has taken on, the way to a command is not known, only that the arm was there while the command was served.

import { count, duration, tick } from "../format";
import type { ArmInks } from "../view.svelte";
import type { Run, Series } from "../wire";
import { type Chart, chart, type Extent, type Pen, type Scene } from "./chart";
import { inside, lastAtMost } from "./marks";

/** Commands of one drive, with times in milliseconds since the stretch began. */
export interface Way {
  start: number[];
  /** The arm begins to move. */
  moves: number[];
  /** It has arrived. */
  there: number[];
  /** The first sector comes by. */
  begins: number[];
  end: number[];
  from: number[];
  to: number[];
  kind: Kind[];
  /** Whether it was answered without the arm. */
  cached: boolean[];
  /** Whether the arm was where the command before has left it. */
  follows: boolean[];
}

export type Kind = "read" | "eager" | "write";
const WORDS: Record<Kind, string> = { read: "read", eager: "eager or range write", write: "write in place" };

/** How far from a mark the cursor still means it, in CSS pixels. */
const REACH = 28;
/** Height of a stroke, in CSS pixels. */
const STROKE = 9;

export function arm(element: HTMLElement, label: string): Chart {
  return chart(element, {
    title: `The arm's way over time, ${label}`,
    x: { label: "since the stretch began", time: 1e-3, unitFirst: true },
    y: { label: "cylinder", ticks: tick, whole: true },
    height: 300,
    key: "arm",
  });
}

/** Drives that a run's commands went to. */
export function drives(runs: readonly Run[]): number[] {
  const all = new Set(runs.flatMap((run) => run.series?.arm_drive ?? []));
  return [...all].sort((one, other) => one - other);
}

/** The drive with most of the commands: the others may stand still. */
export function busiest(runs: readonly Run[]): number {
  const all = runs.flatMap((run) => run.series?.arm_drive ?? []);
  const many = (drive: number) => all.filter((other) => other === drive).length;
  return drives(runs).sort((one, other) => many(other) - many(one))[0] ?? 0;
}

/** Whether a run's drives have arms: they move to a cylinder, or wait for a platter on the first. */
export function hasArm({ series }: Run): boolean {
  return series !== null && [series.arm_cylinder, series.arm_seek_ms, series.arm_rotation_ms].some((list) => list.some((value) => value > 0));
}

/** Whether nothing of a command is time on the medium, although there is an arm. */
function isWithoutArm(series: Series, index: number): boolean {
  return series.arm_seek_ms[index] === 0 && series.arm_rotation_ms[index] === 0 && series.arm_transfer_ms[index] === 0;
}

/** What commands that moved the arm were, of all drives. */
export function withArm(runs: readonly Run[]): Set<Kind> {
  const found = new Set<Kind>();
  for (const { series } of runs) {
    series?.arm_s.forEach((_, index) => {
      if (!isWithoutArm(series, index)) found.add(kindOf(series, index));
    });
  }
  return found;
}

function kindOf(series: Series, index: number): Kind {
  return !series.arm_write[index] ? "read" : series.arm_open[index] ? "eager" : "write";
}

/** Commands of all drives that were answered without the arm, by what they are. */
export function withoutArm(runs: readonly Run[]): { reads: number; writes: number } {
  const found = { reads: 0, writes: 0 };
  for (const { series } of runs) {
    series?.arm_s.forEach((_, index) => {
      if (isWithoutArm(series, index)) found[series.arm_write[index] ? "writes" : "reads"] += 1;
    });
  }
  return found;
}

export function way(series: Series, drive: number): Way {
  const found: Way = { start: [], moves: [], there: [], begins: [], end: [], from: [], to: [], kind: [], cached: [], follows: [] };
  const zero = series.arm_s[0] ?? 0;
  let taken = false;
  /** Where the arm was left, while commands come that do not move it. */
  let left: number | null = null;
  series.arm_s.forEach((second, index) => {
    if (series.arm_drive[index] !== drive) return;
    const start = (second - zero) * 1e3;
    const moves = start + series.arm_overhead_ms[index]!;
    const there = moves + series.arm_seek_ms[index]!;
    const begins = there + series.arm_rotation_ms[index]!;
    found.start.push(start);
    found.moves.push(moves);
    found.there.push(there);
    found.begins.push(begins);
    found.end.push(begins + series.arm_transfer_ms[index]!);
    const isCached = isWithoutArm(series, index);
    found.from.push(isCached ? series.arm_from[index]! : (left ?? series.arm_from[index]!));
    found.to.push(series.arm_cylinder[index]!);
    found.cached.push(isCached);
    taken ||= isCached && series.arm_write[index]!;
    found.follows.push(!taken);
    left = isCached ? (left ?? series.arm_from[index]!) : null;
    found.kind.push(kindOf(series, index));
  });
  return found;
}

/** Margin of a single cylinder, which still needs an axis. */
const BESIDE = 1;

/** The cylinders to which the arm of a drive goes in some runs, with a margin: in a part of the stretch, or where nothing is there in all of it. */
export function used(runs: readonly Run[], drive: number, part: Extent | null): Extent {
  let [low, high] = [Infinity, -Infinity];
  for (const { series } of runs) {
    if (!series) continue;
    const { start, end, from, to, cached, follows } = way(series, drive);
    start.forEach((begin, index) => {
      if (cached[index] || (part && (end[index]! < part[0] || begin > part[1]))) return;
      const cylinders = follows[index] ? [from[index]!, to[index]!] : [to[index]!];
      [low, high] = [Math.min(low, ...cylinders), Math.max(high, ...cylinders)];
    });
  }
  if (low > high) return part ? used(runs, drive, null) : [0, 1];
  const margin = Math.max((high - low) * 0.03, BESIDE);
  return [low - margin, high + margin];
}

/** Places of an axis of cylinders that have words: of a single cylinder that one alone, as nothing was on those beside it. */
export function named([low, high]: Extent): number[] | null {
  return high - low <= 2 * BESIDE ? [(low + high) / 2] : null;
}

/** Milliseconds from a drive's command to its next, on average; null without commands. */
export function pace(run: Run): number | null {
  const { series } = run;
  return series?.stretch ? (series.stretch.span_s * 1e3 * drives([run]).length) / series.arm_s.length : null;
}

/** Whether the arm moved for any command. */
export function anyWay(runs: readonly Run[]): boolean {
  return runs.some(({ series }) => series?.arm_s.some((_, index) => !isWithoutArm(series, index)));
}

/** How long the longest of some stretches is. */
export function longest(runs: readonly Run[]): number {
  return Math.max(...runs.map((run) => (run.series?.stretch?.span_s ?? 0) * 1e3), 1e-3);
}

export function scene(way: Way, x: Extent, y: Extent, inks: ArmInks): Scene {
  const draw = (pen: Pen) =>
    inside(pen, () => {
      const from = Math.max(0, lastAtMost(way.start, pen.seen[0]) - 1);
      const to = Math.min(way.start.length - 1, lastAtMost(way.start, pen.seen[1]) + 1);
      waits(pen, way, from, to, inks.wait);
      path(pen, way, from, to, inks.path);
      for (const kind of ["write", "read", "eager"] as const) {
        marks(pen, way, from, to, kind, kind === "read" ? inks.read : inks.write, inks.ground);
      }
      strokes(pen, way, from, to, inks);
    });
  const read = (ms: number, _y: number, near: (x: number, y: number) => number) => {
    const place = (index: number) => (way.cached[index] ? y[0] : way.to[index]!);
    const middle = lastAtMost(way.begins, ms);
    let best = { index: -1, distance: REACH };
    for (let index = Math.max(0, middle - 60); index < Math.min(way.start.length, middle + 60); index++) {
      const distance = near(way.begins[index]!, place(index));
      if (distance < best.distance) best = { index, distance };
    }
    return best.index < 0 ? null : told(way, best.index, place(best.index), inks);
  };
  const places = named(y);
  return { x, y, draw, read, ...(places ? { named: places } : {}) };
}

function told(way: Way, index: number, height: number, inks: ArmInks): ReturnType<Scene["read"]> {
  const kind = way.kind[index]!;
  const ink = kind === "read" ? inks.read : inks.write;
  const at: [number, number] = [way.begins[index]!, height];
  const [from, to] = [way.from[index]!, way.to[index]!];
  const row = (label: string, value: string) => ({ ink, label, value });
  if (way.cached[index]) {
    return {
      title: `${WORDS[kind]}, answered without the arm at ${duration(way.end[index]!)}`,
      readings: [{ ...row("address on cylinder", count(to)), at }, row("overhead", duration(way.end[index]! - way.start[index]!))],
    };
  }
  const known = way.follows[index]! && from !== to;
  return {
    title: `${WORDS[kind]}, started at ${duration(way.start[index]!)}`,
    readings: [
      { ...row("cylinder", known ? `${count(from)} \u2192 ${count(to)}` : count(to)), at },
      row("overhead", duration(way.moves[index]! - way.start[index]!)),
      row("seek", duration(way.there[index]! - way.moves[index]!)),
      row("rotation", duration(way.begins[index]! - way.there[index]!)),
      row("transfer", duration(way.end[index]! - way.begins[index]!)),
    ],
  };
}

/** Bars where the heads only wait for the platter: time that a write could have used. */
function waits(pen: Pen, way: Way, from: number, to: number, ink: string): void {
  const { ctx, scale } = pen;
  ctx.beginPath();
  for (let index = from; index <= to; index++) {
    if (way.cached[index]) continue;
    const y = pen.y(way.to[index]!);
    ctx.moveTo(pen.x(way.there[index]!), y);
    ctx.lineTo(pen.x(way.begins[index]!), y);
  }
  ctx.strokeStyle = ink;
  ctx.lineWidth = 7 * scale;
  ctx.stroke();
}

function path(pen: Pen, way: Way, from: number, to: number, ink: string): void {
  const { ctx } = pen;
  ctx.beginPath();
  for (let index = from; index <= to; index++) {
    if (way.cached[index]) continue;
    const [before, after] = [pen.y(way.from[index]!), pen.y(way.to[index]!)];
    if (way.follows[index]) {
      ctx.lineTo(pen.x(way.start[index]!), before);
      ctx.lineTo(pen.x(way.moves[index]!), before);
    } else {
      ctx.moveTo(pen.x(way.there[index]!), after);
    }
    ctx.lineTo(pen.x(way.there[index]!), after);
    ctx.lineTo(pen.x(way.end[index]!), after);
  }
  ctx.strokeStyle = ink;
  ctx.lineWidth = 1.1 * pen.scale;
  ctx.lineJoin = "round";
  ctx.stroke();
}

/** Marks where the transfer begins; smaller when there are many. */
function marks(pen: Pen, way: Way, from: number, to: number, kind: Kind, ink: string, ground: string): void {
  const { ctx, scale } = pen;
  const room = (pen.right - pen.left) / scale / Math.max(to - from, 1);
  const r = Math.min(4, Math.max(1.4, 0.9 + room * 0.45)) * scale;
  ctx.beginPath();
  for (let index = from; index <= to; index++) {
    if (way.kind[index] !== kind || way.cached[index]) continue;
    const [x, y] = [pen.x(way.begins[index]!), pen.y(way.to[index]!)];
    if (kind === "read") {
      ctx.moveTo(x + r, y);
      ctx.arc(x, y, r, 0, 2 * Math.PI);
    } else {
      diamond(ctx, x, y, 1.3 * r);
    }
  }
  if (kind === "write") {
    ctx.strokeStyle = ink;
    ctx.lineWidth = 1.3 * scale;
    ctx.stroke();
    return;
  }
  // A thin halo keeps marks apart that touch.
  ctx.strokeStyle = ground;
  ctx.lineWidth = 1.2 * scale;
  if (r > 2 * scale) ctx.stroke();
  ctx.fillStyle = ink;
  ctx.fill();
}

/** Strokes at the foot: what was answered without the arm, when it was. */
function strokes(pen: Pen, way: Way, from: number, to: number, inks: ArmInks): void {
  const { ctx, scale, bottom } = pen;
  for (const isRead of [true, false]) {
    ctx.beginPath();
    for (let index = from; index <= to; index++) {
      if (!way.cached[index] || (way.kind[index] === "read") !== isRead) continue;
      const x = pen.x(way.end[index]!);
      ctx.moveTo(x, bottom + 2 * scale);
      ctx.lineTo(x, bottom - STROKE * scale);
    }
    ctx.strokeStyle = isRead ? inks.read : inks.write;
    ctx.lineWidth = 1.5 * scale;
    ctx.stroke();
  }
}

function diamond(ctx: CanvasRenderingContext2D, x: number, y: number, r: number): void {
  ctx.moveTo(x, y - r);
  ctx.lineTo(x + r, y);
  ctx.lineTo(x, y + r);
  ctx.lineTo(x - r, y);
  ctx.closePath();
}
