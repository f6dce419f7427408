// What a reader does with a report, in a real browser on real files.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { inked, open, pixelsIn, pixelsOf, report, settle, start } from "./browser";
import { touching } from "./labels";
import { meet, outside, seen } from "./names";

let browser: Browser;
beforeAll(async () => {
  browser = await start();
});
afterAll(() => browser.close());

const column = (page: Page, key: string) =>
  page.evaluate((key) => {
    const head = document.querySelector(`[data-column="${key}"]`)!.closest("th")!;
    const at = [...head.parentElement!.children].indexOf(head);
    const rows = [...document.querySelectorAll(".grid > tbody > tr:not(.opened)")];
    return rows.map((row) => (row.children[at] as HTMLElement).innerText.replaceAll("\u202f", ""));
  }, key);

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
    const { page, trouble } = await open(browser, report(name), { viewport: { width, height }, colorScheme });
    expect(await page.locator("h1").count()).toBe(1);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(await page.locator(".facts").innerText()).toContain(DRIVES[name] ?? "seagate-cheetah-9lp");
    expect(trouble).toEqual([]);
    await page.context().close();
  });
});

describe("words of charts", () => {
  const names = ["sample", "full", "many", "growing", "hosts", "host-processes", "files", "log", "transactions", "cached", "figures", "capacity", "inspection", "hostile-inspection"];
  test.each(names)("of %s touch no other, and stay in their chart, at any width", async (name) => {
    const { page, trouble } = await open(browser, report(name));
    for (const width of [1400, 1000, 700, 420, 360]) {
      await page.setViewportSize({ width, height: 900 });
      await settle(page);
      await settle(page);
      expect(await touching(page), `${width} px`).toEqual([]);
    }
    expect(trouble).toEqual([]);
    await page.context().close();
  });
});

describe("file systems", () => {
  const numbers = (page: Page, title: string) =>
    page.locator(`#files article[aria-label="${title}"] li b`).evaluateAll((all) => all.map((one) => Number((one.textContent ?? "").replaceAll("\u202f", ""))));

  test.each([1400, 420])("begin with when all was written and where files lie, %i px", async (width) => {
    const { page, trouble } = await open(browser, report("files"), { viewport: { width, height: 900 } });
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
    await page.context().close();
  });

  test("in a log tell of its cleaner, and have no mini-groups", async () => {
    const { page, trouble } = await open(browser, report("log"));
    for (const title of ["Read by the cleaner", "Segments cleaned", "Checkpoints"]) expect(Math.min(...(await numbers(page, title)))).toBeGreaterThan(0);
    const lived = page.locator('#files article[aria-label="Read by the cleaner"] i.strength-0[title]');
    expect(await lived.first().getAttribute("title")).toMatch(/^that lived [0-9\u202f]+/);
    expect(await page.locator(".minis").count()).toBe(0);
    expect(trouble).toEqual([]);
    await page.context().close();
  });

  test("whose processes took no time have no rows of 0 ms, and short times have a unit that fits", async () => {
    const { page, trouble } = await open(browser, report("taken"));
    expect(await page.locator("#processes").count()).toBe(0);
    expect(await page.locator("h1").innerText()).toMatch(/^Everything is done and written after 0\.[0-9]+\u202fms\.$/);
    expect(await page.locator("main").innerText()).not.toMatch(/[0-9]e[\u2212-][0-9]/);
    expect(await page.locator("main").innerText()).not.toContain("\n0\u202fms");
    // The drive's cache took all of it: of the arm there is no picture.
    expect(await page.locator("#arm").innerText()).toContain("No command of the stretch moved the arm");
    expect(await page.locator("#arm .plot").count()).toBe(1);
    expect(trouble).toEqual([]);
    await page.context().close();
  });
});

describe("transactions", () => {
  test.each([1400, 420])("come first, as the headline has them, and nothing else is called better, %i px", async (width) => {
    const { page, trouble } = await open(browser, report("transactions"), { viewport: { width, height: 900 } });
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
    await page.context().close();
  });
});

