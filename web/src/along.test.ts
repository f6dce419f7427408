import { describe, expect, test } from "vitest";

import { along } from "./along";
import type { Run, Varied } from "./wire";

const run = (settings: Record<string, string>): Run =>
  ({ settings: new Map(Object.entries(settings)), choice: `sched=${settings["sched"]}`, load: `${settings["depth"]} ${settings["span"]}` }) as unknown as Run;
const key = (name: string, role: "load" | "choice", ...values: string[]): Varied => ({ key: name, role, values });

describe("the way along the loads", () => {
  const varied = [key("sched", "choice", "a", "b"), key("span", "load", "1", "2"), key("depth", "load", "64", "1", "8")];
  const runs = ["a", "b"].flatMap((sched) =>
    ["1", "2"].flatMap((span) => ["64", "1", "8"].map((depth) => run({ sched, span, depth }))),
  );

  test("follows the key with the most values, and leaves the others as they are", () => {
    const way = along(runs, varied, "8 2")!;
    expect(way.key).toBe("depth");
    expect(way.values).toEqual([1, 8, 64]);
    expect(way.log).toBe(true);
    expect(way.of([0, 1, 2, 3, 4, 5])).toEqual([4, 5, 3]);
    expect(way.of([6, 7, 8, 9, 10, 11]).map(way.at)).toEqual([1, 8, 64]);
  });

  test("joins all that are alike but for the key where there is one choice, as no other run stands beside them", () => {
    const one = ["none", "ranges"].flatMap((skip) => ["1", "4", "16"].map((clients) => run({ skip, clients })));
    const keys = [key("skip", "load", "none", "ranges"), key("clients", "load", "1", "4", "16")];
    const way = along(one, keys, "")!;
    expect(way.lines).toEqual([{ name: "skip=none", runs: [0, 1, 2] }, { name: "skip=ranges", runs: [3, 4, 5] }]);
    expect(way.of(way.lines![1]!.runs).map(way.at)).toEqual([1, 4, 16]);
    expect(along(one.slice(0, 3), keys.slice(1), "")!.lines).toEqual([{ name: "sched=undefined", runs: [0, 1, 2] }]);
    // Of several choices each is a line.
    expect(along(runs, varied, "8 2")!.lines).toBeNull();
  });

  test("is none where loads are one, are words, or only repeat", () => {
    const one = [run({ sched: "a" }), run({ sched: "b" })];
    expect(along(one, [key("sched", "choice", "a", "b")], "")).toBeNull();
    const words = [run({ replay: "open" }), run({ replay: "closed" })];
    expect(along(words, [key("replay", "load", "open", "closed")], "")).toBeNull();
    const seeds = [run({ seed: "1" }), run({ seed: "2" })];
    expect(along(seeds, [key("seed", "load", "1", "2")], "")).toBeNull();
  });
});
