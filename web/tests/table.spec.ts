// The table of all numbers.

import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import { changed, inBrowser, open, report, settle } from "./browser";

inBrowser();

const column = (page: Page, key: string) =>
  page.evaluate((key) => {
    const head = document.querySelector(`[data-column="${key}"]`)!.closest("th")!;
    const at = [...head.parentElement!.children].indexOf(head);
    const rows = [...document.querySelectorAll(".grid > tbody > tr:not(.opened)")];
    return rows.map((row) => (row.children[at] as HTMLElement).innerText.replaceAll("\u202f", ""));
  }, key);

describe("the table of numbers", () => {
  test("says that it scrolls where it does, and to which side", async () => {
    const { page } = await open(report("sample"), { viewport: { width: 400, height: 800 } });
    const hint = page.locator("#numbers .scroll-hint");
    const sides = () =>
      page.locator("#numbers .scroll-frame").evaluate(({ classList }) => ["before", "behind"].filter((side) => classList.contains(side)));
    expect(await hint.innerText()).toMatch(/^more columns .*\u2192$/);
    expect(await sides()).toEqual(["behind"]);
    await page.locator("#numbers .scroll").evaluate((box) => box.scrollTo({ left: box.scrollWidth, behavior: "instant" }));
    await settle(page);
    expect(await hint.innerText()).toMatch(/^\u2190 more columns/);
    expect(await sides()).toEqual(["before"]);
  });
});

describe("the table", () => {
  test("sorts by any column, both ways", async () => {
    const { page } = await open(report("sample"));
    const heading = page.locator('[data-column="Response.p99.ms"]');
    const sort = () => heading.locator("xpath=..").getAttribute("aria-sort");
    expect(await sort()).toBe("none");
    await heading.click();
    const rising = (await column(page, "Response.p99.ms")).map(Number);
    expect(rising).toEqual([...rising].sort((one, other) => one - other));
    expect(new Set(rising).size).toBeGreaterThan(3);
    expect(await sort()).toBe("ascending");
    await heading.focus();
    await page.keyboard.press("Enter");
    expect((await column(page, "Response.p99.ms")).map(Number)).toEqual(rising.reverse());
    expect(await sort()).toBe("descending");
  });

  test("opens a run to all its distributions", async () => {
    const { page, trouble } = await open(report("sample"));
    const name = page.locator(".grid .run button", { hasText: "sched=clook" });
    await name.click();
    expect(await name.getAttribute("aria-expanded")).toBe("true");
    const details = await page.locator(".details").innerText();
    for (const words of ["wait, reads", "service, writes", "interval of the mean", "read, "]) {
      expect(details).toContain(words);
    }
    await name.click();
    expect(await page.locator(".details").count()).toBe(0);
    expect(trouble).toEqual([]);
  });

  test("leaves out columns that no run has", async () => {
    const { page } = await open(report("bare"));
    expect(await page.locator('[data-column="Reads.mean.ms"]').count()).toBe(1);
    expect(await page.locator('[data-column="Writes.mean.ms"]').count()).toBe(0);
    expect(await page.locator("#response, #time, #arm").count()).toBe(0);
    expect(await page.locator(".verdict").innerText()).toContain("Too few requests");
  });
});

describe("a run that answered no request", () => {
  const zero = { mean: 0, p50: 0, p95: null, p99: null, p999: null, max: 0, ci95: null, p99_ci95: null, p999_ci95: null };
  const nothing = { requests: 0, warmup_requests: 0, operations: {}, response_ms: zero, wait_ms: zero, service_ms: zero, seek_ms: 0, rotation_ms: 0, transfer_ms: 0, overhead_ms: 0, series: null };
  test("has no mean, where others have one", async () => {
    const file = changed("transactions", ({ results }) => Object.assign(results.runs[2]!, nothing));
    const { page, trouble } = await open(file);
    const means = await column(page, "Response.mean.ms");
    expect([means.length, means.indexOf("none"), means.lastIndexOf("none")]).toEqual([3, 2, 2]);
    expect((await column(page, "Mean parts.wait.ms")).filter((cell) => cell === "none")).toHaveLength(1);
    expect(await page.locator("#breakdown tbody tr").last().locator(".number").allInnerTexts()).toEqual(Array(4).fill("none"));
    await page.locator(".grid .run button").last().click();
    expect(await page.locator(".details").innerText()).toContain("No request was answered");
    expect(trouble).toEqual([]);
  });

  test("has none alone", async () => {
    const file = changed("transactions", ({ results }) => {
      results.runs = [Object.assign(results.runs[2]!, nothing)];
      Object.assign(results, { varied: [], runs_planned: 1 });
      results.verdict.rankings = [];
    });
    const { page, trouble } = await open(file);
    expect(await column(page, "Response.mean.ms")).toEqual(["none"]);
    expect(await page.locator("#breakdown").count()).toBe(0);
    // With one run there is nothing that is further right.
    expect(await page.locator("main").innerText()).not.toContain("urther right");
    expect(trouble).toEqual([]);
  });
});
