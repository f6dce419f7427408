// Where the arm was: every start on the drive, in order, reads and writes apart in ink and in shape.

import { count, percent, span, tick } from "../format";
import type { Run } from "../wire";
import { type Chart, chart, type Extent, type Pen, type Scene } from "./chart";
import { inside, lastAtMost, seen } from "./marks";

export interface Inks {
  read: string;
  write: string;
  path: string;
}

export function arm(element: HTMLElement, label: string): Chart {
  return chart(element, {
    title: `Arm position over time, ${label}`,
    x: { label: "seconds since the start of the measured part", ticks: tick },
    y: { label: "place on the drive, %", ticks: (share) => tick(share * 100) },
    height: 340,
  });
}

/** The part of the drive that the starts of some runs are in, with a margin. */
export function used(runs: readonly Run[]): Extent {
  let [low, high] = [1, 0];
  for (const run of runs) {
    for (const share of run.series?.arm_share ?? []) {
      low = Math.min(low, share);
      high = Math.max(high, share);
    }
  }
  // A single track still needs an axis.
  const margin = Math.max((high - low) * 0.04, 1e-6);
  return [low - margin, high + margin];
}

export function scene(run: Run, y: Extent, inks: Inks): Scene {
  const { arm_s, arm_share, arm_band, arm_write } = run.series!;
  const draw = (pen: Pen) =>
    inside(pen, () => {
      const [from, to] = seen(arm_s, pen.seen);
      path(pen, run, from, to, inks.path);
      for (const write of [false, true]) dots(pen, run, from, to, write, write ? inks.write : inks.read);
    });
  const read = (seconds: number, _y: number, near: (x: number, y: number) => number) => {
    const middle = lastAtMost(arm_s, seconds);
    let best = { index: -1, distance: 24 };
    for (let index = Math.max(0, middle - 60); index < Math.min(arm_s.length, middle + 60); index++) {
      const distance = near(arm_s[index]!, arm_share[index]!);
      if (distance < best.distance) best = { index, distance };
    }
    if (best.index < 0) return null;
    const { index } = best;
    const ink = arm_write[index] ? inks.write : inks.read;
    const at: [number, number] = [arm_s[index]!, arm_share[index]!];
    return {
      title: `${arm_write[index] ? "write" : "read"} at ${span(arm_s[index]!)}`,
      readings: [
        { ink, label: "cylinder", value: count(arm_band[index]!), at },
        { ink, label: "of the blocks", value: percent(arm_share[index]!, 2) },
      ],
    };
  };
  const last = arm_s.at(-1)!;
  const first = arm_s[0]!;
  return { x: [first, last > first ? last : first + 1], y, draw, read };
}

/** The way from start to start, faint. */
function path(pen: Pen, run: Run, from: number, to: number, ink: string): void {
  const { arm_s, arm_share } = run.series!;
  const { ctx } = pen;
  ctx.beginPath();
  for (let index = from; index <= to; index++) ctx.lineTo(pen.x(arm_s[index]!), pen.y(arm_share[index]!));
  ctx.strokeStyle = ink;
  ctx.lineWidth = pen.scale;
  ctx.lineJoin = "round";
  ctx.stroke();
}

/** Reads are discs, writes are open diamonds; both shrink when there are many. */
function dots(pen: Pen, run: Run, from: number, to: number, write: boolean, ink: string): void {
  const { arm_s, arm_share, arm_write } = run.series!;
  const { ctx, scale } = pen;
  const room = (pen.right - pen.left) / scale / Math.max(to - from, 1);
  const r = Math.min(3.2, Math.max(1.3, 0.9 + room)) * scale;
  ctx.beginPath();
  for (let index = from; index <= to; index++) {
    if (arm_write[index] !== write) continue;
    const [x, y] = [pen.x(arm_s[index]!), pen.y(arm_share[index]!)];
    if (write) {
      ctx.moveTo(x, y - 1.3 * r);
      ctx.lineTo(x + 1.3 * r, y);
      ctx.lineTo(x, y + 1.3 * r);
      ctx.lineTo(x - 1.3 * r, y);
      ctx.closePath();
    } else {
      ctx.moveTo(x + r, y);
      ctx.arc(x, y, r, 0, 2 * Math.PI);
    }
  }
  if (write) {
    ctx.strokeStyle = ink;
    ctx.lineWidth = 1.2 * scale;
    ctx.stroke();
  } else {
    ctx.fillStyle = ink;
    ctx.fill();
  }
}