describe("a drive with a write cache", () => {
  test("has no way of the arm for what the cache took, and says so", async () => {
    const { page, trouble } = await open(browser, report("cached"));
    expect(await page.locator("#arm .rail").innerText()).toContain("Strokes at the foot are commands that were answered without the arm");
    const plot = page.locator("#arm .plot").first();
    await plot.scrollIntoViewIfNeeded();
    const box = (await plot.locator(".u-over").boundingBox())!;
    const readout = plot.locator(".readout");
    const said = async (height: number, words: string) => {
      for (let step = 0; step < 200; step++) {
        await page.mouse.move(box.x + (box.width * step) / 200, box.y + box.height * height);
        if ((await readout.isVisible()) && (await readout.innerText()).startsWith(words)) return readout.innerText();
      }
      return "";
    };
    const write = await said(0.995, "write in place, answered without the arm at");
    expect(write).toContain("address on cylinder");
    expect(write).not.toContain("seek");
    expect(trouble).toEqual([]);
    await page.context().close();
  });

  test("has axes of the load that is seen: a short one is not squeezed by a long one", async () => {
    const { page } = await open(browser, report("cached"));
    const widths: number[] = [];
    for (const load of ["requests=300", "requests=3000"]) {
      await page.locator(".legend").getByRole("button", { name: load, exact: true }).click();
      await settle(page);
      // How far the queue of the longest run reaches, as a share of its chart.
      const reaches = await page.locator("#arm .beneath .plot canvas").evaluateAll((charts) =>
        charts.map((canvas) => {
          const copy = document.createElement("canvas");
          const chart = canvas as HTMLCanvasElement;
          [copy.width, copy.height] = [chart.width, chart.height];
          const context = copy.getContext("2d", { willReadFrequently: true })!;
          context.drawImage(chart, 0, 0);
          const { data } = context.getImageData(0, 0, copy.width, copy.height);
          let right = 0;
          for (let at = 0; at < data.length; at += 4) {
            const [red, green, blue] = [data[at]!, data[at + 1]!, data[at + 2]!];
            if (data[at + 3]! > 150 && Math.max(red, green, blue) - Math.min(red, green, blue) > 60) right = Math.max(right, (at / 4) % copy.width);
          }
          return right / copy.width;
        }),
      );
      expect(reaches).toHaveLength(2);
      widths.push(Math.max(...reaches));
    }
    for (const width of widths) expect(width).toBeGreaterThan(0.9);
    await page.context().close();
  });
});

describe("charts", () => {
  test("are drawn", async () => {
    const { page } = await open(browser, report("sample"));
    const pixels = await inked(page);
    // Two for the trace, one each for distribution and throughput, three over time, six arms with their queues, two maps.
    expect(pixels).toHaveLength(21);
    for (const count of pixels) expect(count).toBeGreaterThan(2_000);
    for (const ink of ["#0072b2", "#d55e00", "#00836a"]) {
      expect(await pixelsOf(page, "response", ink)).toBeGreaterThan(200);
    }
    expect(await page.locator("#breakdown .stack").count()).toBe(6);
    await page.context().close();
  });

  test("show the tail on request", async () => {
    const { page, trouble } = await open(browser, report("sample"));
    const before = await pixelsOf(page, "response", "#0072b2");
    await page.getByRole("button", { name: "Tail" }).click();
    await settle(page);
    expect(await page.locator("#response .plot").getAttribute("aria-label")).toContain("Tail");
    const after = await pixelsOf(page, "response", "#0072b2");
    expect(after).toBeGreaterThan(200);
    expect(after).not.toBe(before);
    expect(trouble).toEqual([]);
    await page.context().close();
  });

  test("read out what the pointer is over", async () => {
    const { page } = await open(browser, report("sample"));
    const plot = page.locator("#response .plot");
    await plot.scrollIntoViewIfNeeded();
    await plot.hover();
    const readout = plot.locator(".readout");
    expect(await readout.isVisible()).toBe(true);
    const words = await readout.innerText();
    expect(words).toMatch(/^within [0-9.]+\u202fms/);
    expect(words).toMatch(/sched=satf\s+[0-9.]+\u202f%/);
    // The trace tells the same of all runs: one line.
    expect(words.match(/as traced/g)).toHaveLength(1);
    await page.mouse.move(0, 0);
    expect(await readout.isVisible()).toBe(false);
    await page.context().close();
  });

  test("are read and zoomed by keys", async () => {
    const { page } = await open(browser, report("sample"));
    const plot = page.locator("#time .plot").last();
    await plot.focus();
    await page.keyboard.press("ArrowRight");
    await settle(page);
    const readouts = page.locator("#time .readout:visible");
    expect(await readouts.count()).toBe(3);
    const before = await inked(page);
    await page.keyboard.press("+");
    await settle(page);
    expect(await inked(page)).not.toEqual(before);
    await page.keyboard.press("Escape");
    await settle(page);
    expect(await inked(page)).toEqual(before);
    await page.context().close();
  });

});

