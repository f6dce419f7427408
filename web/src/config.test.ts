import { describe, expect, test } from "vitest";

import { flatten, partName, placement, split, tables } from "./config";

describe("configurations", () => {
  test("are flattened by their keys", () => {
    const config = { sched: { name: "satf", knobs: {} }, seed: 7, list: [1, 2], off: null };
    expect(flatten(config)).toEqual([
      ["sched.name", "satf"],
      ["sched.knobs", "{}"],
      ["seed", "7"],
      ["list", "[1,2]"],
      ["off", "null"],
    ]);
  });

  test("are split into what is shared and what is not", () => {
    const { shared, own } = split([
      { seed: 1, sched: { name: "look" } },
      { seed: 1, sched: { name: "satf", weight: 2 } },
    ]);
    expect(shared).toEqual([["seed", "1"]]);
    expect(own).toEqual([[["sched.name", "look"]], [["sched.name", "satf"], ["sched.weight", "2"]]]);
    expect(split([])).toEqual({ shared: [], own: [] });
  });

  test("have tables as a scenario has them", () => {
    const one = { count: 3, name: "db", steps: [{ at: "random", read: "16KiB", times: 4 }, "fsync"] };
    expect(tables("load.process", JSON.stringify([one, { name: "log", steps: [{ write: "64KiB" }] }]))).toEqual([
      '[[workload.process]]\nname = "db"\ncount = 3\nsteps = [\n    { read = "16KiB", at = "random", times = 4 },\n    "fsync",\n]',
      '[[workload.process]]\nname = "log"\nsteps = [{ write = "64KiB" }]',
    ]);
    for (const plain of ["", "[1,2]", "[{", "none"]) expect(tables("load.process", plain)).toBeNull();
  });

  test("name their parts, as table or word", () => {
    expect(partName({ drive: { name: "null" } }, "drive")).toBe("null");
    expect(partName({ drive: "null" }, "drive")).toBe("null");
    expect(partName({}, "__proto__")).toBeNull();
    expect(partName(null, "drive")).toBeNull();
  });

  test("name volumes on drives of their own in place of a placement", () => {
    const place = { name: "concat" };
    expect(placement({ load: { volumes: "own-drives" }, place })).toBe("own-drives");
    expect(placement({ load: { volumes: "concat" }, place })).toBe("concat");
    expect(placement({ load: "iometer", place })).toBe("concat");
    expect(placement(null)).toBeNull();
  });
});
