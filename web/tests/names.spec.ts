// Names of choices that are long.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { inBrowser, open, report } from "./browser";
import { meet, outside, seen } from "./names";

inBrowser();

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
  test.each([700, 1200, 1600])("stay in their rows and off all else, %i px", async (width) => {
    const { page, trouble } = await open(file, { viewport: { width, height: 900 } });
    for (const { rows, beside } of PLACES) {
      const found = await page.evaluate(seen, { rows, beside });
      expect(found.length, rows).toBeGreaterThan(1);
      for (const { name, title, cut, row, box, others } of found) {
        expect(LONG, `${rows}: ${name}`).toContain(name);
        expect(title, rows).toBe(name);
        // Only what cannot be broken is cut, once.
        expect(cut, `${rows}: ${name}`).toBe(name.includes("xxx") ? 1 : 0);
        expect(outside(box, row), `${rows}: ${name} leaves its row`).toBe(false);
        for (const other of others) expect(meet(box, other), `${rows}: ${name} over what is beside it`).toBe(false);
        for (const other of found) expect(other.name !== name && meet(box, other.box), `${rows}: ${name} over ${other.name}`).toBe(false);
      }
    }
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(trouble).toEqual([]);
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
    const { page, trouble } = await open(file, { viewport: { width, height: 900 } });
    const rows = await page.locator("#processes .row .label").evaluateAll((all) => all.map((one) => one.getBoundingClientRect()).map(({ top, bottom }) => [top, bottom]));
    expect(rows).toHaveLength(9);
    // More than one line, and a gap behind each.
    expect(Math.max(...rows.map(([top, bottom]) => bottom! - top!))).toBeGreaterThan(width < 500 ? 10 : 25);
    rows.slice(1).forEach(([top], index) => expect(top! - rows[index]![1]!).toBeGreaterThan(4));
    expect(trouble).toEqual([]);
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
    const { page, trouble } = await open(file, { viewport: { width, height: 900 } });
    const heading = page.locator("h1");
    expect(await heading.innerText()).toContain(name);
    expect(await heading.evaluate((box) => box.scrollWidth - box.clientWidth)).toBeLessThanOrEqual(0);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(trouble).toEqual([]);
  });
});