const READ = "#0072b2";
const WRITE = "#d55e00";

describe("the table of numbers", () => {
  test("says that it scrolls where it does, and to which side", async () => {
    const { page } = await open(browser, report("sample"), { viewport: { width: 400, height: 800 } });
    const hint = page.locator("#numbers .scroll-hint");
    const sides = () =>
      page.locator("#numbers .scroll-frame").evaluate(({ classList }) => ["before", "behind"].filter((side) => classList.contains(side)));
    expect(await hint.innerText()).toMatch(/^more columns .*\u2192$/);
    expect(await sides()).toEqual(["behind"]);
    await page.locator("#numbers .scroll").evaluate((box) => box.scrollTo({ left: box.scrollWidth, behavior: "instant" }));
    await settle(page);
    expect(await hint.innerText()).toMatch(/^\u2190 more columns/);
    expect(await sides()).toEqual(["before"]);
    await page.context().close();
  });
});

describe("the arm's way", () => {
  const arm = (label: string) => `#arm article[aria-label="The arm under sched=${label}"]`;
  const inks = async (page: Page, label: string) => [
    await pixelsIn(page, `${arm(label)} canvas`, READ),
    await pixelsIn(page, `${arm(label)} canvas`, WRITE),
  ];

  test("has marks of reads, eager writes and writes in place, the path and the waits", async () => {
    const { page, trouble } = await open(browser, report("sample"));
    const [reads = 0, eager = 0] = await inks(page, "satf");
    for (const many of [reads, eager]) expect(many).toBeGreaterThan(200);
    expect(await pixelsIn(page, `${arm("satf")} canvas`, "#9aa2ad")).toBeGreaterThan(200);
    expect(await pixelsIn(page, `${arm("satf")} canvas`, "#ccd3dc")).toBeGreaterThan(200);
    expect(trouble).toEqual([]);
    // The same run, said to write in place: its diamonds are open ones.
    const other = await open(browser, report("in-place"));
    const [same, inPlace = 0] = await inks(other.page, "satf");
    expect(same).toBe(reads);
    expect(inPlace).toBeGreaterThan(100);
    expect(inPlace).not.toBe(eager);
    // Of eager writes nothing is said where there are none.
    expect(await page.locator("#arm .rail").innerText()).toContain("eager or range write");
    expect(await other.page.locator("#arm .rail").innerText()).not.toContain("eager or range write");
    await page.context().close();
    await other.page.context().close();
  });

  test("is paged through and zoomed, all runs together", async () => {
    const { page, trouble } = await open(browser, report("sample"));
    const both = async () => [...(await inks(page, "satf")), ...(await inks(page, "look"))];
    const moved = async (button: string) => {
      const before = await both();
      await page.getByRole("button", { name: button }).click();
      await settle(page);
      const after = await both();
      expect(after[0]).not.toBe(before[0]);
      expect(after[2]).not.toBe(before[2]);
    };
    for (const button of ["Later commands", "Earlier commands", "Zoom in", "Zoom out", "whole stretch"]) await moved(button);
    expect(await page.getByRole("button", { name: "Later commands" }).isDisabled()).toBe(true);
    expect(trouble).toEqual([]);
    await page.context().close();
  });

  test("tells the times of the command under the pointer", async () => {
    const { page } = await open(browser, report("sample"));
    const plot = page.locator(`${arm("satf")} .plot`).first();
    await plot.scrollIntoViewIfNeeded();
    const box = (await plot.locator(".u-over").boundingBox())!;
    const readout = plot.locator(".readout");
    // Somewhere along the middle there is a mark.
    for (let step = 0; step < 60 && !(await readout.isVisible()); step++) {
      await page.mouse.move(box.x + (box.width * step) / 60, box.y + box.height / 2);
    }
    const words = await readout.innerText();
    expect(words).toMatch(/^(read|eager or range write), started at [0-9.]+\u202f(ms|s)/);
    for (const part of ["cylinder", "overhead", "seek", "rotation", "transfer"]) expect(words).toContain(part);
    await page.context().close();
  });

  test("comes with its counts, its gaps and its queue", async () => {
    const { page } = await open(browser, report("sample"));
    const facts = await page.locator(`${arm("satf")} .stretch`).innerText();
    expect(facts).toMatch(/Reads\s+[0-9]+\s+Writes\s+[0-9]+\s/);
    expect(facts).toMatch(/Writes per gap\s+0\.650/);
    expect(await page.locator(`${arm("satf")} .gaps li`).allInnerTexts()).toEqual([..."01234567", "8+"]);
    const tall = await page.locator(`${arm("satf")} .gaps i`).evaluateAll((bars) => bars.map((bar) => bar.clientHeight));
    expect(tall[0]).toBeGreaterThan(tall[1]! * 2);
    expect(tall[8]).toBeLessThan(5);
    const queue = `${arm("satf")} .beneath canvas`;
    for (const ink of [READ, WRITE]) expect(await pixelsIn(page, queue, ink)).toBeGreaterThan(50);
    await page.context().close();
  });
});

