// Where requests begin over time: a cell for each interval and row of addresses, the darker the more requests.

import { bytes, count, quantity, tick, type Unit } from "../format";
import type { HeatMap } from "../inspection";
import type { Rgb } from "../view.svelte";
import { type Chart, chart, type Extent, type Pen, type Scene } from "./chart";
import { inside } from "./marks";
import { css, shade } from "./space";

export type Mode = "both" | "reads" | "writes";

/** The lightest shade: one request must differ from none. */
const FAINTEST = 0.3;

export function heat(element: HTMLElement, map: HeatMap, time: Unit, address: Unit, small: boolean): Chart {
  return chart(element, {
    title: `Requests by address and time on ${map.device}`,
    x: { label: `${time.name} since the first request`, ticks: tick },
    y: { label: `address, ${address.name}`, ticks: tick },
    height: small ? 210 : 300,
    key: "trace",
    rows: true,
  });
}

/** First byte behind the highest row. */
export function endOf(map: HeatMap): number {
  return map.from_bytes + map.rows * map.row_bytes;
}

/** Requests of a cell. */
export function requests({ cells }: HeatMap, mode: Mode, cell: number): number {
  const [reads, writes] = [cells.reads[cell]!, cells.writes[cell]!];
  return mode === "reads" ? reads : mode === "writes" ? writes : reads + writes;
}

/** Most requests that any cell has; one scale for all maps and modes. */
export function most(maps: readonly HeatMap[]): number {
  return maps.reduce((high, map) => map.cells.row.reduce((high, _, cell) => Math.max(high, requests(map, "both", cell)), high), 1);
}

/** Where a number of requests lies between the faintest shade and the strongest: by its logarithm, since cells differ by powers of ten. */
export function strength(found: number, most: number): number {
  return FAINTEST + (most > 1 ? Math.log(found) / Math.log(most) : 1) * (1 - FAINTEST);
}

export function scene(
  map: HeatMap,
  mode: Mode,
  axes: { interval_s: number; columns: number; length: number; time: Unit; address: Unit },
  most: number,
  ramp: readonly Rgb[],
  inks: { read: string; write: string },
): Scene {
  const { cells, from_bytes, row_bytes } = map;
  const { time, address } = axes;
  const width = axes.interval_s / time.size;
  const bottom = (row: number) => (from_bytes + row * row_bytes) / address.size;
  // The trace ends within the last interval.
  const end = Math.min(axes.columns * width, axes.length / time.size);
  const x: Extent = [0, end || width || 1];
  const cellAt = new Map(cells.row.map((row, cell) => [cells.column[cell]! * map.rows + row, cell]));
  const draw = (pen: Pen) =>
    inside(pen, () => {
      const { ctx } = pen;
      for (let cell = 0; cell < cells.row.length; cell++) {
        const found = requests(map, mode, cell);
        if (found === 0) continue;
        const [column, row] = [cells.column[cell]!, cells.row[cell]!];
        // Whole pixels, so that no seam shows between cells; at least two, so that a lonely one is seen.
        const [left, right] = [Math.round(pen.x(column * width)), Math.round(pen.x((column + 1) * width))];
        const [top, foot] = [Math.round(pen.y(bottom(row + 1))), Math.round(pen.y(bottom(row)))];
        const least = Math.round(2 * pen.scale);
        ctx.fillStyle = css(shade(ramp, strength(found, most)));
        ctx.fillRect(left, top, Math.max(right - left, least), Math.max(foot - top, least));
      }
    });
  const read = (at: number, y: number) => {
    const [column, row] = [Math.floor(at / width), Math.floor((y * address.size - from_bytes) / row_bytes)];
    if (column < 0 || column >= axes.columns || row < 0 || row >= map.rows) return null;
    const cell = cellAt.get(column * map.rows + row);
    const [reads, writes] = cell === undefined ? [0, 0] : [cells.reads[cell]!, cells.writes[cell]!];
    const from = from_bytes + row * row_bytes;
    return {
      title: `${quantity(column * width)} to ${quantity(Math.min((column + 1) * width, x[1]))} ${time.name}, ${bytes(from)} to ${bytes(from + row_bytes)}`,
      readings: [
        { ink: inks.read, label: "reads", value: count(reads) },
        { ink: inks.write, label: "writes", value: count(writes) },
      ],
    };
  };
  return { x, y: [bottom(0), bottom(map.rows)], draw, read };
}
