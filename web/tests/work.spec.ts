// What runs tell whose requests hang on the answers: file systems, transactions, hosts.

import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import { changed, inBrowser, open, pixelsOf, report } from "./browser";

inBrowser();

describe("file systems", () => {
  const numbers = (page: Page, title: string) =>
    page.locator(`#files article[aria-label="${title}"] li b`).evaluateAll((all) => all.map((one) => Number((one.textContent ?? "").replaceAll("\u202f", ""))));

  test.each([1400, 420])("begin with when all was written and where files lie, %i px", async (width) => {
    const { page, trouble } = await open(report("files"), { viewport: { width, height: 900 } });
    expect(await page.locator("main section.panel").first().getAttribute("id")).toBe("files");
    const [none, group] = await numbers(page, "Done and written after");
    const headline = await page.locator("h1").innerText();
    for (const one of [none!, group!]) expect(headline.replaceAll("\u202f", " ")).toContain(`${one} s`);
    const bars = await page.locator('#files article[aria-label="Done and written after"] .stack').evaluateAll((all) => all.map((one) => one.clientWidth));
    expect(bars[0]! / bars[1]!).toBeCloseTo(none! / group!, 1);
    expect((await numbers(page, "Files read again at")).every((rate) => rate > 0)).toBe(true);
    expect(await page.locator(".minis li").count()).toBe(2);
    expect(await page.locator(".minis .bars").first().getAttribute("aria-label")).toMatch(/^Files by mini-group: 100/);
    expect(await page.locator("#ranking, #tradeoff").count()).toBe(0);
    expect(trouble).toEqual([]);
  });

  test("in a log tell of its cleaner, and have no mini-groups", async () => {
    const { page, trouble } = await open(report("log"));
    for (const title of ["Read by the cleaner", "Segments cleaned", "Checkpoints"]) expect(Math.min(...(await numbers(page, title)))).toBeGreaterThan(0);
    const lived = page.locator('#files article[aria-label="Read by the cleaner"] i.strength-0[title]');
    expect(await lived.first().getAttribute("title")).toMatch(/^that lived [0-9\u202f]+/);
    expect(await page.locator(".minis").count()).toBe(0);
    expect(trouble).toEqual([]);
  });

  test("whose processes took no time have no rows of 0 ms, and short times have a unit that fits", async () => {
    const { page, trouble } = await open(report("taken"));
    expect(await page.locator("#processes").count()).toBe(0);
    expect(await page.locator("h1").innerText()).toMatch(/^Everything is done and written after 0\.[0-9]+\u202fms\.$/);
    expect(await page.locator("main").innerText()).not.toMatch(/[0-9]e[\u2212-][0-9]/);
    expect(await page.locator("main").innerText()).not.toContain("\n0\u202fms");
    // The drive's cache took all of it: of the arm there is no picture.
    expect(await page.locator("#arm").innerText()).toContain("No command of the stretch moved the arm");
    expect(await page.locator("#arm .plot").count()).toBe(1);
    // What is drawn over time has its key all the same.
    expect(await page.locator("#arm .arm-key span").allInnerTexts()).toEqual(["reads", "writes"]);
    expect(trouble).toEqual([]);
  });
});

describe("transactions", () => {
  test.each([1400, 420])("come first, as the headline has them, and nothing else is called better, %i px", async (width) => {
    const { page, trouble } = await open(report("transactions"), { viewport: { width, height: 900 } });
    expect(await page.locator("main section.panel").first().getAttribute("id")).toBe("transactions");
    const headline = await page.locator("h1").innerText();
    const rates = await page.locator('#transactions article[aria-label="Transactions"] b').allInnerTexts();
    expect(rates).toHaveLength(3);
    for (const rate of rates) expect(headline).toContain(`${rate} (skip=`);
    // Requests a second, of which a journal that is not written has fewer, are no side of the choice.
    expect(await page.locator("#tradeoff, #ranking").count()).toBe(0);
    const praise = (await page.locator("main").innerText()).match(/urther (right|left)[^.]*\./g);
    expect(praise).toEqual(["urther right is better."]);
    const null_ = page.locator('#transactions article[aria-label="The two writes of a commit"] li').last();
    expect(await null_.innerText()).toContain("not written");
    expect(trouble).toEqual([]);
  });
});

