import { readFileSync } from "node:fs";

import type uPlot from "uplot";
import { describe, expect, test } from "vitest";

import { type FreeSpace, parse, type Payload, type Run } from "../wire";
import { anyWay, busiest, drives, longest, named, pace, scene as armScene, used, way, withArm, withoutArm } from "./arm";
import { apart, logLabels, logSplits, timeSteps } from "./chart";
import { outline, scene as distributionScene } from "./distribution";
import { closest, ends, extents } from "./figure";
import { scene as heatScene, most, requests, strength } from "./heat";
import { endOf, intervals, rates, wholeTime } from "./intervals";
import { outline as outlineOf, steps, wentIn } from "./marks";
import { decades } from "./octaves";
import { aboveAxis, QUANTITIES, reach } from "./overtime";
import { deepest } from "./queue";
import { range, shade, value } from "./space";
import { away, crosses, scene as tradeoffScene } from "./tradeoff";

const read = (name: string) => parse(readFileSync(new URL(`../../fixtures/${name}.json`, import.meta.url), "utf8"));
const runs: Run[] = (read("results") as { report: Payload }).report.results.runs;
const [linear, eager] = [runs[2]!, runs[4]!];

describe("drives that went", () => {
  const look = (ink: string) => ({ ink, dash: [], shape: "circle" as const });
  const line = (ink: string, gone: { drive: number; at_s: number }[]) => ({ run: { ...linear, series: { ...linear.series!, gone } }, look: look(ink) });
  const [first, second] = [{ drive: 1, at_s: 2.5 }, { drive: 0, at_s: -1 }];
  test("are marked once where all runs lost them, and in the ink of their run where not", () => {
    expect(wentIn([line("red", [first]), line("blue", [first])], "ink")).toEqual([{ ...first, ink: "ink" }]);
    expect(wentIn([line("red", [first, second]), line("blue", [first])], "ink")).toEqual([{ ...first, ink: "ink" }, { ...second, ink: "red" }]);
    expect(wentIn([line("red", []), line("blue", [first])], "ink")).toEqual([{ ...first, ink: "blue" }]);
    expect(wentIn([line("red", [])], "ink")).toEqual([]);
  });
  test("have room for their words above what is drawn", () => {
    const alone = reach([line("red", [])], "rate_rps").top;
    expect(reach([line("red", [first])], "rate_rps").top).toBeGreaterThan(1.3 * alone);
  });
});

test("a legend has marks for what there is", () => {
  const kinds = (run: Run) => [...withArm([run])].sort();
  expect(kinds(linear)).toEqual(["read", "write"]);
  expect(kinds(eager)).toContain("eager");
  const reads = { ...linear, series: { ...linear.series!, arm_write: linear.series!.arm_write.map(() => false) } };
  expect(kinds(reads)).toEqual(["read"]);
  const shapes = ["circle", "ring", "square", "triangle", "diamond", "star", "cross", "plus"] as const;
  const paths = shapes.map((shape) => outlineOf(shape, 4));
  expect(new Set(paths.map(({ path }) => path)).size).toBe(shapes.length - 1);
  for (const { path } of paths) expect(path).toMatch(/^M[-0-9. ]+[LAh][-0-9. MLAhvZ]+$/);
  expect(shapes.filter((_, index) => paths[index]!.open)).toEqual(["ring", "cross", "plus"]);
});

