import { describe, expect, test } from "vitest";

import { byteUnit, bytes, count, decade, duration, percent, percentile, quantity, ratio, span, tick, timeUnit } from "./format";

describe("numbers", () => {
  test.each([
    [0, "0"],
    [6.21144, "6.211"],
    [17.4567, "17.46"],
    [170.55, "170.6"],
    [1752.4, "1752"],
    [17522.4, "17\u2009522"],
    [0.00002, "2.0e\u22125"],
    [-3.5, "\u22123.500"],
    [4.2e12, "4.20e12"],
    [null, "\u2013"],
  ])("%s is written %s", (value, text) => expect(quantity(value)).toBe(text));

  test("units follow the size", () => {
    expect(duration(0.0831)).toBe("83.10\u2009µs");
    expect(duration(9.5)).toBe("9.500\u2009ms");
    expect(duration(17522)).toBe("17.52\u2009s");
    expect(span(61.2)).toBe("61.20\u2009s");
    expect(span(5.985)).toBe("5.985\u2009s");
    expect(span(604_800)).toBe("7\u2009days");
  });

  test("data come in powers of 1024", () => {
    expect([0, 512, 4096, 10_000, 3 * 1024 ** 4].map(bytes)).toEqual([
      "0\u2009B",
      "512\u2009B",
      "4\u2009KiB",
      "9.766\u2009KiB",
      "3\u2009TiB",
    ]);
  });

  test("shares, ratios, counts, ticks", () => {
    expect(percent(0.9731)).toBe("97.3\u2009%");
    expect(ratio(1)).toBe("1.00×");
    expect(ratio(1234.5)).toBe("1235×");
    expect(count(1234567)).toBe("1\u2009234\u2009567");
    expect(tick(0.30000000000000004)).toBe("0.3");
    expect([0.1, 0.01, 0.001, 0.0001].map(percentile)).toEqual(["p90", "p99", "p99.9", "p99.99"]);
  });

  test("units of axes", () => {
    const names = [3e-6, 0.13, 1, 299, 7_200, 20_000, 1e6].map((seconds) => timeUnit(seconds).name);
    expect(names).toEqual(["microseconds", "milliseconds", "seconds", "seconds", "minutes", "hours", "days"]);
    expect(byteUnit(3 * 1024 ** 3)).toEqual({ name: "GiB", size: 1024 ** 3 });
    expect([1e-6, 0.001, 1, 1_000, 1e6].map(decade)).toEqual(["1\u2009ns", "1\u2009µs", "1\u2009ms", "1\u2009s", "1000\u2009s"]);
  });
});
