// A chart: uPlot gives axes, grid, cursor and zoom; the marks are drawn by a function of ours on the same canvas, since
// every run has its own points. Drag zooms along x, a double click or Escape goes back; arrow keys move the cursor.

import uPlot from "uplot";

import { axisUnit, tick } from "../format";
import "./chart.css";

/** Smallest and largest value. */
export type Extent = [number, number];

/** A line of the read-out. */
export interface Reading {
  ink: string;
  label: string;
  value: string;
  /** Where a dot marks it, in units of the axes. */
  at?: [number, number];
}

/** What the cursor says. */
export interface Readout {
  title: string;
  readings: Reading[];
}

export interface AxisOptions {
  /** What it measures; of a time in words that follow its unit, as in `seconds since the start`. */
  label: string;
  /** How many seconds its values are, where they are times: the unit is then chosen by the part that is seen. */
  time?: number;
  /** Whether the unit stands before the label, in full, not behind it. */
  unitFirst?: boolean;
  /** The label where the chart has no room for the whole of it. */
  short?: string;
  log?: boolean;
  ticks?: (value: number) => string;
  /** Ticks at these places only. */
  at?: number[];
  /** Whether there is nothing between its whole numbers, nor below 0. */
  whole?: boolean;
}

export interface ChartOptions {
  /** What a listener hears. */
  title: string;
  x: AxisOptions;
  y: AxisOptions;
  height: number;
  /** Charts of one key share their cursor. */
  key?: string;
  /** What is read depends on the height of the cursor too, so that arrow keys move it up and down. */
  rows?: boolean;
}

/** What changes with the data, the runs shown and the theme. */
export interface Scene {
  x: Extent;
  y: Extent;
  draw: (pen: Pen) => void;
  /** The only places of the y axis that have words, where not all have. */
  named?: readonly number[];
  /** What is near the cursor, given in units of the axes. */
  read: (x: number, y: number, near: (x: number, y: number) => number) => Readout | null;
}