describe("the course over time", () => {
  const look = { ink: "#000000", dash: [], shape: "circle" } as const;
  const lines = (response_ms: (number | null)[]) => [{ run: { ...linear, series: { ...linear.series!, response_ms } }, look: { ...look, dash: [] } }];
  test("is not flattened by a single interval", () => {
    const usual = Array.from({ length: 199 }, (_, index) => 10 + (index % 2));
    expect(reach(lines([...usual, null, 36_000]), "response_ms")).toEqual({ top: 22, above: 1, most: 36_000 });
    expect(aboveAxis(lines([...usual, 36_000]), QUANTITIES[1]!)).toContain("1 interval lies above this axis, up to 36");
  });
  test("is drawn whole where nothing stands out", () => {
    const { top, above, most } = reach(lines([10, 20, null, 49]), "response_ms");
    expect([above, most]).toEqual([0, 49]);
    expect(top).toBeGreaterThan(49);
    expect(aboveAxis(lines([10, 20]), QUANTITIES[1]!)).toBeNull();
    expect(reach([], "queue").top).toBe(1);
  });
  test("leaves room for the words of a start above what is drawn", () => {
    const [line] = lines([10, 50]);
    const { run } = line!;
    const starting = { ...line!, run: { ...run, series: { ...run.series, startups: [{ began_s: 0, up_s: 1 }] } } };
    expect(reach([line!], "response_ms").top).toBeCloseTo(53, 9);
    // A quarter of the height at least.
    expect(50 / reach([starting], "response_ms").top).toBeLessThan(0.75);
  });
});

describe("a label of throughput against latency", () => {
  const box = { left: 10, right: 20, top: 10, bottom: 20 };
  test("is crossed by lines that go through it, and by no other", () => {
    const through: [number, number, number, number][] = [[0, 15, 30, 15], [15, 0, 15, 30], [0, 0, 30, 30], [12, 12, 14, 18]];
    const past: [number, number, number, number][] = [[0, 5, 30, 5], [25, 0, 25, 30], [0, 25, 9, 15], [0, 0, 8, 8], [15, 0, 15, 9], [0, 18, 18, 36]];
    const of = (lines: typeof through) => lines.map(([fromX, fromY, toX, toY]) => crosses(box, [fromX, fromY], [toX, toY]));
    expect(of(through)).toEqual(through.map(() => true));
    expect(of(past)).toEqual(past.map(() => false));
  });

  test("stands on no interval, be it the own one, and on no line", () => {
    const run = (throughput_rps: number, mean: number, ci95: [number, number] | null) => ({ ...linear, throughput_rps, response_ms: { ...linear.response_ms, mean, ci95 } });
    const look = { ink: "#000", dash: [], shape: "circle" as const };
    /** Where labels stand on a chart of 200 by 200 pixels, each 60 wide and 16 high. */
    const written = (traces: Parameters<typeof tradeoffScene>[0]) => {
      const found: [string, number, number][] = [];
      const nothing = () => {};
      const ctx = new Proxy({}, { get: (_, key) => (key === "measureText" ? () => ({ width: 60 }) : key === "fillText" ? (name: string, x: number, y: number) => found.push([name, x, y]) : nothing), set: () => true });
      const pen = { ctx, x: (value: number) => value, y: (value: number) => 200 - value, scale: 1, seen: [0, 200], left: 0, right: 200, top: 0, bottom: 200 };
      // Points need a browser: there are none here.
      Object.assign(globalThis, { Path2D: class { arc() {} } });
      tradeoffScene(traces, traces.flatMap(({ runs }) => runs), "", "").draw(pen as unknown as Parameters<ReturnType<typeof tradeoffScene>["draw"]>[0]);
      return found.map(([name, x, y]) => ({ name, left: x, right: x + 60, top: y - 8, bottom: y + 8 }));
    };
    // Neither right nor left of the first point is room, above and below it is its interval.
    const labels = written([{ name: "alone", look, runs: [run(30, 100, [60, 140])] }, { name: "wall", look, runs: [run(90, 30, [20, 180])] }]);
    expect(labels).toHaveLength(2);
    for (const label of labels) {
      expect(crosses(label, [30, 60], [30, 140])).toBe(false);
      expect(crosses(label, [90, 20], [90, 180])).toBe(false);
    }
    // Of points one above the other each name stands beside its own, or nowhere.
    const means = { first: 100, second: 112, third: 118, fourth: 40 };
    const column = written(Object.entries(means).map(([name, mean]) => ({ name, look, runs: [run(100, mean, null)] })));
    expect(column.map(({ name }) => name)).toContain("fourth");
    expect(column.length).toBeLessThan(4);
    for (const label of column) {
      const near = Object.entries(means).sort(([, one], [, other]) => away(label, [100, 200 - one]) - away(label, [100, 200 - other]));
      expect(near[0]![0]).toBe(label.name);
    }
    // The line comes from the left, and there is no room to the right.
    const [joined] = written([{ name: "joined", look, runs: [run(20, 100, null), run(180, 100, null)] }]);
    expect(crosses(joined!, [20, 100], [180, 100])).toBe(false);
  });
});