describe("hosts", () => {
  test.each([1400, 420])("come with bars by load, the idle time and what is not up first, %i px", async (width) => {
    const { page, trouble } = await open(report("hosts"), { viewport: { width, height: 900 } });
    expect(await page.locator("main section.panel").first().getAttribute("id")).toBe("processes");
    expect(await page.locator("#processes .group").allInnerTexts()).toEqual(["beside=0r0w", "beside=5r-seq", "beside=4r4w-rand"]);
    // With nobody beside there is nothing to hold it against.
    expect(await page.locator("#processes tbody").evaluateAll((all) => all.map((one) => one.querySelectorAll(".idle").length))).toEqual([0, 3, 3, 0]);
    const missing = page.locator("#processes .missing");
    expect(await missing.allInnerTexts()).toEqual(Array(2).fill("not up after 60\u202fs"));
    const shares = (all: Element[]) => all.map((one) => one.getBoundingClientRect().width / one.parentElement!.getBoundingClientRect().width);
    for (const share of await missing.evaluateAll(shares)) expect(share).toBeCloseTo(1, 1);
    // A thousand times as fast has a bar, too.
    for (const share of await page.locator("#processes .mark").evaluateAll(shares)) expect(share).toBeGreaterThan(0.1);
    expect(await page.locator("#processes .row .number .sr").allInnerTexts()).toContain("not up after 60\u202fs");
    const inks = await page.locator("#processes .row:nth-child(2)").evaluateAll((all) => all.map((row) => (row as HTMLElement).style.getPropertyValue("--ink-run")));
    expect(new Set(inks)).toEqual(new Set(["#0072b2"]));
    expect(trouble).toEqual([]);
  });

  test("say what is not up in full, however narrow", async () => {
    const { page } = await open(report("hosts"), { viewport: { width: 320, height: 900 } });
    const words = await page.locator("#processes .missing b").evaluateAll((all) => all.map((one) => [one.scrollWidth - one.clientWidth, one.scrollHeight - one.clientHeight, one.clientHeight - one.parentElement!.clientHeight]));
    expect(words).toHaveLength(2);
    for (const beyond of words.flat()) expect(beyond).toBeLessThanOrEqual(0);
  });

  test("are neither ranked nor praised by means of requests", async () => {
    const { page } = await open(report("hosts"));
    expect(await page.locator("#ranking, #tradeoff").count()).toBe(0);
    expect(await page.locator("main").innerText()).not.toMatch(/urther (right|left)/);
    expect(await page.locator("#time .plot").count()).toBe(3);
    expect(await page.locator("#time .plot").first().getAttribute("aria-label")).toContain("not up after 60\u202fs");
    // The ground is shaded from the start on: far more than a line has.
    expect(await pixelsOf(page, "time", "#0072b2")).toBeGreaterThan(20_000);
  });

  test("tell rounds by process, and every process of a run that is chosen", async () => {
    const { page } = await open(report("hosts"));
    await page.locator("#processes").getByRole("button", { name: "Rounds" }).click();
    expect((await page.locator("#processes .group").allInnerTexts()).slice(-2)).toEqual(["writer-4", "launch"]);
    await page.locator("#processes select").selectOption({ label: "sched=bfq beside=4r4w-rand" });
    expect((await page.locator(".processes tbody tr").last().innerText()).replaceAll("\u202f", "")).toMatch(/^launch\s9\s1\syes\s1.340s/);
    expect(await page.locator(".streams").innerText()).toContain("13\u00a0X");
  });
});

describe("spares", () => {
  test("that were rebuilt are told with how long it took, those that were not with what is left", async () => {
    const counts = { spares_taken: 1, rebuilds: 1, rebuild_ms: 642_161, last_rebuild_ms: 647_179, rebuilt_blocks: 2_054_832, rebuild_left_blocks: 0 };
    const file = changed("sample", ({ results }) => {
      results.runs[0]!.measures = { ...results.runs[0]!.measures, place: counts };
      results.runs[1]!.measures = { ...results.runs[1]!.measures, place: { ...counts, rebuilds: 0, rebuild_ms: 0, last_rebuild_ms: 0, rebuild_left_blocks: 604_416 } };
    });
    const { page, trouble } = await open(file);
    const told = async (title: string) => (await page.locator(`#rebuilds article[aria-label="${title}"] b`).allInnerTexts()).filter((text) => text !== "none");
    expect(await told("Rebuilt in")).toEqual(expect.arrayContaining(["642.2", "none was"]));
    expect(await told("The last one was rebuilt at")).toContain("647.2");
    expect(await told("Left at the end of the run")).toEqual(expect.arrayContaining(["0", "295.1"]));
    expect(await page.locator(`#rebuilds [title="not by the end of the run 1\u202fdrives"]`).count()).toBe(1);
    expect(trouble).toEqual([]);
    await open(report("sample"));
    expect(await page.locator("#rebuilds").count()).toBe(0);
  });
});