describe("the map of free space", () => {
  test("is drawn for the runs that have one, as it is and as it changes", async () => {
    const { page, trouble } = await open(browser, report("sample"));
    expect(await page.locator("#space .plot").count()).toBe(2);
    // The fullest group of the sample has 35 % free, the emptiest 66 %.
    const ends = page.locator("#space .ramp span");
    expect(await ends.allInnerTexts()).toEqual(["35.0\u202f%", "66.0\u202f%"]);
    const dark = await pixelsOf(page, "space", "#08306b");
    expect(dark).toBeGreaterThan(500);
    await page.getByRole("button", { name: "Change" }).click();
    await settle(page);
    expect(await pixelsOf(page, "space", "#08306b")).toBe(0);
    expect((await ends.allInnerTexts())[0]).toMatch(/^\u2212/);
    await page.locator("#space .plot").first().hover();
    const words = await page.locator("#space .readout").first().innerText();
    expect(words).toMatch(/^cylinders [0-9]+ to [0-9]+, at [0-9.]+ s/);
    expect(words).toContain("since the start");
    expect(trouble).toEqual([]);
    await page.context().close();
  });

  test("is left out where nothing is placed eagerly", async () => {
    const { page } = await open(browser, report("bare"));
    expect(await page.locator("#space").count()).toBe(0);
    await page.context().close();
  });
});

describe("published figures", () => {
  const views = [
    { width: 1400, height: 900, colorScheme: "light" },
    { width: 420, height: 800, colorScheme: "dark" },
  ] as const;
  const cases = ["figures", "odd-figures"].flatMap((name) => views.map((view) => ({ name, ...view })));
  test.each(cases)("$name, $width px, $colorScheme: no complaint, no request, no overflow", async (one) => {
    const { name, width, height, colorScheme } = one;
    const { page, trouble } = await open(browser, report(name), { viewport: { width, height }, colorScheme });
    expect(await page.locator("h1").innerText()).toBe("2 of 8 claims hold, provisionally.");
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(await page.title()).not.toBe("owned");
    expect(trouble).toEqual([]);
    await page.context().close();
  });

  const widths = [1300, 400];
  test.each(widths)("of a capacity have the answer, its table and the limit, %d px", async (width) => {
    const { page, trouble } = await open(browser, report("capacity"), { viewport: { width, height: 900 } });
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
    await page.context().close();
  });

  test("have a line with its band for each scheduler, at the overhead that is chosen", async () => {
    const { page, trouble } = await open(browser, report("figures"));
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
    await page.context().close();
  });

  test("have their claims beside them", async () => {
    const { page } = await open(browser, report("figures"));
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
    await page.context().close();
  });
});