describe("the last interval", () => {
  test("of a run ends with the run", () => {
    const last = linear.series!.time_s.at(-1)!;
    expect(endOf({ ...linear, duration_s: last + 0.3 })).toBe(last + 0.3);
    // Of a run that was cut short nothing says when: it is as long as the one before.
    expect(endOf({ ...linear, duration_s: 0 })).toBeCloseTo(2 * last - linear.series!.time_s.at(-2)!, 9);
    expect(wholeTime([{ ...linear, duration_s: last + 1 }, { ...linear, duration_s: last + 3 }])).toEqual([0, last + 3]);
    expect(wholeTime([])).toEqual([0, 1]);
  });

  test("is drawn as long as it is", () => {
    const drawn: [string, number, number][] = [];
    const note = (what: string) => (x: number, y: number) => drawn.push([what, x, y]);
    const ctx = { beginPath() {}, stroke() {}, setLineDash() {}, moveTo: note("move"), lineTo: note("line") };
    const same = (value: number) => value;
    const pen = { ctx, x: same, y: same, scale: 1, seen: [0, 10] } as unknown as Parameters<typeof steps>[0];
    steps(pen, [0, 1, 2, 3], 3.25, [5, null, 7, 9], { ink: "", dash: [], shape: "circle" });
    expect(drawn).toEqual([["move", 0, 5], ["line", 1, 5], ["move", 2, 7], ["line", 3, 7], ["line", 3, 9], ["line", 3.25, 9]]);
  });

  test("of a trace has the rate of the part that is there, and none where that is less than half", () => {
    // Ten requests in each second, six in the last 0.6 s.
    const part = intervals(3, 1, 2.6);
    expect([part.end, part.left]).toEqual([2.6, 0]);
    expect(rates([10, 10, 6], part)[2]).toBeCloseTo(10, 9);
    const rest = intervals(3, 1, 2.1);
    expect(rest.starts).toEqual([0, 1]);
    expect([rest.end, rest.factor]).toEqual([2, 1]);
    expect(rest.left).toBeCloseTo(0.1, 9);
    expect(rates([10, 10, 1], rest)).toEqual([10, 10]);
    expect(intervals(2, 1, 2)).toEqual({ starts: [0, 1], end: 2, factor: 1, left: 0 });
    expect(intervals(1, 1, 0).end).toBe(1);
    expect(intervals(1, 1, 0.2)).toMatchObject({ starts: [0], end: 0.2, factor: 5 });
  });
});

describe("words of an axis", () => {
  const place = (value: number) => 100 * Math.log10(value);
  test("do not touch: the rounder number stays", () => {
    const splits = [50, 60, 70, 80, 90, 100, 200];
    expect(apart(splits.map(String), splits, place, () => 14)).toEqual(["50", "", "70", "", "", "100", "200"]);
  });
  test("stay where there is room", () => {
    expect(apart(["1", "2", ""], [1, 2, null], place, () => 20)).toEqual(["1", "2", ""]);
  });
});

