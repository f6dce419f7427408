// A real browser and real reports: Chromium opens the files that `reports.ts` had written from the disk, and everything it complains about or asks
// the network for is kept.

import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { type Browser, chromium, type Page, type ViewportSize } from "playwright-core";
import { afterAll, beforeAll } from "vitest";

import { note } from "./labels";
import { root } from "./reports";

// The first draws no windows, and tests take a fifth less time with it.
const BROWSERS = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
const executablePath = process.env["CHROMIUM"] ?? BROWSERS.find(existsSync);
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Inks of reads and of writes on light ground. */
export const READ = "#0072b2";
export const WRITE = "#d55e00";

let browser: Browser;
let shown: Page;

/** Has the tests of a file in one page of one browser: a page of its own for each test takes twice as long. */
export function inBrowser(): void {
  beforeAll(async () => {
    if (executablePath === undefined || !existsSync(executablePath)) {
      const looked = executablePath ?? BROWSERS.join(" or ");
      throw new Error(`there is no browser at ${looked}: install Chromium, or set CHROMIUM to its path`);
    }
    browser = await chromium.launch({ executablePath, args: FLAGS });
    shown = await browser.newPage();
    await shown.addInitScript(note);
  });
  afterAll(async () => {
    await browser.close();
    for (const file of files) rmSync(file, { force: true });
  });
}

/** A report as Rust wrote it. */
export function report(name: string): string {
  return `${process.env["CARGO_TARGET_DIR"] ?? `${root}/target`}/tmp/report/${name}.html`;
}

/** A run as it is in the data of a page. */
export interface Told {
  [key: string]: unknown;
  load: string;
  measures: Record<string, Record<string, number>>;
  series: Record<string, number[]> | null;
}

/** What tests change in the data of a page. */
export interface Data {
  results: { runs: Told[]; verdict: { headline: string; rankings: unknown[] }; varied: unknown[]; runs_planned: number };
  profile: Record<string, unknown> | null;
}

let made = 0;

/** A report with other data, for the tests of a file that has `inBrowser`. */
export function changed(name: string, change: (data: Data) => void): string {
  const data = /(<script[^>]*type="application\/json"[^>]*>)([^]*?)(<\/script>)/;
  const written = readFileSync(report(name), "utf8").replace(data, (_all, head: string, text: string, foot: string) => {
    const all = JSON.parse(text) as Data;
    change(all);
    return head + JSON.stringify(all).replaceAll("<", "\\u003c") + foot;
  });
  const file = join(tmpdir(), `nearslot-changed-${process.pid}-${made++}.html`);
  writeFileSync(file, written);
  files.push(file);
  return file;
}

const files: string[] = [];

/** An open report, and what went wrong while it was open. */
export interface Opened {
  page: Page;
  trouble: string[];
}

/** How a report is looked at. */
export interface Look {
  viewport?: ViewportSize;
  colorScheme?: "light" | "dark";
}

/** Opens a report as if nothing had been open before: the one of the test before goes, with all that was set and kept. */
export async function open(file: string, look: Look = {}): Promise<Opened> {
  const page = shown;
  if (page.url() !== "about:blank") await page.evaluate(() => localStorage.clear());
  await page.removeAllListeners(undefined, { behavior: "wait" });
  await page.goto("about:blank");
  await page.mouse.move(0, 0);
  await page.setViewportSize(look.viewport ?? { width: 1400, height: 900 });
  await page.emulateMedia({ colorScheme: look.colorScheme ?? "light", media: null });
  const trouble: string[] = [];
  page.on("console", (message) => trouble.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => trouble.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => trouble.push(`dialog: ${dialog.message()}`));
  page.on("request", (request) => {
    if (request.url() !== `file://${file}`) trouble.push(`request: ${request.url()}`);
  });
  await page.goto(`file://${file}`);
  await settle(page);
  return { page, trouble };
}

/** Waits until charts have drawn what they were told. */
export async function settle(page: Page): Promise<void> {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/** Inks and how many pixels have them, for each chart that a selector finds; through a copy that is made to be read. */
function pixels(page: Page, selector: string): Promise<number[][]> {
  return page.evaluate((selector) => {
    return [...document.querySelectorAll<HTMLCanvasElement>(selector)].map((canvas) => {
      const copy = document.createElement("canvas");
      [copy.width, copy.height] = [canvas.width, canvas.height];
      const context = copy.getContext("2d", { willReadFrequently: true })!;
      context.drawImage(canvas, 0, 0);
      const { data } = context.getImageData(0, 0, copy.width, copy.height);
      // Ink to count of pixels: small enough to leave the browser.
      const inks = new Map<number, number>();
      for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] === 0) continue;
        const ink = (data[at]! << 16) | (data[at + 1]! << 8) | data[at + 2]!;
        inks.set(ink, (inks.get(ink) ?? 0) + 1);
      }
      return [...inks].flat();
    });
  }, selector);
}

function pairs(flat: number[]): [ink: number, count: number][] {
  return flat.flatMap((ink, at) => (at % 2 === 0 ? [[ink, flat[at + 1]!] as [number, number]] : []));
}

/** How many pixels of each chart are not empty, in the order of the page. */
export async function inked(page: Page): Promise<number[]> {
  const charts = await pixels(page, ".plot canvas");
  return charts.map((flat) => pairs(flat).reduce((sum, [, count]) => sum + count, 0));
}

/** How many pixels of the first chart in a section are close to an ink, given as `#rrggbb`. */
export function pixelsOf(page: Page, section: string, ink: string): Promise<number> {
  return pixelsIn(page, `#${section} canvas`, ink);
}

/** The same of the first chart that a selector finds. */
export async function pixelsIn(page: Page, selector: string, ink: string): Promise<number> {
  const [chart = []] = await pixels(page, selector);
  const wanted = Number.parseInt(ink.slice(1), 16);
  const close = (found: number) =>
    [16, 8, 0].every((shift) => Math.abs(((found >> shift) & 255) - ((wanted >> shift) & 255)) < 12);
  return pairs(chart).reduce((sum, [found, count]) => sum + (close(found) ? count : 0), 0);
}
