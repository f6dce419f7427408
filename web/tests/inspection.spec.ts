// An inspected trace.

import { describe, expect, test } from "vitest";

import { inBrowser, inked, open, pixelsOf, READ, report, settle, WRITE } from "./browser";

inBrowser();

describe("an inspection", () => {
  const views = [
    { width: 1300, height: 900, colorScheme: "light" },
    { width: 400, height: 800, colorScheme: "dark" },
  ] as const;
  const names = ["inspection", "bare-inspection", "hostile-inspection"];
  const cases = names.flatMap((name) => views.map((view) => ({ name, ...view })));
  test.each(cases)("$name, $width px, $colorScheme: no complaint, no request, no overflow", async (one) => {
    const { name, width, height, colorScheme } = one;
    const { page, trouble } = await open(report(name), { viewport: { width, height }, colorScheme });
    expect((await page.locator("h1").innerText()).length).toBeGreaterThan(10);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(await page.title()).not.toBe("owned");
    for (const pixels of await inked(page)) expect(pixels).toBeGreaterThan(1_000);
    expect(await page.locator(".plot").count()).toBe({ inspection: 7, "bare-inspection": 0, "hostile-inspection": 11 }[name]);
    expect(trouble).toEqual([]);
  });

  test("draws reads and writes in their inks, and maps of what is chosen", async () => {
    const { page, trouble } = await open(report("inspection"));
    for (const section of ["load", "sizes", "cache"]) {
      for (const ink of [READ, WRITE]) expect(await pixelsOf(page, section, ink)).toBeGreaterThan(200);
    }
    const drawn = async () => (await inked(page)).slice(2, 4);
    const both = await drawn();
    await page.getByRole("button", { name: "Writes" }).click();
    await settle(page);
    const writes = await drawn();
    await page.getByRole("button", { name: "Reads" }).click();
    await settle(page);
    const reads = await drawn();
    for (const map of [0, 1]) {
      expect(reads[map]).toBeLessThan(both[map]!);
      expect(writes[map]).toBeLessThan(reads[map]!);
    }
    expect(trouble).toEqual([]);
  });

  test("is read by pointer and keys, up and down too", async () => {
    const { page } = await open(report("inspection"));
    const plot = page.locator("#addresses .plot").first();
    await plot.focus();
    await page.keyboard.press("ArrowRight");
    await settle(page);
    const words = () => plot.locator(".readout").innerText();
    const before = await words();
    expect(before).toMatch(/^[0-9.]+ to [0-9.]+ \w+, .+iB to .+iB\s+reads\s+\d+\s+writes\s+\d+$/);
    for (let times = 0; times < 3; times++) await page.keyboard.press("ArrowUp");
    await settle(page);
    const above = await words();
    expect(above).not.toBe(before);
    expect(above.split(",")[0]).toBe(before.split(",")[0]);
    await page.locator("#cache .plot").hover();
    const held = await page.locator("#cache .readout").innerText();
    expect(held).toMatch(/^a cache of [0-9.]+\s.?i?B\s+touches by reads\s+[0-9.]+\u202f%/);
  });
});
