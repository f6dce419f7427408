// Published figures with their claims, and answers with theirs.

import { describe, expect, test } from "vitest";

import { inBrowser, open, pixelsOf, report, settle } from "./browser";

inBrowser();

describe("published figures", () => {
  const views = [
    { width: 1400, height: 900, colorScheme: "light" },
    { width: 420, height: 800, colorScheme: "dark" },
  ] as const;
  const cases = ["figures", "odd-figures"].flatMap((name) => views.map((view) => ({ name, ...view })));
  test.each(cases)("$name, $width px, $colorScheme: no complaint, no request, no overflow", async (one) => {
    const { name, width, height, colorScheme } = one;
    const { page, trouble } = await open(report(name), { viewport: { width, height }, colorScheme });
    expect(await page.locator("h1").innerText()).toBe("2 of 8 claims hold, provisionally.");
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(await page.title()).not.toBe("owned");
    expect(trouble).toEqual([]);
  });

  const widths = [1300, 400];
  test.each(widths)("of a capacity have the answer, its table and the limit, %d px", async (width) => {
    const { page, trouble } = await open(report("capacity"), { viewport: { width, height: 900 } });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    const headline = await page.locator("h1").innerText();
    expect(headline).not.toContain("`");
    expect(await page.locator("h1 code").innerText()).toBe("read p95 < 300 us and mean < 300 us");
    const heads = await page.locator("#choices thead th").allInnerTexts();
    expect(heads.map((head) => head.replace(/\s+/g, " "))).toEqual([
      "choice", "surely up to", "holds up to", "surely fails from", "read p95 ms", "95 % interval ms", "mean ms", "95 % interval ms",
      "rate req/s", "rate MB/s", "busy %", "limited by", "against best",
    ]);
    expect(await page.locator("#choices tbody tr").count()).toBe(2);
    expect(await page.locator("#choices tbody").innerText()).toContain("waits");
    expect(await page.locator(".rule-key").allInnerTexts()).toEqual(["limit 300\u202fµs", "limit 300\u202fµs"]);
    // The limit is drawn in the ink of words.
    expect(await pixelsOf(page, "mean", "#15181d")).toBeGreaterThan(200);
    expect(await page.locator("#choices .scroll-hint").count()).toBe(width === 400 ? 1 : 0);
    expect(trouble).toEqual([]);
  });

  test("have a line with its band for each scheduler, at the overhead that is chosen", async () => {
    const { page, trouble } = await open(report("figures"));
    const line = (ink: string) => pixelsOf(page, "ew-fig4", ink);
    for (const ink of ["#0072b2", "#d55e00", "#00836a", "#b3548c"]) expect(await line(ink)).toBeGreaterThan(300);
    // SCAN has a band, Hybrid has none.
    expect(await line("#00836a")).toBeGreaterThan(3 * (await line("#b3548c")));
    const plot = page.locator("#ew-fig4 .plot");
    const value = async () => {
      await page.mouse.move(0, 0);
      await plot.hover();
      return plot.locator(".readout").innerText();
    };
    const before = await value();
    expect(before).toMatch(/^at 16\s/);
    expect(before).toMatch(/FreeBW-SCAN\s+[0-9.]+ \u00b1\u202f[0-9.]+ requests\/s/);
    expect(before).toMatch(/FreeBW-Hybrid\s+[0-9.]+ requests\/s/);
    await page.locator("#ew-fig4").getByRole("button", { name: "0 ms", exact: true }).click();
    await settle(page);
    expect(await value()).not.toBe(before);
    await page.locator("#ew-fig4 .chip", { hasText: "FreeBW-SCAN" }).click();
    await settle(page);
    expect(await line("#00836a")).toBe(0);
    expect(trouble).toEqual([]);
  });

  test("have their claims beside them", async () => {
    const { page } = await open(report("figures"));
    const claims = page.locator("#ew-fig5 .claims li");
    expect(await claims.locator(".verdict-word").allInnerTexts()).toEqual([
      "holds",
      "does not hold",
      "undecided",
      "not testable",
      "told",
    ]);
    expect(await claims.nth(0).innerText()).toContain("provisional");
    expect(await claims.nth(1).innerText()).not.toContain("provisional");
    expect(await page.locator(".verdict").innerText()).toContain("every verdict is provisional");
    await claims.nth(1).locator("summary").click();
    const words = await claims.nth(1).innerText();
    for (const part of ["D2", "no number (section 4)", "-9.9 \u00b1 0.5 % at 64", "+1.2 \u00b1 0.3 % at 4", "queues of 32 to 128", "at 0 ms it does not hold"]) {
      expect(words).toContain(part);
    }
  });
});
