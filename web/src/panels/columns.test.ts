import { expect, test } from "vitest";

import type { Rank, Ranking, Run } from "../wire";
import { bests, columns } from "./columns";

const mean = columns([]).find(({ group, name }) => group === "Response" && name === "mean")!;

/** Runs by their means, and a ranking of each load by the standings of its runs. */
function graded(loads: readonly (readonly [ms: number, standing: Rank["standing"]][])[]): ReadonlySet<number> {
  const all = loads.flat();
  const runs = all.map(([ms]) => ({ response_ms: { mean: ms }, queue_growth_rps: null }) as Run);
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