describe("an inspection", () => {
  const views = [
    { width: 1300, height: 900, colorScheme: "light" },
    { width: 400, height: 800, colorScheme: "dark" },
  ] as const;
  const names = ["inspection", "bare-inspection", "hostile-inspection"];
  const cases = names.flatMap((name) => views.map((view) => ({ name, ...view })));
  test.each(cases)("$name, $width px, $colorScheme: no complaint, no request, no overflow", async (one) => {
    const { name, width, height, colorScheme } = one;
    const { page, trouble } = await open(browser, report(name), { viewport: { width, height }, colorScheme });
    expect((await page.locator("h1").innerText()).length).toBeGreaterThan(10);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(await page.title()).not.toBe("owned");
    for (const pixels of await inked(page)) expect(pixels).toBeGreaterThan(1_000);
    expect(await page.locator(".plot").count()).toBe({ inspection: 7, "bare-inspection": 0, "hostile-inspection": 11 }[name]);
    expect(trouble).toEqual([]);
    await page.context().close();
  });

  test("draws reads and writes in their inks, and maps of what is chosen", async () => {
    const { page, trouble } = await open(browser, report("inspection"));
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
    await page.context().close();
  });

  test("is read by pointer and keys, up and down too", async () => {
    const { page } = await open(browser, report("inspection"));
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
    await page.context().close();
  });
});

describe("the legend", () => {
  test("shows and hides a run everywhere", async () => {
    const { page, trouble } = await open(browser, report("sample"));
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
    await page.context().close();
  });

  test("shows one run alone, and says when there is none", async () => {
    const { page, trouble } = await open(browser, report("sample"));
    await page.locator(".chip", { hasText: "sched=look" }).dblclick();
    await settle(page);
    expect(await page.locator('.chip[aria-pressed="true"]').allInnerTexts()).toEqual(["sched=look"]);
    await page.getByRole("button", { name: "none" }).click();
    await settle(page);
    expect(await page.locator("#response").innerText()).toContain("No run is selected.");
    expect(trouble).toEqual([]);
    await page.context().close();
  });

  test.each([1400, 1000, 420])("hides no choice without saying how many, %i px", async (width) => {
    const { page, trouble } = await open(browser, report("many"), { viewport: { width, height: 900 } });
    const within = () =>
      page.locator(".legend .chips").evaluate((box) => {
        const { bottom } = box.getBoundingClientRect();
        return [...box.children].filter((chip) => chip.getBoundingClientRect().bottom <= bottom + 1).length;
      });
    const fold = page.locator(".legend .fold");
    const seen = await within();
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
    await page.context().close();
  });

  test("has a key for each choice, and draws the best eight of many at first", async () => {
    const { page, trouble } = await open(browser, report("many"));
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
    await page.context().close();
  });
});

describe("several loads", () => {
  test("are seen one at a time", async () => {
    const { page, trouble } = await open(browser, report("many"));
    const heading = page.locator("#ranking-title");
    expect(await heading.innerText()).toBe("Ranking, depth=8");
    const value = () => page.locator(".ladder .value").first().innerText();
    const before = await value();
    await page.locator(".legend").getByRole("button", { name: "depth=1", exact: true }).click();
    await settle(page);
    expect(await heading.innerText()).toBe("Ranking, depth=1");
    expect(await value()).not.toBe(before);
    expect(trouble).toEqual([]);
    await page.context().close();
  });

  test("have one line a choice over their depth, in its own ink", async () => {
    const { page, trouble } = await open(browser, report("many"));
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
    await page.context().close();
  });

  test("set no axis of a chart that does not show them", async () => {
    const file = join(tmpdir(), `nearslot-axes-${process.pid}.html`);
    const written = readFileSync(report("many"), "utf8");
    const data = /(<script[^>]*type="application\/json"[^>]*>)([^]*?)(<\/script>)/;
    const slower = (one: { load: string; seek_ms: number; series: { cdf_ms: number[] } | null }) =>
      one.load === "depth=8"
        ? one
        : { ...one, seek_ms: 100 * one.seek_ms, series: one.series && { ...one.series, cdf_ms: one.series.cdf_ms.map((ms) => 100 * ms) } };
    const changed = written.replace(data, (_all, head: string, text: string, foot: string) => {
      const all = JSON.parse(text);
      all.results.runs = all.results.runs.map(slower);
      return head + JSON.stringify(all).replaceAll("<", "\\u003c") + foot;
    });
    expect(changed).not.toBe(written);
    writeFileSync(file, changed);
    const seenIn = async (path: string) => {
      const { page, trouble } = await open(browser, path);
      const first = await page.locator('.chip[aria-pressed="true"] line').first().getAttribute("stroke");
      const widths = await page.locator("#breakdown .stack").evaluateAll((bars) => bars.map((bar) => (bar as HTMLElement).style.width));
      const found = [await pixelsOf(page, "response", first!), widths] as const;
      expect(trouble).toEqual([]);
      await page.context().close();
      return found;
    };
    expect(await seenIn(file)).toEqual(await seenIn(report("many")));
    rmSync(file);
  });

  test("are no question where there is one", async () => {
    const { page } = await open(browser, report("sample"));
    expect(await page.locator("#loads, .load").count()).toBe(0);
    await page.context().close();
  });
});