describe("the arm's way", () => {
  test("has the instants of a command in their order, in milliseconds since the first", () => {
    const found = way(eager.series!, 0);
    expect(found.start[0]).toBe(0);
    expect(found.start).toHaveLength(320);
    for (let index = 0; index < found.start.length; index++) {
      const [start, moves, there] = [found.start[index]!, found.moves[index]!, found.there[index]!];
      const [begins, end] = [found.begins[index]!, found.end[index]!];
      expect([start, moves, there, begins, end]).toEqual([start, moves, there, begins, end].sort((a, b) => a - b));
      // What a command ends with the next does not begin with: times are rounded, hence the little slack.
      if (index > 0) expect(start).toBeGreaterThan(found.end[index - 1]! - 0.01);
      if (index > 0) expect(found.from[index]).toBe(found.to[index - 1]);
    }
  });

  test("tells eager writes from writes in place", () => {
    expect(new Set(way(eager.series!, 0).kind)).toEqual(new Set(["read", "eager"]));
    expect(new Set(way(linear.series!, 0).kind)).toEqual(new Set(["read", "write"]));
  });

  test("leaves out what is answered without the arm, and does not say how it came to what follows a write of that kind", () => {
    const series = structuredClone(linear.series!);
    const none = (index: number, write: boolean) => {
      for (const list of [series.arm_seek_ms, series.arm_rotation_ms, series.arm_transfer_ms]) list[index] = 0;
      series.arm_write[index] = write;
      series.arm_cylinder[index] = 99_999;
      series.arm_from[index + 1] = 99_999;
    };
    none(3, false);
    none(6, true);
    const found = way(series, 0);
    expect(found.cached.flatMap((one, index) => (one ? [index] : []))).toEqual([3, 6]);
    // The arm goes on from where the command before the read left it.
    expect(found.from[4]).toBe(series.arm_from[3]);
    expect(found.follows.slice(0, 6)).toEqual(Array(6).fill(true));
    expect(found.follows.slice(6).some((one) => one)).toBe(false);
    const run = { ...linear, series };
    expect(withoutArm([run])).toEqual({ reads: 1, writes: 1 });
    expect(withoutArm([linear])).toEqual({ reads: 0, writes: 0 });
    expect(anyWay([run])).toBe(true);
    expect(used([run], 0, null)[1]).toBeLessThan(99_999);
  });

  test("is at first that of the drive with most commands", () => {
    const series = { ...eager.series!, arm_drive: eager.series!.arm_drive.map((_, index) => (index % 5 === 0 ? 0 : 1)) };
    expect(busiest([{ ...eager, series }])).toBe(1);
    expect(busiest([{ ...eager, series: { ...series, arm_drive: [] } }])).toBe(0);
  });

  test("is that of one drive", () => {
    const series = { ...eager.series!, arm_drive: eager.series!.arm_drive.map((_, index) => index % 3) };
    expect(drives([{ ...eager, series }])).toEqual([0, 1, 2]);
    expect(way(series, 2).start).toHaveLength(106);
    expect(way(series, 7).start).toEqual([]);
    // Three drives share the commands, so each has a third of them in the same time.
    expect(pace({ ...eager, series })).toBeCloseTo(3 * pace(eager)!);
    expect(pace({ ...eager, series: null })).toBeNull();
  });

  test("has one pair of axes for all runs", () => {
    const [low, high] = used(runs, 0, null);
    for (const { series } of runs) {
      for (const cylinder of series!.arm_cylinder) expect(cylinder > low && cylinder < high).toBe(true);
    }
    expect(longest(runs)).toBe(Math.max(...runs.map((run) => run.series!.stretch!.span_s * 1e3)));
    expect(used([], 0, null)).toEqual([0, 1]);
    // Of a part, those of its commands; where it has none, all.
    const few = used(runs, 0, [0, 20]);
    expect(few[0]).toBeGreaterThanOrEqual(low);
    expect(few[1] - few[0]).toBeLessThan(high - low);
    expect(used(runs, 0, [1e9, 2e9])).toEqual([low, high]);
    expect(deepest(runs)[1]).toBeGreaterThan(5);
  });

  test("names a single cylinder alone, and none where the arm stood still", () => {
    const on = (cylinder: number) => {
      const series = { ...linear.series!, arm_from: linear.series!.arm_from.map(() => cylinder), arm_cylinder: linear.series!.arm_cylinder.map(() => cylinder) };
      return { ...linear, series };
    };
    for (const cylinder of [0, 1, 7_000]) {
      const y = used([on(cylinder)], 0, null);
      expect(y).toEqual([cylinder - 1, cylinder + 1]);
      const inks = { read: "", write: "", path: "", wait: "", ground: "" } as unknown as Parameters<typeof armScene>[3];
      expect(armScene(way(on(cylinder).series, 0), [0, 1], y, inks).named).toEqual([cylinder]);
    }
    expect(named(used(runs, 0, null))).toBeNull();
    expect(named(used([], 0, null))!.some(Number.isInteger)).toBe(false);
  });
});

