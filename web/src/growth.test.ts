import { expect, test } from "vitest";

import { opening } from "./growth";
import type { Run } from "./wire";

/** Runs under loads, each with the growth of its queue. */
const runs = (...all: [load: string, growth: number | null][]) =>
  all.map(([load, queue_growth_rps]) => ({ load, queue_growth_rps }) as Run);

test("a page opens on the heaviest load under which all runs kept up", () => {
  const loads = ["speed=1", "speed=2", "speed=4"];
  expect(opening(loads, runs(["speed=1", null], ["speed=2", null], ["speed=4", null]))).toBe("speed=4");
  expect(opening(loads, runs(["speed=1", null], ["speed=2", null], ["speed=2", 3], ["speed=4", 9]))).toBe("speed=1");
});

test("where some run falls behind under every load, it opens on the heaviest that one keeps up with", () => {
  const loads = ["speed=1", "speed=2", "speed=4"];
  const some = runs(["speed=1", 1], ["speed=1", null], ["speed=2", 3], ["speed=2", null], ["speed=4", 9]);
  expect(opening(loads, some)).toBe("speed=2");
  expect(opening(["speed=4"], runs(["speed=4", 9]))).toBe("speed=4");
  expect(opening([], [])).toBe("");
});