describe("a single run", () => {
  test("is described and not ranked", async () => {
    const { page, trouble } = await open(browser, report("single"));
    expect(await page.locator("#ranking, .legend").count()).toBe(0);
    expect(await page.locator("h1").innerText()).toMatch(/^[0-9.]+\u202fms on average/);
    expect(await page.locator("#response .plot canvas").count()).toBe(1);
    expect(await page.locator(".facts").innerText()).toContain("no drive was named, so it is seagate-cheetah-9lp");
    expect(trouble).toEqual([]);
    await page.context().close();
  });
});

describe("a queue that grows", () => {
  test("has its growth in place of a mean, and no point among those that kept up", async () => {
    const { page, trouble } = await open(browser, report("growing"));
    const rows = page.locator("#ranking li");
    const grows = (await rows.count()) - 1;
    expect(grows).toBeGreaterThan(1);
    expect(await page.locator("#ranking .mean").count()).toBe(1);
    expect(await rows.filter({ hasText: "+41.50" }).count()).toBe(grows);
    expect(await page.locator("#tradeoff").innerText()).toContain("Runs whose queue grew are left out");
    const means = page.locator("#numbers tbody tr");
    expect(await means.filter({ hasText: "41.50" }).count()).toBe(grows);
    expect(trouble).toEqual([]);
    await page.context().close();
  });
});

describe("the table", () => {
  test("sorts by any column, both ways", async () => {
    const { page } = await open(browser, report("sample"));
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
    await page.context().close();
  });

  test("opens a run to all its distributions", async () => {
    const { page, trouble } = await open(browser, report("sample"));
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
    await page.context().close();
  });

  test("leaves out columns that no run has", async () => {
    const { page } = await open(browser, report("bare"));
    expect(await page.locator('[data-column="Reads.mean.ms"]').count()).toBe(1);
    expect(await page.locator('[data-column="Writes.mean.ms"]').count()).toBe(0);
    expect(await page.locator("#response, #time, #arm").count()).toBe(0);
    expect(await page.locator(".verdict").innerText()).toContain("Too few requests");
    await page.context().close();
  });
});

describe("light and dark", () => {
  const ground = (page: Page) => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);

  test("follow the system until told otherwise", async () => {
    const { page, trouble } = await open(browser, report("sample"), { colorScheme: "dark" });
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
    await page.context().close();
  });

  test("print light, without controls", async () => {
    const { page, trouble } = await open(browser, report("sample"), { colorScheme: "dark" });
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
    await page.context().close();
  });
});

describe("hostile data", () => {
  test("stay words", async () => {
    const { page, trouble } = await open(browser, report("hostile"));
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
    await page.context().close();
  });

  test("cannot run a script even from inside", async () => {
    const { page } = await open(browser, report("sample"));
    const ran = await page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "document.title = 'owned'";
      document.body.append(script);
      return document.title;
    });
    expect(ran).not.toBe("owned");
    await page.context().close();
  });
});