describe("the map of free space", () => {
  const map: FreeSpace = { drive: 0, cylinders: [0, 10, 20], time_s: [0, 1], free_per_10k: [[5000, 2000], [4000, 2500]] };

  test("has one scale for shares, and an even-handed one for changes", () => {
    expect(range([map], "share")).toEqual([0.2, 0.5]);
    expect(range([map], "change")).toEqual([-0.1, 0.1]);
    expect(value(map, "change", 1, 1)).toBeCloseTo(0.05);
    expect(range([], "share")).toEqual([0, 1]);
    expect(range([{ ...map, free_per_10k: [[5000, 5000]] }], "share")).toEqual([0.495, 0.505]);
  });

  test("is shaded along the whole ramp and no further", () => {
    const ramp = [[0, 0, 0], [100, 0, 0], [100, 200, 0]] as const;
    expect([0, 0.25, 0.5, 0.75, 1, 2, -1].map((part) => shade(ramp, part)[0])).toEqual([0, 50, 100, 100, 100, 100, 0]);
    expect(shade(ramp, 0.75)).toEqual([100, 100, 0]);
  });
});

describe("figures", () => {
  test("an interval without an upper end is open to the top, and one that is not there is none", () => {
    const line = { label: "fcfs", x: [1, 2, 3], y: [5, 6, 7], low: [4, 5, null], high: [6, null, null] };
    expect(ends(line, 20)).toEqual([
      { at: 1, low: 4, high: 6 },
      { at: 2, low: 5, high: 20 },
    ]);
  });

  const content = read("figures");
  const figure = "figures" in content ? content.figures.figures[0]! : undefined;

  test("have axes that hold every line of a panel and start at nothing", () => {
    const [x, y] = extents(figure!, 1);
    expect(x[0]).toBeLessThan(2);
    expect(x[1]).toBeGreaterThan(128);
    expect(y[0]).toBe(0);
    const tops = figure!.panels.map((panel) => {
      return Math.max(...panel.lines.flatMap((line) => [...line.y, ...line.high].map((top) => top ?? 0)));
    });
    expect(y[1]).toBeCloseTo(tops[1]! * 1.05);
    expect(extents(figure!, 0)).toEqual([x, [0, expect.closeTo(tops[0]! * 1.05)]]);
  });

  test("have room for their limit", () => {
    const [, y] = extents({ ...figure!, limit: 1e6 }, 1);
    expect(y[1]).toBeCloseTo(1.05e6);
  });

  test("are read at the place that looks nearest", () => {
    expect(closest([2, 8, 32], 15, true)).toBe(8);
    expect(closest([2, 8, 32], 17, true)).toBe(32);
    expect(closest([2, 8, 32], 17, false)).toBe(8);
    expect(closest([], 17, false)).toBeUndefined();
  });
});

describe("the map of addresses", () => {
  const map = {
    device: "sda",
    requests: 9,
    from_bytes: 8192,
    row_bytes: 4096,
    rows: 3,
    cells: { column: [0, 1, 1], row: [2, 0, 2], reads: [1, 0, 2], writes: [0, 5, 1] },
  };
  const unit = { name: "seconds", size: 1 };
  const axes = { interval_s: 0.5, columns: 2, length: 1, time: unit, address: { name: "KiB", size: 1024 } };
  const shown = heatScene(map, "both", axes, 5, [], { read: "r", write: "w" });

  test("says what is in the cell under the cursor", () => {
    const values = (x: number, y: number) => shown.read(x, y, () => 0)?.readings.map(({ value }) => value) ?? null;
    expect(shown.x).toEqual([0, 1]);
    expect(shown.y).toEqual([8, 20]);
    expect(values(0.49, 16)).toEqual(["1", "0"]);
    expect(values(0.51, 8)).toEqual(["0", "5"]);
    expect(values(0.51, 19.9)).toEqual(["2", "1"]);
    expect(values(0.51, 15.9)).toEqual(["0", "0"]);
    expect(values(1.01, 16)).toBeNull();
    expect(values(0.5, 20.1)).toBeNull();
    expect(shown.read(0.6, 12, () => 0)?.title).toBe("0.500 to 1.000 seconds, 12\u202fKiB to 16\u202fKiB");
  });

  test("is darker the more requests there are, and one is told from none", () => {
    expect([0, 1, 2].map((cell) => requests(map, "both", cell))).toEqual([1, 5, 3]);
    expect([0, 1, 2].map((cell) => requests(map, "writes", cell))).toEqual([0, 5, 1]);
    expect(most([map])).toBe(5);
    expect([1, 100].map((found) => strength(found, 100))).toEqual([0.3, 1]);
    expect(strength(10, 100)).toBeCloseTo(0.65);
    expect(strength(1, 1)).toBe(1);
  });
});

