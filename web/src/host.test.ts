import { readFileSync } from "node:fs";

import { describe, expect, test } from "vitest";

import { type Group, idle, isHost, leftOut, moved, otherStreams, roundGroups, scale, startGroups, startInWords, starts, upAfter } from "./host";
import { columns } from "./panels/columns";
import { parse, type Payload, type Run } from "./wire";

const read = (name: string): Payload => {
  const content = parse(readFileSync(new URL(`../fixtures/${name}.json`, import.meta.url), "utf8"));
  if (!("report" in content)) throw new Error("a report was expected");
  return content.report;
};
const { results } = read("hosts");
const { runs } = results;
const of = (sched: string, beside: string): Run => runs.find(({ label }) => label === `sched=${sched} beside=${beside}`)!;
const NARROW = "\u202f";

describe("runs of a host", () => {
  test("are known by their processes", () => {
    expect(runs.every(isHost)).toBe(true);
    expect(runs.every(starts)).toBe(true);
    expect(read("results").results.runs.some(isHost)).toBe(false);
  });

  test("tell after how long the application was up, or that it was not and how long it had", () => {
    expect(upAfter(of("bfq", "4r4w-rand"))).toBe(1.34);
    expect(upAfter(of("none", "4r4w-rand"))).toBeNull();
    expect(startInWords(of("bfq", "4r4w-rand"))).toBe(`started at 7${NARROW}s, up after 1.340${NARROW}s`);
    expect(startInWords(of("none", "4r4w-rand"))).toBe(`started at 7${NARROW}s, not up after 60${NARROW}s`);
    expect(startInWords({ ...of("none", "4r4w-rand"), series: null })).toBeNull();
    const began = (began_s: number) => {
      const run = of("bfq", "0r0w");
      return startInWords({ ...run, series: { ...run.series!, startups: [{ began_s, up_s: 2 }] } })!.split(",")[0];
    };
    expect(began(-1e-6)).toBe(`started at 0${NARROW}ms`);
    expect(began(0.999999)).toBe(`started at 1${NARROW}s`);
    expect(began(-0.5)).toBe("started in the warm-up");
  });

  test("tell of several start-ups how many were up, and of one that was not whether requests failed", () => {
    const with_ = (run: Run, numbers: Record<string, number>) => ({ ...run, measures: new Map([["host", new Map([...run.measures.get("host")!, ...Object.entries(numbers)])]]) });
    const rows = (run: Run) => startGroups([run], [{ name: "", runs: [{ run: 0, name: "a" }] }])[0]!.rows[0]!;
    expect(rows(of("bfq", "5r-seq")).note).toBe("");
    expect(rows(with_(of("bfq", "5r-seq"), { up: 2 })).note).toBe("mean of 2");
    expect(rows(with_(of("bfq", "5r-seq"), { up: 1, not_up: 2 })).note).toBe("1 of 3");
    const never = (not_up: number, failed: number) => ({ ...of("none", "4r4w-rand"), applications: [{ name: "xterm", up: 0, not_up, failed, mean_s: null }] });
    expect(rows(never(0, 1)).missing).toBe("not up: requests failed");
    expect(rows(never(1, 1)).missing).toBe(`not up after 60${NARROW}s, or requests failed`);
    // A request of another process that failed is none of the application.
    expect(rows(with_(never(1, 0), { failed: 7 })).missing).toBe(`not up after 60${NARROW}s`);
    expect(leftOut([of("bfq", "5r-seq")])).toBeNull();
    expect(leftOut([never(0, 1), of("bfq", "5r-seq")])).toBe("One run is left out: requests of the application failed while it started.");
    expect(leftOut([never(0, 1), never(1, 0), never(1, 1)])).toBe("3 runs are left out: the application was not up when the run ended; in 1 of them requests of it failed.");
    expect(leftOut([never(1, 0)])).toBe("One run is left out: the application was not up when the run ended.");
    expect(rows(never(0, 0)).missing).toMatch(/^not started in /);
    expect(leftOut([never(0, 0)])).toBe("One run is left out: the application was not started before the run ended.");
    const two = [...of("bfq", "5r-seq").applications, { name: "bash", up: 0, not_up: 1, failed: 0, mean_s: null }];
    expect(rows({ ...of("bfq", "5r-seq"), applications: two }).note).toBe(`xterm 181${NARROW}ms, bash not up`);
    const run = of("bfq", "0r0w");
    const startups = [{ began_s: 1, up_s: 2 }, { began_s: 3, up_s: null }];
    expect(startInWords({ ...run, series: { ...run.series!, startups } })).toBe(`first started at 1${NARROW}s, 1 of 2 start-ups up`);
  });

  test("tell what the others moved, by the names that are declared", () => {
    expect(moved(of("none", "5r-seq"))).toEqual({ read: 309, written: 103 });
    const names = results.measures.map(({ of, name }) => `${of} ${name}`);
    for (const name of ["startup_s", "not_up", "read_mb_s", "written_mb_s"]) expect(names).toContain(`host ${name}`);
    expect(moved({ ...of("none", "5r-seq"), measures: new Map() })).toBeNull();
  });

  test("are held against the same with nobody beside", () => {
    expect(idle(of("bfq", "5r-seq"), runs)).toBe(0.0614);
    expect(idle(of("bfq", "0r0w"), runs)).toBeNull();
    // Of another choice nothing is taken.
    expect(idle(of("bfq", "5r-seq"), runs.filter((run) => run.choice !== "sched=bfq"))).toBeNull();
  });

  test("name the streams that are of no process", () => {
    expect(otherStreams(of("bfq", "5r-seq"))).toEqual([
      { stream: 8, name: "journal" },
      { stream: 9, name: "xterm" },
      { stream: 10, name: "X" },
    ]);
  });

  test("have their numbers first in the table, without units in the names", () => {
    const first = columns(results.measures).filter(({ group }) => group === "Host");
    expect(first.map(({ name, unit }) => `${name} ${unit}`)).toEqual(["startup s", "up start-ups", "not up start-ups", "read MB/s", "written MB/s", "held s"]);
    expect(columns(results.measures)[0]!.group).toBe("Host");
    expect(first[2]!.format(1)).toBe("1");
  });
});

