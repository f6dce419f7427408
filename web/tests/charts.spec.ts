// What is drawn of runs, and what a pointer reads there.

import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import { changed, inBrowser, inked, open, pixelsIn, pixelsOf, READ, report, settle, WRITE } from "./browser";
import { touching, written } from "./labels";

inBrowser();

describe("charts", () => {
  test("are drawn", async () => {
    const { page } = await open(report("sample"));
    const pixels = await inked(page);
    // Two for the trace, one each for distribution and throughput, three over time, six arms with their queues, two maps.
    expect(pixels).toHaveLength(21);
    for (const count of pixels) expect(count).toBeGreaterThan(2_000);
    for (const ink of ["#0072b2", "#d55e00", "#00836a"]) {
      expect(await pixelsOf(page, "response", ink)).toBeGreaterThan(200);
    }
    expect(await page.locator("#breakdown .stack").count()).toBe(6);
  });

  test("show the tail on request", async () => {
    const { page, trouble } = await open(report("sample"));
    const before = await pixelsOf(page, "response", "#0072b2");
    await page.getByRole("button", { name: "Tail" }).click();
    await settle(page);
    expect(await page.locator("#response .plot").getAttribute("aria-label")).toContain("Tail");
    const after = await pixelsOf(page, "response", "#0072b2");
    expect(after).toBeGreaterThan(200);
    expect(after).not.toBe(before);
    expect(trouble).toEqual([]);
  });

  test("read out what the pointer is over", async () => {
    const { page } = await open(report("sample"));
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
  });

  test("are read and zoomed by keys", async () => {
    const { page } = await open(report("sample"));
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
  });
});

describe("the arm's way", () => {
  const arm = (label: string) => `#arm article[aria-label="The arm under sched=${label}"]`;
  const inks = async (page: Page, label: string) => [
    await pixelsIn(page, `${arm(label)} canvas`, READ),
    await pixelsIn(page, `${arm(label)} canvas`, WRITE),
  ];

  test("has marks of reads, eager writes and writes in place, the path and the waits", async () => {
    const { page, trouble } = await open(report("sample"));
    const [reads = 0, eager = 0] = await inks(page, "satf");
    for (const many of [reads, eager]) expect(many).toBeGreaterThan(200);
    expect(await pixelsIn(page, `${arm("satf")} canvas`, "#9aa2ad")).toBeGreaterThan(200);
    expect(await pixelsIn(page, `${arm("satf")} canvas`, "#ccd3dc")).toBeGreaterThan(200);
    expect(await page.locator("#arm .rail").innerText()).toContain("eager or range write");
    expect(trouble).toEqual([]);
    // The same run, said to write in place: its diamonds are open ones.
    await open(report("in-place"));
    const [same, inPlace = 0] = await inks(page, "satf");
    expect(same).toBe(reads);
    expect(inPlace).toBeGreaterThan(100);
    expect(inPlace).not.toBe(eager);
    // Of eager writes nothing is said where there are none.
    expect(await page.locator("#arm .rail").innerText()).not.toContain("eager or range write");
  });

  test("is paged through and zoomed, all runs together", async () => {
    const { page, trouble } = await open(report("sample"));
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
  });

  test("tells the times of the command under the pointer", async () => {
    const { page } = await open(report("sample"));
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
  });

  test("comes with its counts, its gaps and its queue", async () => {
    const { page } = await open(report("sample"));
    const facts = await page.locator(`${arm("satf")} .stretch`).innerText();
    expect(facts).toMatch(/Reads\s+[0-9]+\s+Writes\s+[0-9]+\s/);
    expect(facts).toMatch(/Writes per gap\s+0\.650/);
    expect(await page.locator(`${arm("satf")} .gaps li`).allInnerTexts()).toEqual([..."01234567", "8+"]);
    const tall = await page.locator(`${arm("satf")} .gaps i`).evaluateAll((bars) => bars.map((bar) => bar.clientHeight));
    expect(tall[0]).toBeGreaterThan(tall[1]! * 2);
    expect(tall[8]).toBeLessThan(5);
    const queue = `${arm("satf")} .beneath canvas`;
    for (const ink of [READ, WRITE]) expect(await pixelsIn(page, queue, ink)).toBeGreaterThan(50);
  });
});

describe("a drive with a write cache", () => {
  test("has no way of the arm for what the cache took, and says so", async () => {
    const { page, trouble } = await open(report("cached"));
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
  });

  test("has axes of the load that is seen: a short one is not squeezed by a long one", async () => {
    const { page } = await open(report("cached"));
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
  });
});

describe("a run on a single cylinder", () => {
  test("has an axis with that cylinder alone", async () => {
    const file = changed("sample", ({ results }) => {
      for (const { series } of results.runs) {
        for (const key of ["arm_from", "arm_cylinder"]) if (series) series[key] = series[key]!.map(() => 0);
      }
    });
    const { page, trouble } = await open(file);
    const words = await written(page, '#arm article[aria-label="The arm under sched=satf"] .plot canvas');
    expect(words.filter((word) => !/^[0-9]+$|^(milli)?seconds/.test(word))).toEqual(["cylinder"]);
    expect(words.slice(words.indexOf("cylinder") + 1)).toEqual(["0"]);
    expect(trouble).toEqual([]);
  });
});

describe("service times", () => {
  const heads = async (file: string) => {
    const { page, trouble } = await open(file);
    const found = await page.locator("#breakdown thead .part").allInnerTexts();
    const told = await page.locator("#breakdown .rail").innerText();
    expect(trouble).toEqual([]);
    return { found, told };
  };
  test("have the parts that a drive has: one without an arm neither seeks nor waits", async () => {
    const usual = await heads(report("sample"));
    expect(usual.found).toEqual(["seek", "rotation", "transfer", "overhead"]);
    expect(usual.told).toContain("moving the arm");
    const file = changed("sample", ({ results }) => results.runs.forEach((run) => Object.assign(run, { seek_ms: 0, rotation_ms: 0, overhead_ms: 0.0004 })));
    const flash = await heads(file);
    expect(flash.found).toEqual(["transfer", "overhead"]);
    expect(flash.told).not.toContain("moving the arm");
    const { page } = await open(file);
    expect(await page.locator("#breakdown tbody tr").first().innerText()).toContain("< 0.001");
  });
});

test("a drive that went is marked over time and over free space", async () => {
  const file = changed("sample", ({ results }) => {
    const gone = [{ drive: 1, at_s: 0.5 }, { drive: 0, at_s: -0.5 }];
    for (const run of results.runs) Object.assign(run.series!, { gone });
  });
  const { page, trouble } = await open(file);
  for (const chart of ["#time .plot canvas", "#space .plot canvas"]) {
    const words = await written(page, chart);
    expect(words).toContain("drive 1 gone");
    expect(words).toContain("drive 0 gone before");
  }
  expect(await touching(page)).toEqual([]);
  expect(trouble).toEqual([]);
  await open(report("sample"));
  expect((await written(page, "#time .plot canvas")).join(" ")).not.toContain("gone");
});

describe("the map of free space", () => {
  test("is drawn for the runs that have one, as it is and as it changes", async () => {
    const { page, trouble } = await open(report("sample"));
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
  });

  test("is left out where nothing is placed eagerly", async () => {
    const { page } = await open(report("bare"));
    expect(await page.locator("#space").count()).toBe(0);
  });
});
