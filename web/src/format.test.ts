import { describe, expect, test } from "vitest";

import { axisUnit, byteUnit, bytes, count, decade, difference, duration, fitting, joined, measured, percent, percentile, quantity, rate, ratio, span, tick, timeTick, timeUnit } from "./format";

describe("numbers", () => {
  test.each([
    [0, "0"],
    [6.21144, "6.211"],
    [17.4567, "17.46"],
    [170.55, "170.6"],
    [1752.4, "1752"],
    [17522.4, "17\u202f522"],
    [0.00002, "2.0e\u22125"],
    [-3.5, "\u22123.500"],
    [4.2e12, "4.20e12"],
    [null, "\u2013"],
  ])("%s is written %s", (value, text) => expect(quantity(value)).toBe(text));

  test("units follow the size", () => {
    expect(duration(0.0831)).toBe("83.10\u202fµs");
    expect(duration(9.5)).toBe("9.500\u202fms");
    expect(duration(17522)).toBe("17.52\u202fs");
    expect(span(61.2)).toBe("61.20\u202fs");
    expect(span(5.985)).toBe("5.985\u202fs");
    expect(span(604_800)).toBe("7\u202fdays");
  });

  test("a time that would be a tiny number has a smaller unit, and nothing else has", () => {
    expect([7.15e-4, 0.023, 0.331, 4.758, 0, 2e-12].map((s) => measured(s, "s"))).toEqual(["0.715\u202fms", "23.00\u202fms", "0.331\u202fs", "4.758\u202fs", "0\u202fs", "0.002\u202fns"]);
    expect(measured(0.0005, "MB/s")).toBe("5.0e\u22124\u202fMB/s");
    expect(measured(null, "s")).toBe("\u2013");
    expect(fitting("s", 7.15e-4)).toEqual({ unit: "ms", factor: 1000 });
    expect(fitting("requests", 1e-9)).toEqual({ unit: "requests", factor: 1 });
    expect([duration(0.715), duration(null), difference(-0.05), difference(2.302)]).toEqual(["0.715\u202fms", "\u2013", "\u221250.00\u202fµs", "+2.302\u202fms"]);
  });

  test("what is rare is told in the time in which it happens", () => {
    expect([6.72, 0.1, 0.05, 0.00353, 1e-5, 0].map(rate)).toEqual([
      "6.720\u202f/s",
      "0.100\u202f/s",
      "3.000\u202f/min",
      "12.71\u202f/h",
      "0.864\u202f/day",
      "0\u202f/s",
    ]);
  });

  test("numbers and units stay together", () => {
    expect(joined("5.6 % of it, 4 ms and 1 GiB, 12 requests, 3 sheep")).toBe("5.6\u202f% of it, 4\u202fms and 1\u202fGiB, 12 requests, 3 sheep");
  });

  test("an axis of time has the unit of what is seen of it", () => {
    const units = [[0, 255_000], [0, 3_600], [3_500, 3_501], [0, 0.2], [3_500, 3_500.002]] as const;
    expect(units.map(([from, to]) => axisUnit(from, to).short)).toEqual(["days", "min", "s", "ms", "ms"]);
    expect([0.02, 5, 200, 5_000, 1e7, 0].map(timeTick)).toEqual(["20\u202fµs", "5\u202fms", "200\u202fms", "5\u202fs", "10\u202f000\u202fs", "0"]);
  });

  test("data come in powers of 1024", () => {
    expect([0, 512, 4096, 10_000, 3 * 1024 ** 4].map(bytes)).toEqual([
      "0\u202fB",
      "512\u202fB",
      "4\u202fKiB",
      "9.766\u202fKiB",
      "3\u202fTiB",
    ]);
  });

  test("shares, ratios, counts, ticks", () => {
    expect(percent(0.9731)).toBe("97.3\u202f%");
    expect(ratio(1)).toBe("1.00×");
    expect(ratio(1234.5)).toBe("1235×");
    expect(count(1234567)).toBe("1\u202f234\u202f567");
    expect(tick(0.30000000000000004)).toBe("0.3");
    expect([1e6, 1_100_000, 1.2e6, 0.000_05].map(tick)).toEqual(["1e6", "1.1e6", "1.2e6", "5e−5"]);
    expect([0.1, 0.01, 0.001, 0.0001].map(percentile)).toEqual(["p90", "p99", "p99.9", "p99.99"]);
  });

  test("units of axes", () => {
    const names = [3e-6, 0.13, 1, 299, 7_200, 20_000, 1e6].map((seconds) => timeUnit(seconds).name);
    expect(names).toEqual(["microseconds", "milliseconds", "seconds", "seconds", "minutes", "hours", "days"]);
    expect(byteUnit(3 * 1024 ** 3)).toEqual({ name: "GiB", size: 1024 ** 3 });
    expect([1e-6, 0.001, 1, 1_000, 1e6].map(decade)).toEqual(["1\u202fns", "1\u202fµs", "1\u202fms", "1\u202fs", "1000\u202fs"]);
  });
});
