import { expect, test } from "vitest";

import type { Rank, Ranking, Run } from "../wire";
import { bests, cell, columns, fitted, isShown } from "./columns";

const mean = columns([]).find(({ group, name }) => group === "Response" && name === "mean")!;

/** Runs by their means, and a ranking of each load by the standings of its runs. */
function graded(loads: readonly (readonly [ms: number, standing: Rank["standing"]][])[]): ReadonlySet<number> {
  const all = loads.flat();
  const runs = all.map(([ms]) => ({ requests: 1, response_ms: { mean: ms }, queue_growth_rps: null }) as Run);
  let run = 0;
  const rankings = loads.map((load) => ({ ranks: load.map(([, standing]) => ({ run: run++, standing })) }) as Ranking);
  return bests(mean, runs, rankings);
}

test("the best of a column is that of its load", () => {
  expect([...graded([[[8, "keeps up"], [5, "keeps up"]], [[80, "keeps up"], [50, "keeps up"]]])]).toEqual([1, 3]);
  expect(graded([[[5, "keeps up"], [5, "keeps up"]]]).size).toBe(0);
});

test("a run that failed many requests, or served wrong blocks, is the best of no column", () => {
  expect([...graded([[[8, "keeps up"], [9, "overloaded"], [1, "failed"], [2, "wrong blocks"]]])]).toEqual([0]);
  expect(graded([[[1, "failed"], [2, "failed"]]]).size).toBe(0);
});

test("times of a column share a unit in which they are no tiny numbers", () => {
  const declared = [{ of: "filesystem", name: "work_s", unit: "s", help: "" }, { of: "filesystem", name: "files", unit: "files", help: "" }];
  const run = (work_s: number) => ({ measures: new Map([["filesystem", new Map([["work_s", work_s], ["files", 0.0001]])]]) }) as unknown as Run;
  const [work, files] = columns(declared).filter(({ group }) => group === "Counted by parts");
  const runs = [run(7.15e-4), run(0.0421)];
  const told = fitted(work!, runs);
  expect([told.name, told.unit, ...runs.map((one) => told.format(told.value(one)))]).toEqual(["filesystem work", "ms", "0.715", "42.10"]);
  expect(fitted(work!, [run(5)])).toBe(work);
  expect(fitted(files!, runs)).toBe(files);
});

test("a run that answered no request has no times, and says so", () => {
  const run = (requests: number) => ({ requests, throughput_rps: 0, response_ms: { mean: 0, p95: null }, queue_growth_rps: null }) as unknown as Run;
  const [rate, p95] = ["rate", "p95"].map((wanted) => columns([]).find(({ name }) => name === wanted)!);
  expect([cell(mean, run(0)), cell(mean, run(5)), cell(p95!, run(5)), cell(rate!, run(0))]).toEqual(["none", "0", "\u2013", "0"]);
  expect([isShown(mean, [run(0)]), isShown(p95!, [run(0)]), isShown(p95!, [run(5)])]).toEqual([true, false, false]);
});
