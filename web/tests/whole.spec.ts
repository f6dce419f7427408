// What any report is, whatever is in it: it complains of nothing, its words do not touch, data stay words.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import { changed, inBrowser, open, pixelsOf, report, settle } from "./browser";
import { overprinted, touching } from "./labels";

inBrowser();

describe("every report", () => {
  const names = ["sample", "full", "hostile", "many", "bare", "single", "hosts", "host-processes", "one-stream", "files", "log", "taken", "transactions", "cached"];
  const DRIVES: Record<string, string> = {
    files: "hp-c2247a",
    log: "hp-c2247a",
    transactions: "hp-c2247a",
    taken: "desktop-7200-90mb",
    cached: "desktop-7200-90mb",
  };
  const views = [
    { width: 1400, height: 900, colorScheme: "light" },
    { width: 420, height: 800, colorScheme: "dark" },
  ] as const;
  const cases = names.flatMap((name) => views.map((view) => ({ name, ...view })));
  test.each(cases)("$name, $width px, $colorScheme: no complaint, no request, no overflow", async (one) => {
    const { name, width, height, colorScheme } = one;
    const { page, trouble } = await open(report(name), { viewport: { width, height }, colorScheme });
    expect(await page.locator("h1").count()).toBe(1);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(await page.locator(".facts").innerText()).toContain(DRIVES[name] ?? "seagate-cheetah-9lp");
    expect(trouble).toEqual([]);
  });
});

describe("words", () => {
  const names = ["sample", "full", "many", "growing", "hosts", "host-processes", "files", "log", "transactions", "taken", "cached", "figures", "capacity", "inspection", "hostile-inspection"];
  test.each(names)("of %s touch no other in a chart, stay in it, stand on nothing else and are not cut, at any width", async (name) => {
    const { page, trouble } = await open(report(name));
    for (const width of [1600, 1400, 1000, 800, 700, 420, 360, 320]) {
      await page.setViewportSize({ width, height: 900 });
      await settle(page);
      await settle(page);
      expect(await touching(page), `${width} px`).toEqual([]);
      expect(await overprinted(page), `${width} px`).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    }
    expect(trouble).toEqual([]);
  });
});

describe("a single run", () => {
  test("is described and not ranked", async () => {
    const { page, trouble } = await open(report("single"));
    expect(await page.locator("#ranking, .legend").count()).toBe(0);
    expect(await page.locator("h1").innerText()).toMatch(/^[0-9.]+\u202fms on average/);
    expect(await page.locator("#response .plot canvas").count()).toBe(1);
    expect(await page.locator(".facts").innerText()).toContain("no drive was named, so it is seagate-cheetah-9lp");
    expect(trouble).toEqual([]);
  });
});

describe("light and dark", () => {
  const ground = (page: Page) => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);

  test("follow the system until told otherwise", async () => {
    const { page, trouble } = await open(report("sample"), { colorScheme: "dark" });
    const dark = await ground(page);
    expect(await pixelsOf(page, "response", "#5aaef0")).toBeGreaterThan(200);
    await page.getByRole("button", { name: "light" }).click();
    await settle(page);
    expect(await ground(page)).not.toBe(dark);
    expect(await pixelsOf(page, "response", "#0072b2")).toBeGreaterThan(200);
    expect(await pixelsOf(page, "response", "#5aaef0")).toBe(0);
    await page.getByRole("button", { name: "auto" }).click();
    await page.emulateMedia({ colorScheme: "light" });
    await settle(page);
    expect(await ground(page)).not.toBe(dark);
    expect(trouble).toEqual([]);
  });

  test("print light, without controls", async () => {
    const { page, trouble } = await open(report("sample"), { colorScheme: "dark" });
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    await page.emulateMedia({ media: "print" });
    await settle(page);
    expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe("light");
    expect(await page.locator("nav").isVisible()).toBe(false);
    const widths = await page.evaluate(() => {
      const plots = [...document.querySelectorAll(".plot")];
      return plots.map((plot) => [plot.clientWidth, plot.querySelector("canvas")!.clientWidth]);
    });
    for (const [plot, canvas] of widths) expect(canvas).toBe(plot);
    expect(Math.max(...widths.flat())).toBeLessThan(1040);
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
    expect(trouble).toEqual([]);
  });
});

describe("hostile data", () => {
  test("stay words", async () => {
    const { page, trouble } = await open(report("hostile"));
    expect(await page.title()).not.toBe("owned");
    expect(await page.locator("img, iframe, object, a[href^='javascript']").count()).toBe(0);
    expect(await page.locator("script").count()).toBe(2);
    const words = await page.locator("body").innerText();
    expect(words).toContain("<script>document.title='owned'</script>");
    expect(words).toContain("18446744073709551615");
    await page.locator(".grid .run button").first().click();
    await page.locator("#response .plot").hover();
    expect(await page.title()).not.toBe("owned");
    expect(trouble).toEqual([]);
  });

  test("cannot run a script even from inside", async () => {
    const { page } = await open(report("sample"));
    const ran = await page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "document.title = 'owned'";
      document.body.append(script);
      return document.title;
    });
    expect(ran).not.toBe("owned");
  });
});

test("what is not as usual is among the facts", async () => {
  const file = join(tmpdir(), `nearslot-facts-${process.pid}.html`);
  const usual = await open(report("sample"));
  for (const word of ["Placement", "Merging", "Faults"]) {
    expect(await usual.page.locator(".facts").innerText()).not.toContain(word);
  }
  const written = readFileSync(report("sample"), "utf8").replaceAll('"place":{"name":"linear"}', '"place":{"name":"mirror"}');
  writeFileSync(file, written.replace('"faults":{"name":"none"}', '"faults":{"name":"injected"}'));
  const { page, trouble } = await open(file);
  const facts = await page.locator(".facts").innerText();
  expect(facts).toMatch(/Placement\s+mirror\s/);
  expect(facts).toMatch(/Faults\s+(none, injected|injected, none)\s/);
  expect(facts).not.toContain("Merging");
  expect(trouble).toEqual([]);
  rmSync(file);
});

test("data of another layout are refused in words", async () => {
  const file = join(tmpdir(), `nearslot-refused-${process.pid}.html`);
  writeFileSync(file, readFileSync(report("sample"), "utf8").replace('"schema":5', '"schema":6'));
  const { page, trouble } = await open(file);
  expect(await page.locator("main").innerText()).toContain("the data have layout 6, this page reads layout 5");
  expect(trouble).toEqual([]);
});

test("a trace that is shorter than a window has no peak of it", async () => {
  const rate = async (peaks: Record<string, number | null>) => {
    const { page, trouble } = await open(changed("sample", ({ profile }) => Object.assign(profile!, { rate_mean_rps: 60 }, peaks)));
    const told = await page.locator(".findings div", { hasText: "Rate" }).innerText();
    expect(trouble).toEqual([]);
    return told.replace(/\s+/g, " ");
  };
  expect(await rate({ rate_peak_1s_rps: 80, rate_peak_100ms_rps: 90 })).toBe("Rate 60.00 /s mean; peak 80.00 /s over 1 s, 90.00 /s over 0.1 s");
  expect(await rate({ rate_peak_1s_rps: null, rate_peak_100ms_rps: 90 })).toBe("Rate 60.00 /s mean; peak 90.00 /s over 0.1 s");
  expect(await rate({ rate_peak_1s_rps: null, rate_peak_100ms_rps: null })).toBe("Rate 60.00 /s mean");
});
