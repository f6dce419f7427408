import { expect, test } from "vitest";

import { total } from "./bars";
import { REBUILDS, tookSpare } from "./rebuilds";
import type { Run } from "./wire";

const run = (numbers: Record<string, number>) => ({ measures: new Map([["place", new Map(Object.entries(numbers))]]) }) as unknown as Run;
const ended = run({ spares_taken: 2, rebuilds: 2, rebuild_ms: 9_000, last_rebuild_ms: 12_000, rebuilt_blocks: 4_096, rebuild_left_blocks: 0 });
const underWay = run({ spares_taken: 1, rebuilds: 0, rebuild_ms: 0, last_rebuild_ms: 0, rebuilt_blocks: 2_048, rebuild_left_blocks: 1_024 });
const told = (one: Run) => REBUILDS.map((chart) => total(chart, one));

test("of a rebuild that ended it is told how long it took, and when; of one under way what is left", () => {
  expect(told(ended)).toEqual([2, 4.5, 12, 2, 0]);
  expect(told(underWay)).toEqual([1, null, null, 1, 0.5]);
  expect(REBUILDS[0]!.parts.map(({ of }) => of(underWay))).toEqual([0, 1]);
});

test("a run that took no spare, or has no array, has none", () => {
  expect([tookSpare(ended), tookSpare(run({ spares_taken: 0 })), tookSpare(run({}))]).toEqual([true, false, false]);
  expect(told(run({}))).toEqual([null, null, null, null, null]);
});