describe("bars", () => {
  const named = (load: string) => ({ name: load, runs: runs.flatMap((run, index) => (run.load === load ? [{ run: index, name: run.choice }] : [])) });
  const told = (groups: readonly Group[]) => groups.map(({ name, rows }) => [name, ...rows.map((row) => row.value ?? row.missing)]);

  test("of start-ups stand by load, and reach as far as was waited", () => {
    const groups = startGroups(runs, ["beside=5r-seq", "beside=4r4w-rand", "beside=none"].map(named));
    const never = `not up after 60${NARROW}s`;
    expect(told(groups)).toEqual([
      ["beside=5r-seq", 11.7, 37.2, 0.181],
      ["beside=4r4w-rand", never, never, 1.34],
    ]);
    expect(groups[1]!.rows.map(({ reach }) => reach)).toEqual([60, 60, 1.34]);
    expect(groups[0]!.rows[0]!.idle).toBe(0.0614);
  });

  test("of rounds stand by process; of one run all stand together", () => {
    const { runs: those } = named("beside=5r-seq");
    const groups = roundGroups(runs, those);
    expect(groups.map(({ name, rows }) => [name, rows.length])).toEqual([...[1, 2, 3, 4, 5].map((number) => [`reader-${number}`, 3]), ["launch", 3]]);
    const [alone, ...more] = roundGroups(runs, those.slice(0, 1));
    expect(more).toEqual([]);
    expect(alone!.rows.map(({ name }) => name)).toEqual(["reader-1", "reader-2", "reader-3", "reader-4", "reader-5", "launch"]);
    expect(alone!.rows[0]).toMatchObject({ value: 0.0004, most: 0.9, note: "" });
    const late = { ...runs[0]!, processes: [{ ...runs[0]!.processes[0]!, rounds: 48, due: 50, late: 3 }] };
    expect(roundGroups([late], [{ run: 0, name: "a" }])[0]!.rows[0]!.note).toBe("3 of 50 late");
  });
});

describe("the axis of bars", () => {
  test("is from 0 on while the least has a bar", () => {
    const { log, at, ticks } = scale([2, 60], false);
    expect(log).toBe(false);
    expect([at(0), at(30), at(60)]).toEqual([0, 50, 100]);
    expect(ticks).toEqual([0, 20, 40, 60]);
  });

  test("is logarithmic where values span more, but for amounts", () => {
    const wide = scale([0.06, 37], false);
    expect(wide.log).toBe(true);
    expect(wide.ticks).toEqual([0.01, 0.1, 1, 10]);
    expect(wide.at(0.06)).toBeGreaterThan(10);
    expect(wide.at(37)).toBe(100);
    expect(scale([1.9, 60], false).ticks).toEqual([1, 2, 5, 10, 20, 50]);
    expect(scale([0.06, 37], true).log).toBe(false);
  });

  test("has no ticks where there is nothing", () => {
    expect(scale([], false).ticks).toEqual([]);
    expect(scale([0, 0], true).at(0)).toBe(0);
  });
});
