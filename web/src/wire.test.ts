import { readFileSync } from "node:fs";

import { describe, expect, test } from "vitest";

import { parse as parseAny, type Figures, type Payload, WireError } from "./wire";

const fixture = (name: string) => readFileSync(new URL(`../fixtures/${name}.json`, import.meta.url), "utf8");
const source = fixture("results");
const sample = () => JSON.parse(source);

/** The same data with a change. */
function changed(change: (value: any) => void, from = source): string {
  const value = JSON.parse(from);
  change(value);
  return JSON.stringify(value);
}

function parse(text: string): Payload {
  const content = parseAny(text);
  if (!("report" in content)) throw new Error("a report was expected");
  return content.report;
}

function parseFigures(text: string): Figures {
  const content = parseAny(text);
  if (!("figures" in content)) throw new Error("figures were expected");
  return content.figures;
}

describe("the sample that Rust wrote", () => {
  test("is read whole", () => {
    const { results, profile } = parse(source);
    expect(results.runs).toHaveLength(6);
    expect(results.verdict.rankings[0]?.ranks).toHaveLength(6);
    expect(results.seed).toBe("42");
    expect(results.runs[0]?.series?.cdf_ms.length).toBeGreaterThan(100);
    expect(results.runs[0]?.lost).toBeNull();
    expect(results.runs[0]?.processes).toEqual([]);
    expect(results.runs[5]?.lost?.extents[1]).toEqual({ first_block: 9001, blocks: 1 });
    expect(profile?.rate_rps.length).toBeGreaterThan(10);
    expect(profile?.read_share).toBeGreaterThan(0.5);
  });

  test("loses nothing but the form of seed, counts and settings", () => {
    const { results } = parse(source);
    const { seed, runs, ...rest } = results;
    const raw = sample().results;
    const plain = runs.map((run) => ({
      ...run,
      operations: Object.fromEntries(run.operations),
      failed: Object.fromEntries(run.failed),
      measures: Object.fromEntries([...run.measures].map(([of, numbers]) => [of, Object.fromEntries(numbers)])),
      settings: Object.fromEntries(run.settings),
      lost: run.lost ?? undefined,
      processes: run.processes.length > 0 ? run.processes : undefined,
      applications: run.applications.length > 0 ? run.applications : undefined,
      series: run.series && {
        ...run.series,
        startups: run.series.startups.length > 0 ? run.series.startups : undefined,
        gone: run.series.gone.length > 0 ? run.series.gone : undefined,
      },
    }));
    expect({ ...rest, seed: Number(seed), runs: plain }).toEqual(raw);
  });
});

test("the sample of hosts tells when applications were started and up", () => {
  const { results } = parse(fixture("hosts"));
  expect(results.runs[3]?.processes.map(({ name }) => name)).toContain("reader-5");
  expect(results.runs.map((run) => run.series?.startups[0]?.up_s)).toContain(null);
  expect(results.runs[0]?.series?.startups).toEqual([{ began_s: 0, up_s: 0.0614 }]);
  expect(results.runs[0]?.applications).toEqual([{ name: "xterm", up: 1, not_up: 0, failed: 0, mean_s: 0.0614 }]);
  const wrong = (value: any) => (value.results.runs[0].series.startups[0].later_s = 1);
  expect(() => parse(changed(wrong, fixture("hosts")))).toThrow("runs[0].series.startups[0]: unknown key later_s");
});

describe("what is not there", () => {
  test("may be null where the contract says so", () => {
    const text = changed((value) => {
      value.results.trace = null;
      value.profile = null;
      value.results.runs[0].read_response_ms = null;
      value.results.runs[0].response_ms.ci95 = null;
      value.results.verdict.rankings[0].ranks[1].against_best.ci95_ms = null;
      value.results.verdict.rankings[0].baseline = null;
      delete value.results.runs[1].series;
    });
    const { results } = parse(text);
    expect(results.trace).toBeNull();
    expect(results.runs[1]?.series).toBeNull();
  });

  test("keeps the digits of a large seed", () => {
    const text = changed((value) => (value.results.seed = "18446744073709551615"));
    expect(parse(text).results.seed).toBe("18446744073709551615");
  });
});