/** Where marks are drawn, in units of the axes. */
export interface Pen {
  ctx: CanvasRenderingContext2D;
  x: (value: number) => number;
  y: (value: number) => number;
  /** Device pixels of a CSS pixel. */
  scale: number;
  /** The part of the x axis that is seen. */
  seen: Extent;
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export interface Chart {
  show: (scene: Scene) => void;
  /** Zooms to a part of the x axis. */
  look: (part: Extent) => void;
  destroy: () => void;
}

/** Room around the axes, in CSS pixels. */
const PADDING = { top: 10, right: 22 };

/** Height of a line of the read-out, and of all that is not a line, in CSS pixels. */
const READING = { line: 19, rest: 60 };

/** Makes an empty chart that fills `element`. */
export function chart(element: HTMLElement, options: ChartOptions): Chart {
  let scene: Scene | null = null;
  const readout = new ReadoutBox(Math.floor((options.height - READING.rest) / READING.line));
  const color = (name: string) => getComputedStyle(element).getPropertyValue(name).trim();
  const plot = new uPlot(settings(element, options, color, () => scene, readout), [[], []], element);
  readout.attach(plot.over);
  describe(plot, element, options.title);
  const look = ([min, max]: Extent) => plot.setScale("x", { min, max });
  const keys = (event: KeyboardEvent) => steer(plot, options, event, scene?.x);
  element.addEventListener("keydown", keys);
  const fit = () => {
    if (element.clientWidth > 0) plot.setSize({ width: element.clientWidth, height: options.height });
  };
  const watch = new ResizeObserver(fit);
  watch.observe(element);
  addEventListener("beforeprint", fit);
  addEventListener("afterprint", fit);

  function show(next: Scene): void {
    const sameX = scene !== null && scene.x[0] === next.x[0] && scene.x[1] === next.x[1];
    const seen: Extent = sameX ? [plot.scales["x"]!.min!, plot.scales["x"]!.max!] : next.x;
    scene = next;
    readout.hide();
    plot.batch(() => {
      plot.setData([next.x, next.y], false);
      look(seen);
      plot.setScale("y", { min: next.y[0], max: next.y[1] });
    });
    plot.redraw(false, true);
  }
  function destroy(): void {
    watch.disconnect();
    removeEventListener("beforeprint", fit);
    removeEventListener("afterprint", fit);
    element.removeEventListener("keydown", keys);
    plot.destroy();
  }
  return { show, look, destroy };
}

function settings(
  element: HTMLElement,
  options: ChartOptions,
  color: (name: string) => string,
  scene: () => Scene | null,
  readout: ReadoutBox,
): uPlot.Options {
  const font = `11px ${getComputedStyle(element).fontFamily}`;
  const widthOf = (plot: uPlot, text: string) => {
    const { font: before } = plot.ctx;
    plot.ctx.font = font;
    const { width } = plot.ctx.measureText(text);
    plot.ctx.font = before;
    return width;
  };
  /** What an axis measures, in as many words as there is room for: they stand in the middle of it, and may be as wide as the room beside it allows. */
  const measures = (plot: uPlot, at: number, which: AxisOptions) => {
    const words = (label: string) => (which.time ? timeLabel(plot, at, { ...which, label }) : label);
    const { width, height } = plot.bbox;
    const room = at === 0 ? width / devicePixelRatio + 2 * PADDING.right : height / devicePixelRatio + 2 * PADDING.top;
    const whole = words(which.label);
    return which.short && widthOf(plot, whole) > room ? words(which.short) : whole;
  };
  const axis = (which: AxisOptions, size: number): uPlot.Axis => ({
    stroke: () => color("--ink-2"),
    grid: { stroke: () => color("--grid"), width: 1 },
    ticks: { show: false },
    border: { show: false },
    font,
    labelFont: font,
    // Without words, an axis is only the foot of its grid.
    ...(which.label ? { label: (plot: uPlot, at: number) => measures(plot, at, which), labelSize: 18, labelGap: 0, gap: 6, size: (plot: uPlot, values: string[] | null, at: number) => (at === 0 ? size : Math.max(size, ...(values ?? []).map((value) => widthOf(plot, value) + BESIDE))) } : { size: 12 }),
    values: (plot: uPlot, splits: (number | null)[], at: number) => {
      const named = at === 0 ? undefined : scene()?.named;
      const all = which.time ? timeTicks(plot, splits, at, which) : splits.map((value) => label(which, value));
      const words = all.map((word, index) => (named?.includes(splits[index]!) === false ? "" : word));
      return apart(words, splits, (value) => plot.valToPos(value, at === 0 ? "x" : "y"), (word) => (at === 0 ? widthOf(plot, word) + GAP : LINE));
    },
    ...(which.whole ? { incrs: WHOLE } : {}),
    ...(which.time && !which.log ? { incrs: (_plot: uPlot, _at: number, low: number, high: number) => timeSteps(low, high, which.time!) } : {}),
    ...(which.at ? { splits: () => which.at!, filter: (_plot: uPlot, splits: number[]) => splits } : {}),
    ...(which.log && !which.at ? { splits: logSplits, filter: logLabels } : {}),
  });
  return {
    width: Math.max(element.clientWidth, 100),
    height: options.height,
    legend: { show: false },
    padding: [PADDING.top, PADDING.right, 0, 0],
    scales: {
      x: { time: false, distr: options.x.log ? 3 : 1, range: (_plot, low, high) => [low, high] },
      // Zooming along x leaves y alone.
      y: { distr: options.y.log ? 3 : 1, range: () => scene()?.y ?? [0.1, 1] },
    },
    axes: [axis(options.x, 30), axis(options.y, 50)],
    series: [{}, { show: true, paths: () => null, points: { show: false } }],
    cursor: {
      points: { show: false },
      y: false,
      drag: { x: true, y: false, setScale: true },
      ...(options.key ? { sync: { key: options.key, scales: ["x", null] as [string, null] } } : {}),
    },
    hooks: {
      draw: [(plot) => scene()?.draw(penOf(plot))],
      setCursor: [(plot) => readout.follow(plot, scene())],
    },
  };
}

/** Up to this ratio of the greatest value to the least, a decade has too few round numbers: even steps are better. */
const EVEN_MAX = 4;

/** Pixels of an axis that a label takes, with the gap beside it. */
const LABEL = { x: 90, y: 40 };

function labelsMax(plot: uPlot, axis: number): number {
  return axis === 0 ? plot.width / LABEL.x : plot.height / LABEL.y;
}

/** Lines at 1 to 9 of each decade; at even steps where there is no decade. */
export function logSplits(plot: uPlot, axis: number, low: number, high: number): number[] {
  if (high / low < EVEN_MAX) return evenSplits(low, high, labelsMax(plot, axis));
  const splits: number[] = [];
  for (let decade = Math.floor(Math.log10(low)); 10 ** decade <= high; decade++) {
    for (let mantissa = 1; mantissa <= 9; mantissa++) splits.push(Number(`${mantissa}e${decade}`));
  }
  return splits.filter((value) => value >= low && value <= high);
}

/** About so many round numbers in a range, a step apart. */
function evenSplits(low: number, high: number, count: number): number[] {
  const least = (high - low) / (Math.max(count, 2) + 1);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * ([1, 2, 5].find((times) => times * power >= least) ?? 10);
  const [first, last] = [Math.ceil(low / step), Math.floor(high / step)];
  return Array.from({ length: Math.max(last - first + 1, 0) }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

/** Labels at as many of them as there is room for. */
export function logLabels(plot: uPlot, splits: number[], axis: number): (number | null)[] {
  const scale = plot.scales[axis === 0 ? "x" : "y"]!;
  if (scale.max! / scale.min! < EVEN_MAX) return splits;
  const span = Math.log10(scale.max! / scale.min!);
  const room = labelsMax(plot, axis) / span;
  const wanted = room > 8 ? "123456789" : room > 4 ? "12357" : room > 2 ? "125" : "1";
  return splits.map((value) => (wanted.includes(value.toExponential()[0]!) ? value : null));
}

/** Between two words along an axis, the height of a line of them, and between the words of an axis and what it measures, in CSS pixels. */
const GAP = 8;
const LINE = 13;
const BESIDE = 14;

/** Steps between whole numbers. */
const WHOLE = Array.from({ length: 15 }, (_, power) => [1, 2, 5].map((times) => times * 10 ** power)).flat();

/** How round a number is: the less, the rounder. */
function roundness(value: number): number {
  const digits = Number(Math.abs(value).toExponential(5).split("e")[0]);
  const order = [0, 1, 5, 2, 3, 7].indexOf(digits);
  return order < 0 ? 9 : order;
}

/** Words of an axis without those that would touch others: of two the one at the rounder number stays. */
export function apart(words: readonly string[], splits: readonly (number | null)[], place: (value: number) => number, size: (word: string) => number): string[] {
  const kept: [from: number, to: number][] = [];
  const order = words.flatMap((word, index) => (word && splits[index] !== null ? [index] : []));
  // Equally round ones go by their order, so that every second one stays, not two beside each other.
  order.sort((one, other) => roundness(splits[one]!) - roundness(splits[other]!) || one - other);
  const shown = words.map(() => "");
  for (const index of order) {
    const [middle, half] = [place(splits[index]!), size(words[index]!) / 2];
    if (kept.some(([from, to]) => middle - half < to && from < middle + half)) continue;
    kept.push([middle - half, middle + half]);
    shown[index] = words[index]!;
  }
  return shown;
}

function label(axis: AxisOptions, value: number | null): string {
  return value === null || value === undefined || (axis.whole && value < 0) ? "" : axis.ticks ? axis.ticks(value) : String(value);
}

/** The part of an axis that is seen, in seconds. */
function seconds(plot: uPlot, axis: number, time: number): Extent {
  const { min, max } = plot.scales[axis === 0 ? "x" : "y"]!;
  return [(min ?? 0) * time, (max ?? 1) * time];
}

/** A logarithmic axis has a unit beside each of its ticks. */
function timeLabel(plot: uPlot, axis: number, { label, log, time, unitFirst }: AxisOptions): string {
  if (log) return label;
  const unit = axisUnit(...seconds(plot, axis, time!));
  return unitFirst ? `${unit.name} ${label}` : `${label}, ${unit.short}`;
}

function timeTicks(plot: uPlot, splits: (number | null)[], axis: number, { label, log, time, ticks }: AxisOptions): string[] {
  const unit = axisUnit(...seconds(plot, axis, time!));
  return splits.map((value) => {
    if (value === null || value === undefined || !label) return "";
    if (log) return ticks!(value);
    return tick((value * time!) / unit.size);
  });
}

/** Steps that are round in the unit of the axis. */
export function timeSteps(low: number, high: number, time: number): number[] {
  const unit = axisUnit(low * time, high * time).size / time;
  const powers = Array.from({ length: 13 }, (_, index) => index - 6);
  return powers.flatMap((power) => [1, 2, 2.5, 5].map((times) => Number((times * 10 ** power * unit).toPrecision(12))));
}

function penOf(plot: uPlot): Pen {
  const { left, top, width, height } = plot.bbox;
  return {
    ctx: plot.ctx,
    x: (value) => plot.valToPos(value, "x", true),
    y: (value) => plot.valToPos(value, "y", true),
    scale: devicePixelRatio,
    seen: [plot.scales["x"]!.min!, plot.scales["x"]!.max!],
    left,
    right: left + width,
    top,
    bottom: top + height,
  };
}

function describe(plot: uPlot, element: HTMLElement, title: string): void {
  element.tabIndex = 0;
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", `${title}. Arrow keys read values, plus and minus zoom, Escape shows all.`);
  plot.root.setAttribute("aria-hidden", "true");
}

/** Keys do what the mouse does, in all charts that share the cursor. */
function steer(plot: uPlot, options: ChartOptions, event: KeyboardEvent, whole: Extent | undefined): void {
  const { key } = options;
  const plots = key ? uPlot.sync(key).plots : [plot];
  const width = plot.over.clientWidth;
  const left = plot.cursor.left !== undefined && plot.cursor.left >= 0 ? plot.cursor.left : width / 2;
  const height = plot.over.clientHeight;
  const top = plot.cursor.top !== undefined && plot.cursor.top >= 0 ? plot.cursor.top : height / 2;
  const step = event.shiftKey ? width / 10 : width / 80;
  const rise = event.shiftKey ? height / 10 : height / 80;
  const move = (to: number, up = top) => {
    const inside = Math.min(Math.max(to, 0), width - 1);
    // Charts that share the cursor may differ in height.
    const part = Math.min(Math.max(up / height, 0), 1);
    for (const one of plots) one.setCursor({ left: inside, top: part * (one.over.clientHeight - 1) });
  };
  const see = ([min, max]: Extent) => {
    for (const one of plots) one.setScale("x", { min, max });
  };
  const zoom = () => {
    const [from, to] = [left / 2, left / 2 + width / 2];
    see([plot.posToVal(from, "x"), plot.posToVal(to, "x")]);
  };
  const all = () => whole && see(whole);
  const acts: Record<string, () => void> = {
    ArrowLeft: () => move(left - step),
    ArrowRight: () => move(left + step),
    ...(options.rows ? { ArrowUp: () => move(left, top - rise), ArrowDown: () => move(left, top + rise) } : {}),
    Home: () => move(0),
    End: () => move(width - 1),
    "+": zoom,
    "=": zoom,
    "-": all,
    Escape: all,
  };
  const act = acts[event.key];
  if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  act();
}

/** The box beside the cursor. Words go in as text, never as markup. */
class ReadoutBox {
  readonly box = document.createElement("div");
  readonly dots: HTMLElement[] = [];
  #over: HTMLElement | null = null;
  readonly #rowsMax: number;

  constructor(rowsMax: number) {
    this.#rowsMax = rowsMax;
  }

  attach(over: HTMLElement): void {
    this.box.className = "readout";
    this.#over = over;
    over.append(this.box);
    this.hide();
  }

  hide(): void {
    this.box.hidden = true;
    for (const dot of this.dots) dot.hidden = true;
  }

  follow(plot: uPlot, scene: Scene | null): void {
    const { left = -1, top = -1 } = plot.cursor;
    if (scene === null || left < 0) return this.hide();
    const near = (x: number, y: number) => {
      const dx = plot.valToPos(x, "x") - left;
      const dy = plot.valToPos(y, "y") - top;
      return Math.hypot(dx, dy);
    };
    const readout = scene.read(plot.posToVal(left, "x"), plot.posToVal(top, "y"), near);
    if (readout === null) return this.hide();
    this.#fill(readout);
    this.#mark(plot, readout.readings);
    this.box.hidden = false;
    const width = this.box.offsetWidth;
    const room = plot.over.clientWidth;
    const beside = left + 16 + width <= room ? left + 16 : left - 16 - width;
    this.box.style.transform = `translate(${Math.max(0, Math.min(beside, room - width))}px, 8px)`;
  }

  #fill({ title, readings }: Readout): void {
    const head = document.createElement("div");
    head.className = "readout-title";
    head.textContent = title;
    const rows = readings.slice(0, this.#rowsMax).map((reading) => {
      const row = document.createElement("div");
      row.className = "readout-row";
      const key = document.createElement("i");
      key.style.background = reading.ink;
      const name = document.createElement("span");
      name.textContent = reading.label;
      const value = document.createElement("b");
      value.textContent = reading.value;
      row.append(key, name, value);
      return row;
    });
    const more = document.createElement("div");
    more.className = "readout-more";
    more.textContent = `and ${readings.length - this.#rowsMax} more`;
    this.box.replaceChildren(head, ...rows, ...(readings.length > this.#rowsMax ? [more] : []));
  }

  #mark(plot: uPlot, readings: Reading[]): void {
    while (this.dots.length < readings.length) {
      const dot = document.createElement("span");
      dot.className = "dot";
      this.dots.push(dot);
      this.#over?.append(dot);
    }
    this.dots.forEach((dot, index) => {
      const reading = readings[index];
      dot.hidden = reading?.at === undefined;
      if (reading?.at === undefined) return;
      const [x, y] = [plot.valToPos(reading.at[0], "x"), plot.valToPos(reading.at[1], "y")];
      dot.style.transform = `translate(${x}px, ${y}px)`;
      dot.style.background = reading.ink;
      const { clientWidth, clientHeight } = plot.over;
      if (x < 0 || y < -1 || x > clientWidth || y > clientHeight + 1) dot.hidden = true;
    });
  }
}
