import { describe, expect, test } from "vitest";

import { total } from "./bars";
import type { Run } from "./wire";
import { asksByAnswers, beginnings, fileCharts, hasFiles, hasTransactions, inLog, tookTime, transactionCharts } from "./work";

const run = (of: string, numbers: Record<string, number>, max_s: number | null = null) =>
  ({ measures: new Map([[of, new Map(Object.entries(numbers))]]), processes: max_s === null ? [] : [{ max_s }] }) as unknown as Run;

const minis = Object.fromEntries(Array.from({ length: 16 }, (_, mini) => [`mini_${mini}`, mini === 2 ? 30 : 0]));
const groups = run("filesystem", { files: 40, pieces: 50, work_s: 3, data_writes: 8, metadata_writes: 2, amplification: 1.25, elsewhere: 10, ...minis }, 0);
const log = run("filesystem", { files: 40, checkpoints: 3, cleaned: 7, clean_read: 100, moved: 40 }, 0.5);
const skips = run("workload", { transactions: 100, transactions_s: 50, commits: 40, data_ms: 9, data_rotation_ms: 4, commit_block_ms: 6, commit_block_rotation_ms: 6 });
const null_ = run("workload", { transactions: 100, transactions_s: 200, commits: 50 });
const requests = run("drive", { zones: 1 });

describe("runs whose requests hang on answers", () => {
  test("are those of file systems, of transactions and of processes", () => {
    expect([groups, log, skips, requests].map(hasFiles)).toEqual([true, true, false, false]);
    expect([groups, log, skips, requests].map(hasTransactions)).toEqual([false, false, true, false]);
    expect([groups, log, skips, run("host", {}, 1), requests].map(asksByAnswers)).toEqual([true, true, true, true, false]);
    expect([groups, log, skips].map(tookTime)).toEqual([false, true, false]);
    expect([groups, log].map(inLog)).toEqual([false, true]);
  });
});

describe("what they measured", () => {
  const told = (charts: readonly { title: string }[]) => charts.map(({ title }) => title);
  const of = (charts: ReturnType<typeof fileCharts>, title: string, one: Run) => total(charts.find((chart) => chart.title === title)!, one);

  test("begins with what the run is there to tell, and has nothing that no run has", () => {
    expect(told(fileCharts([groups]))).toEqual(["Done and written after", "Writes", "Written for each block that changed", "Pieces a file lies in"]);
    expect(told(fileCharts([log]))).toEqual(["Done and written after", "Read by the cleaner", "Segments cleaned", "Checkpoints"]);
    expect(told(transactionCharts([skips, null_]))).toEqual(["Transactions", "The two writes of a commit", "Transactions in a commit"]);
  });

  test("is divided where that tells something", () => {
    expect(of(fileCharts([groups]), "Writes", groups)).toBe(10);
    expect(of(fileCharts([groups]), "Pieces a file lies in", groups)).toBe(1.25);
    const [, cleaner] = fileCharts([log]);
    expect(cleaner!.parts.map((part) => part.of(log))).toEqual([40, 60]);
    const [rate, commit] = transactionCharts([skips, null_]);
    expect([skips, null_].map((one) => total(rate!, one))).toEqual([50, 200]);
    expect(commit!.parts.map((part) => part.of(skips))).toEqual([4, 5, 6, 0]);
    // A journal that is not written has no writes of a commit.
    expect(total(commit!, null_)).toBeNull();
    // A run that ended before all was written does not tell when it was.
    expect(of(fileCharts([log]), "Done and written after", log)).toBeNull();
  });

  test("tells where files begin, but in a log", () => {
    expect(beginnings(groups)!.minis[2]).toBe(0.75);
    expect(beginnings(groups)!.elsewhere).toBe(0.25);
    expect(beginnings(log)).toBeNull();
  });
});