describe("what the page does not know is refused by name", () => {
  const wrong: [string, (value: any) => void, string][] = [
    ["a newer layout", (v) => (v.results.schema = 6), "layout 6"],
    ["an unknown key", (v) => (v.results.runs[2].response_ms.p42 = 1), "results.runs[2].response_ms: unknown key p42"],
    ["a missing key", (v) => delete v.results.runs[1].queue_max, "results.runs[1].queue_max is missing"],
    ["null for a number", (v) => (v.results.runs[0].seek_ms = null), "results.runs[0].seek_ms: expected a number"],
    ["words for a number", (v) => (v.results.runs[0].wait_ms.p50 = "1"), "wait_ms.p50: expected a number, found string"],
    ["half an interval", (v) => (v.results.runs[0].response_ms.ci95 = [1]), "ci95: expected two numbers"],
    ["a negative count", (v) => (v.results.runs[0].requests = -1), "requests: expected a count"],
    ["half a profile", (v) => delete v.profile.gap_cv, "profile.gap_cv is missing"],
    ["uneven commands", (v) => v.results.runs[0].series.arm_open.pop(), "differ in length"],
    ["uneven maps", (v) => v.results.runs[4].series.free[0].free_per_10k[2].pop(), "differ in length"],
    ["half a stretch", (v) => delete v.results.runs[0].series.stretch.gaps, "series.stretch.gaps is missing"],
    ["uneven series", (v) => v.results.runs[0].series.queue.pop(), "differ in length"],
    ["a rank without run", (v) => (v.results.verdict.rankings[0].ranks[0].run = 99), "names run 99"],
    ["a word of old", (v) => (v.results.verdict.rankings[0].ranks[1].against_best.word = "beyond noise"), "expected one of faster"],
    ["no results", (v) => delete v.results, "results is missing"],
  ];
  test.each(wrong)("%s", (_name, change, message) => {
    expect(() => parse(changed(change))).toThrow(WireError);
    expect(() => parse(changed(change))).toThrow(message);
  });

  test("no JSON", () => {
    expect(() => parse("NEARSLOT_DATA")).toThrow("not JSON");
  });
});

describe("figures", () => {
  const drawn = fixture("figures");

  test("are read whole and lose nothing", () => {
    const figures = parseFigures(drawn);
    expect(figures.figures.map((figure) => figure.name)).toEqual(["ew-fig4", "ew-fig5"]);
    expect(figures.figures[0]?.panels.map((panel) => panel.name)).toEqual(["0 ms", "0.6 ms"]);
    const raw = JSON.parse(drawn).figures;
    for (const figure of raw.figures) figure.seeds = figure.seeds.map(String);
    expect(figures).toEqual(raw);
  });

  const wrong: [string, (value: any) => void, string][] = [
    ["a newer layout", (v) => (v.figures.schema = 4), "layout 4"],
    ["an unknown key", (v) => (v.figures.figures[1].colour = "red"), "figures.figures[1]: unknown key colour"],
    ["an uneven band", (v) => v.figures.figures[0].panels[1].lines[2].low.pop(), "lines[2]: lists that belong together"],
    ["a verdict in words", (v) => (v.figures.figures[0].claims[0].verdict = "yes"), "verdict: expected one of holds, does not hold"],
  ];
  test.each(wrong)("with %s are refused by name", (_name, change, message) => {
    expect(() => parseFigures(changed(change, drawn))).toThrow(message);
  });
});

describe("an inspection", () => {
  const sample = fixture("inspection");
  const read = (text: string) => {
    const content = parseAny(text);
    if (!("inspection" in content)) throw new Error("an inspection was expected");
    return content.inspection;
  };

  test("is read whole", () => {
    const { pictures, requests, operations } = read(sample);
    expect(pictures.findings.length).toBeGreaterThan(2);
    const cells = pictures.heat!.maps.flatMap(({ cells }) => [...cells.reads, ...cells.writes]);
    const media = operations.get("read")!.requests + operations.get("write")!.requests;
    expect(cells.reduce((sum, one) => sum + one, 0)).toBe(media);
    expect(requests).toBeGreaterThanOrEqual(media);
  });

  test("is refused where it is not known", () => {
    const broken: [change: (value: any) => void, words: string][] = [
      [(value) => (value.inspection.schema = 3), "the data have layout 3, this page reads layout 2"],
      [(value) => (value.inspection.pictures = null), "inspection.pictures: expected an object, found null"],
      [(value) => value.inspection.pictures.heat.maps[0].cells.row.pop(), "inspection.pictures.heat.maps[0].cells: lists"],
      [(value) => value.inspection.pictures.reuse.cache_bytes.pop(), "inspection.pictures.reuse: lists"],
      [(value) => value.inspection.pictures.load.read_rps.pop(), "inspection.pictures.load: lists"],
      [(value) => (value.inspection.more = 1), "inspection: unknown key more"],
    ];
    for (const [change, words] of broken) expect(() => read(changed(change, sample))).toThrow(words);
  });
});
