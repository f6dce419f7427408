// What waits, over the whole run: reads below, writes stacked on them, and where the stretch above lies.

import { quantity, span, tick } from "../format";
import type { ArmInks } from "../view.svelte";
import type { Run } from "../wire";
import { type Chart, chart, type Extent, type Pen, type Scene } from "./chart";
import { endOf } from "./intervals";
import { inside, lastAtMost, seen } from "./marks";

export function queue(element: HTMLElement, label: string): Chart {
  return chart(element, {
    title: `Reads and writes in the system over time, ${label}`,
    x: { label: "since the start of the measured part", short: "since the start", time: 1, unitFirst: true },
    y: { label: "requests", ticks: tick },
    height: 150,
    key: "time",
  });
}

/** Most reads and writes together, over all runs. */
export function deepest(runs: readonly Run[]): Extent {
  let high = 0;
  for (const { series } of runs) {
    series?.queue_read.forEach((reads, at) => (high = Math.max(high, reads + series.queue_write[at]!)));
  }
  return [0, high * 1.06 || 1];
}

export function scene(run: Run, x: Extent, y: Extent, inks: ArmInks, ink: string): Scene {
  const series = run.series!;
  const end = endOf(run);
  const { time_s, queue_read, queue_write } = series;
  const both = queue_read.map((reads, at) => reads + queue_write[at]!);
  const draw = (pen: Pen) =>
    inside(pen, () => {
      area(pen, time_s, end, queue_read.map(() => 0), queue_read, inks.read);
      area(pen, time_s, end, queue_read, both, inks.write);
      if (series.stretch !== null) bracket(pen, series.arm_s[0]!, series.stretch.span_s, ink);
    });
  const read = (seconds: number) => {
    const at = lastAtMost(time_s, seconds);
    if (at < 0 || seconds > end) return null;
    const row = (label: string, of: number[], ink: string) => ({ ink, label, value: quantity(of[at]!) });
    return {
      title: `at ${span(seconds)}`,
      readings: [row("writes", queue_write, inks.write), row("reads", queue_read, inks.read)],
    };
  };
  return { x, y, draw, read };
}

/** Between two step lines. */
function area(pen: Pen, times: number[], end: number, low: number[], high: number[], ink: string): void {
  const { ctx } = pen;
  const [from, to] = seen(times, pen.seen);
  const next = (index: number) => pen.x(times[index + 1] ?? end);
  ctx.beginPath();
  for (let index = from; index <= to; index++) {
    ctx.lineTo(pen.x(times[index]!), pen.y(high[index]!));
    ctx.lineTo(next(index), pen.y(high[index]!));
  }
  for (let index = to; index >= from; index--) {
    ctx.lineTo(next(index), pen.y(low[index]!));
    ctx.lineTo(pen.x(times[index]!), pen.y(low[index]!));
  }
  ctx.closePath();
  ctx.fillStyle = ink;
  ctx.globalAlpha = 0.82;
  ctx.fill();
  ctx.globalAlpha = 1;
}

/** Where the commands of the arm's chart come from. */
function bracket(pen: Pen, begin: number, span: number, ink: string): void {
  const { ctx, scale } = pen;
  const [left, right] = [pen.x(begin), pen.x(begin + span)];
  ctx.beginPath();
  for (const x of [left, right]) {
    ctx.moveTo(x, pen.top);
    ctx.lineTo(x, pen.bottom);
  }
  ctx.strokeStyle = ink;
  ctx.lineWidth = scale;
  ctx.setLineDash([3 * scale, 3 * scale]);
  ctx.stroke();
  ctx.setLineDash([]);
}
