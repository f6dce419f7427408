// What the reader chooses: runs, loads; how these are ranked.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { changed, inBrowser, inked, open, pixelsOf, report, settle, type Told } from "./browser";

inBrowser();

describe("the legend", () => {
  test("shows and hides a run everywhere", async () => {
    const { page, trouble } = await open(report("sample"));
    const chip = page.locator(".chip", { hasText: "sched=fcfs" });
    const ink = "#0072b2";
    const before = await inked(page);
    await chip.click();
    await settle(page);
    expect(await chip.getAttribute("aria-pressed")).toBe("false");
    expect(await pixelsOf(page, "response", ink)).toBe(0);
    expect(await page.locator("#breakdown .stack").count()).toBe(5);
    await chip.focus();
    await page.keyboard.press("Enter");
    await settle(page);
    expect(await chip.getAttribute("aria-pressed")).toBe("true");
    expect(await pixelsOf(page, "response", ink)).toBeGreaterThan(200);
    expect((await inked(page)).length).toBe(before.length);
    expect(trouble).toEqual([]);
  });

  test("shows one run alone, and says when there is none", async () => {
    const { page, trouble } = await open(report("sample"));
    await page.locator(".chip", { hasText: "sched=look" }).dblclick();
    await settle(page);
    expect(await page.locator('.chip[aria-pressed="true"]').allInnerTexts()).toEqual(["sched=look"]);
    await page.getByRole("button", { name: "none" }).click();
    await settle(page);
    expect(await page.locator("#response").innerText()).toContain("No run is selected.");
    expect(trouble).toEqual([]);
  });

  test.each([1400, 1000, 420])("hides no choice without saying how many, %i px", async (width) => {
    const { page, trouble } = await open(report("many"), { viewport: { width, height: 900 } });
    const within = () =>
      page.locator(".legend .chips").evaluate((box) => {
        const { bottom } = box.getBoundingClientRect();
        return [...box.children].filter((chip) => chip.getBoundingClientRect().bottom <= bottom + 1).length;
      });
    const fold = page.locator(".legend .fold");
    const seen = await within();
    // None of them is cut in the middle.
    expect(await page.locator(".legend .chip").evaluateAll((chips) => chips.filter((chip) => chip.checkVisibility({ visibilityProperty: true })).length)).toBe(seen);
    if (seen < 16) {
      expect(await fold.innerText()).toBe(`${16 - seen} more`);
      await fold.click();
      await settle(page);
      await page.locator(".legend .chip").last().click();
      expect(await page.locator(".legend .chip").last().getAttribute("aria-pressed")).toBe("true");
      expect(await fold.innerText()).toBe("fewer lines");
    } else {
      expect(await fold.count()).toBe(0);
    }
    expect(trouble).toEqual([]);
  });

  test("has a key for each choice, and draws the best eight of many at first", async () => {
    const { page, trouble } = await open(report("many"));
    expect(await page.locator(".chip").count()).toBe(16);
    expect(await page.locator('.chip[aria-pressed="true"]').count()).toBe(8);
    // Those that are drawn stand in front, the best first.
    const pressed = await page.locator(".chip").evaluateAll((chips) => chips.map((chip) => chip.getAttribute("aria-pressed")));
    expect(pressed.lastIndexOf("true")).toBe(7);
    await page.locator(".choices").getByRole("button", { name: "all" }).click();
    await settle(page);
    // Sixteen choices under each of four loads: those of one load are seen, and of its ranking twelve.
    expect(await page.locator("#breakdown .stack").count()).toBe(16);
    expect(await page.locator(".ladder li").count()).toBe(12);
    await page.getByRole("button", { name: "Show all 16" }).click();
    expect(await page.locator(".ladder li").count()).toBe(16);
    expect(await page.locator(".partial").innerText()).toContain("64 of 80");
    expect(trouble).toEqual([]);
  });
});