test("decades have labels at powers of ten, few enough", () => {
  expect(decades([0.4, 0.8, 1.6])).toEqual([1]);
  expect(decades([0.001, 900_000])).toEqual([0.001, 0.1, 10, 1_000, 100_000]);
});

describe("an axis of time", () => {
  test("has steps that are round in its unit", () => {
    // Seconds over three days, and milliseconds over an hour.
    expect(timeSteps(0, 255_000, 1)).toContain(0.5 * 86_400);
    expect(timeSteps(0, 255_000, 1)).not.toContain(50_000);
    expect(timeSteps(0, 3.6e6, 1e-3)).toContain(10 * 60_000);
    const steps = timeSteps(0, 40, 1);
    expect(steps).toEqual([...steps].sort((one, other) => one - other));
  });
});

describe("a logarithmic axis", () => {
  /** What is written at it, on a chart so many pixels wide. */
  const labels = (width: number, min: number, max: number) => {
    const plot = { width, height: 400, scales: { x: { min, max } } } as unknown as uPlot;
    return logLabels(plot, logSplits(plot, 0, min, max), 0).filter((label) => label !== null);
  };

  test("has labels where there is no decade", () => {
    expect(labels(400, 1.1, 2.9)).toEqual([1.5, 2, 2.5]);
    expect(labels(1000, 1.1, 2.9)).toEqual([1.2, 1.4, 1.6, 1.8, 2, 2.2, 2.4, 2.6, 2.8]);
    expect(labels(1000, 0.012, 0.02)).toEqual([0.012, 0.013, 0.014, 0.015, 0.016, 0.017, 0.018, 0.019, 0.02]);
  });

  test("has no more of them than there is room for, and never fewer than three", () => {
    for (const width of [360, 700, 1300]) {
      for (const low of [0.0007, 0.3, 1, 2.2, 45]) {
        for (const ratio of [1.1, 1.7, 3.9, 4.1, 9, 30, 99, 900]) {
          const count = labels(width, low, low * ratio).length;
          expect(count, `${width} px, ${low} to ${low * ratio}`).toBeGreaterThanOrEqual(3);
          expect(count, `${width} px, ${low} to ${low * ratio}`).toBeLessThanOrEqual(2 + width / 40);
        }
      }
    }
  });
});

describe("the distribution", () => {
  const look = { ink: "#000", dash: [], shape: "circle" as const };
  const equal = { label: "null", ms: [0.5], share: [1], look };

  test("of equal times is a step from nothing to all", () => {
    const { x } = distributionScene([equal], [equal], "share", 0.01);
    expect(outline(equal, [1], "share", x)).toEqual([[0.5, 0.5, x[1]], [0, 1, 1]]);
    expect(outline(equal, [0.01], "tail", x)).toEqual([[0.5, 0.5, x[1]], [1, 0.01, 0.01]]);
  });

  test("has a place for times of 0", () => {
    const none = { ...equal, ms: [0] };
    const { x } = distributionScene([none], [none], "share", 0.01);
    const [times] = outline(none, [1], "share", x);
    for (const time of times) expect(time).toBeGreaterThan(0);
  });
});