describe("hosts", () => {
  test.each([1400, 420])("come with bars by load, the idle time and what is not up first, %i px", async (width) => {
    const { page, trouble } = await open(browser, report("hosts"), { viewport: { width, height: 900 } });
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
    await page.context().close();
  });

  test("are neither ranked nor praised by means of requests", async () => {
    const { page } = await open(browser, report("hosts"));
    expect(await page.locator("#ranking, #tradeoff").count()).toBe(0);
    expect(await page.locator("main").innerText()).not.toMatch(/urther (right|left)/);
    expect(await page.locator("#time .plot").count()).toBe(3);
    expect(await page.locator("#time .plot").first().getAttribute("aria-label")).toContain("not up after 60\u202fs");
    // The ground is shaded from the start on: far more than a line has.
    expect(await pixelsOf(page, "time", "#0072b2")).toBeGreaterThan(20_000);
    await page.context().close();
  });

  test("tell rounds by process, and every process of a run that is chosen", async () => {
    const { page } = await open(browser, report("hosts"));
    await page.locator("#processes").getByRole("button", { name: "Rounds" }).click();
    expect((await page.locator("#processes .group").allInnerTexts()).slice(-2)).toEqual(["writer-4", "launch"]);
    await page.locator("#processes select").selectOption({ label: "sched=bfq beside=4r4w-rand" });
    expect((await page.locator(".processes tbody tr").last().innerText()).replaceAll("\u202f", "")).toMatch(/^launch\s9\s1\syes\s1.340s/);
    expect(await page.locator(".streams").innerText()).toContain("13\u00a0X");
    await page.context().close();
  });
});

describe("long names", () => {
  const LONG = [
    "sched=fcfs faults=none",
    "sched=fcfs faults=injected:gone_at_s=10",
    "sched=fcfs faults=injected:slow_add_ms=20,slow_from_s=5,slow_drive=1",
    "sched=aged_satf drive.queue_depth=32 drive.cache=volatile faults=injected:gone_at_s=10",
    "sched=aged_satf drive.queue_depth=32 drive.cache=volatile faults=injected:slow_add_ms=20",
    `sched=${"x".repeat(300)}`,
  ];
  const file = join(tmpdir(), `nearslot-names-${process.pid}.html`);
  beforeAll(() => {
    const names = ["fcfs", "look", "clook", "sstf", "satf", "aged_satf"].map((name) => `"sched=${name}"`);
    const written = names.reduce((page, name, at) => page.replaceAll(name, `"${LONG[at]!}"`), readFileSync(report("sample"), "utf8"));
    writeFileSync(file, written);
  });
  afterAll(() => rmSync(file));

  /** Where each name of a section stands, and what stands beside it. */
  const PLACES = [
    { rows: ".legend .chip", beside: ".key" },
    { rows: "#ranking li", beside: ".place, .key, .track, .value, .against" },
    { rows: "#breakdown tbody tr", beside: ".key, .stack, td.number" },
    { rows: "#arm h3", beside: ".key" },
    { rows: "#space h3", beside: ".key" },
    { rows: "#numbers tbody tr", beside: ".key, td" },
  ];
  const cases = [700, 1200, 1600].flatMap((width) => PLACES.map((place) => ({ width, ...place })));
  test.each(cases)("stay in their rows and off all else, $width px, $rows", async ({ width, rows, beside }) => {
    const { page, trouble } = await open(browser, file, { viewport: { width, height: 900 } });
    const found = await page.evaluate(seen, { rows, beside });
    expect(found.length).toBeGreaterThan(1);
    for (const { name, title, cut, row, box, others } of found) {
      expect(LONG, name).toContain(name);
      expect(title).toBe(name);
      // Only what cannot be broken is cut, once.
      expect(cut, name).toBe(name.includes("xxx") ? 1 : 0);
      expect(outside(box, row), `${name} leaves its row`).toBe(false);
      for (const other of others) expect(meet(box, other), `${name} over what is beside it`).toBe(false);
      for (const other of found) expect(other.name !== name && meet(box, other.box), `${name} over ${other.name}`).toBe(false);
    }
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(trouble).toEqual([]);
    await page.context().close();
  });
});