describe("several loads", () => {
  test("are seen one at a time", async () => {
    const { page, trouble } = await open(report("many"));
    const heading = page.locator("#ranking-title");
    expect(await heading.innerText()).toBe("Ranking, depth=8");
    const value = () => page.locator(".ladder .value").first().innerText();
    const before = await value();
    await page.locator(".legend").getByRole("button", { name: "depth=1", exact: true }).click();
    await settle(page);
    expect(await heading.innerText()).toBe("Ranking, depth=1");
    expect(await value()).not.toBe(before);
    expect(trouble).toEqual([]);
  });

  test("have one line a choice over their depth, in its own ink", async () => {
    const { page, trouble } = await open(report("many"));
    expect(await page.locator("#loads-title").innerText()).toBe("Over depth");
    const first = await page.locator('.chip[aria-pressed="true"] line').first().getAttribute("stroke");
    const drawn = await pixelsOf(page, "loads", first!);
    expect(drawn).toBeGreaterThan(100);
    await page.locator("#loads").getByRole("button", { name: "Throughput" }).click();
    await settle(page);
    expect(await pixelsOf(page, "loads", first!)).not.toBe(drawn);
    await page.locator('.chip[aria-pressed="true"]').first().click();
    await settle(page);
    expect(await pixelsOf(page, "loads", first!)).toBeLessThan(drawn / 3);
    expect(trouble).toEqual([]);
  });

  test("set no axis of a chart that does not show them", async () => {
    type Timed = Told & { seek_ms: number };
    const file = changed("many", ({ results }) => {
      for (const one of results.runs as Timed[]) {
        if (one.load === "depth=8") continue;
        one.seek_ms *= 100;
        if (one.series) one.series["cdf_ms"] = one.series["cdf_ms"]!.map((ms) => 100 * ms);
      }
    });
    const seenIn = async (path: string) => {
      const { page, trouble } = await open(path);
      const first = await page.locator('.chip[aria-pressed="true"] line').first().getAttribute("stroke");
      const widths = await page.locator("#breakdown .stack").evaluateAll((bars) => bars.map((bar) => (bar as HTMLElement).style.width));
      const found = [await pixelsOf(page, "response", first!), widths] as const;
      expect(trouble).toEqual([]);
      return found;
    };
    expect(await seenIn(file)).toEqual(await seenIn(report("many")));
  });

  test("are no question where there is one", async () => {
    const { page } = await open(report("sample"));
    expect(await page.locator("#loads, .load").count()).toBe(0);
  });
});

describe("the ranking", () => {
  test("has an axis with its unit", async () => {
    const { page, trouble } = await open(report("sample"));
    expect((await page.locator(".ladder-axis i").allInnerTexts()).at(-1)).toMatch(/^[0-9.]+\u202fms$/);
    expect(trouble).toEqual([]);
  });
});

describe("a queue that grows", () => {
  test("has its growth in place of a mean, and no point among those that kept up", async () => {
    const { page, trouble } = await open(report("growing"));
    const rows = page.locator("#ranking li");
    const grows = (await rows.count()) - 1;
    expect(grows).toBeGreaterThan(1);
    expect(await page.locator("#ranking .mean").count()).toBe(1);
    expect(await rows.filter({ hasText: "+41.50" }).count()).toBe(grows);
    expect(await page.locator("#tradeoff").innerText()).toContain("Runs whose queue grew are left out");
    const means = page.locator("#numbers tbody tr");
    expect(await means.filter({ hasText: "41.50" }).count()).toBe(grows);
    expect(trouble).toEqual([]);
  });
});

test("a choice that failed many requests has no bar, and does not set the axis", async () => {
  const file = join(tmpdir(), `nearslot-failed-${process.pid}.html`);
  const bars = async (path: string) => {
    const { page, trouble } = await open(path);
    const found = [await page.locator(".ladder .mean").count(), await page.locator(".ladder li").count()] as const;
    const told = await page.locator("#ranking").innerText();
    expect(trouble).toEqual([]);
    return { found, told };
  };
  const usual = await bars(report("sample"));
  expect(usual.found[0]).toBe(usual.found[1]);
  expect(usual.told).not.toContain("has no bar");
  const written = readFileSync(report("sample"), "utf8");
  const last = written.lastIndexOf('"standing":"keeps up"');
  writeFileSync(file, written.slice(0, last) + written.slice(last).replace('"keeps up"', '"failed"'));
  const failed = await bars(file);
  expect(failed.found).toEqual([usual.found[0] - 1, usual.found[1]]);
  expect(failed.told).toContain("has no bar: its mean is of what it answered");
  writeFileSync(file, written.replaceAll('"standing":"keeps up"', '"standing":"failed"'));
  const none = await bars(file);
  expect(none.found).toEqual([0, usual.found[1]]);
  expect(none.told).toMatch(/\d\sms/);
  expect(none.told).not.toMatch(/\d\s(ns|µs)/);
  rmSync(file);
});