describe("names of several lines", () => {
  const file = join(tmpdir(), `nearslot-lines-${process.pid}.html`);
  beforeAll(() => {
    const names = ["none", "mq-deadline", "bfq"].map((name) => `"sched=${name}"`);
    const long = (name: string) => name.replace('"sched', '"drive.queue_depth=32 drive.cache=volatile sched');
    writeFileSync(file, names.reduce((page, name) => page.replaceAll(name, long(name)), readFileSync(report("hosts"), "utf8")));
  });
  afterAll(() => rmSync(file));
  test.each([1400, 1000, 700, 420])("keep apart from those of the next row, %i px", async (width) => {
    const { page, trouble } = await open(browser, file, { viewport: { width, height: 900 } });
    const rows = await page.locator("#processes .row .label").evaluateAll((all) => all.map((one) => one.getBoundingClientRect()).map(({ top, bottom }) => [top, bottom]));
    expect(rows).toHaveLength(9);
    // More than one line, and a gap behind each.
    expect(Math.max(...rows.map(([top, bottom]) => bottom! - top!))).toBeGreaterThan(width < 500 ? 10 : 25);
    rows.slice(1).forEach(([top], index) => expect(top! - rows[index]![1]!).toBeGreaterThan(4));
    expect(trouble).toEqual([]);
    await page.context().close();
  });
});

describe("a long name in the headline", () => {
  const file = join(tmpdir(), `nearslot-headline-${process.pid}.html`);
  const name = `faults=injected:slow_add_ms=20:slow_from_s=5:slow_drive=1:gone_at_s=100:gone_drive=3:lost_share=${"0".repeat(80)}`;
  beforeAll(() => {
    const written = readFileSync(report("sample"), "utf8");
    writeFileSync(file, written.replace(/"headline":"[^"]*"/, `"headline":"${name} wins: 5 ms on average."`));
  });
  afterAll(() => rmSync(file));
  test.each([420, 1300, 1400])("stays in its column, %i px", async (width) => {
    const { page, trouble } = await open(browser, file, { viewport: { width, height: 900 } });
    const heading = page.locator("h1");
    expect(await heading.innerText()).toContain(name);
    expect(await heading.evaluate((box) => box.scrollWidth - box.clientWidth)).toBeLessThanOrEqual(0);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(trouble).toEqual([]);
    await page.context().close();
  });
});

test("what is not as usual is among the facts", async () => {
  const file = join(tmpdir(), `nearslot-facts-${process.pid}.html`);
  const usual = await open(browser, report("sample"));
  for (const word of ["Placement", "Merge", "Faults"]) {
    expect(await usual.page.locator(".facts").innerText()).not.toContain(word);
  }
  await usual.page.context().close();
  const written = readFileSync(report("sample"), "utf8").replaceAll('"place":{"name":"linear"}', '"place":{"name":"mirror"}');
  writeFileSync(file, written.replace('"faults":{"name":"none"}', '"faults":{"name":"injected"}'));
  const { page, trouble } = await open(browser, file);
  const facts = await page.locator(".facts").innerText();
  expect(facts).toMatch(/Placement\s+mirror\s/);
  expect(facts).toMatch(/Faults\s+(none, injected|injected, none)\s/);
  expect(facts).not.toContain("Merge");
  expect(trouble).toEqual([]);
  rmSync(file);
  await page.context().close();
});

test("a choice that failed many requests has no bar, and does not set the axis", async () => {
  const file = join(tmpdir(), `nearslot-failed-${process.pid}.html`);
  const bars = async (path: string) => {
    const { page, trouble } = await open(browser, path);
    const found = [await page.locator(".ladder .mean").count(), await page.locator(".ladder li").count()] as const;
    const told = await page.locator("#ranking").innerText();
    expect(trouble).toEqual([]);
    await page.context().close();
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
  rmSync(file);
});

test("data of another layout are refused in words", async () => {
  const file = join(tmpdir(), `nearslot-refused-${process.pid}.html`);
  writeFileSync(file, readFileSync(report("sample"), "utf8").replace('"schema":5', '"schema":6'));
  const { page, trouble } = await open(browser, file);
  expect(await page.locator("main").innerText()).toContain("the data have layout 6, this page reads layout 5");
  expect(trouble).toEqual([]);
  await page.context().close();
});
