// Where the words of charts are: each word that is written on a canvas is noted with its box, so that a test can ask which of them touch.

import type { Page } from "playwright-core";

/** A word of a chart, in device pixels. */
interface Word {
  text: string;
  box: [left: number, top: number, right: number, bottom: number];
}

/** Notes what is written from now on. Runs in the browser, so it calls nothing from outside of it. */
export function note(): void {
  const words = new WeakMap<HTMLCanvasElement, Word[]>();
  Object.assign(globalThis, { wordsOf: words });
  const { clearRect, fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.clearRect = function (...area) {
    words.set(this.canvas, []);
    clearRect.apply(this, area);
  };
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
    const size = this.measureText(text);
    const { a, b, c, d, e, f } = this.getTransform();
    const corners = [-size.actualBoundingBoxLeft, size.actualBoundingBoxRight].flatMap((right) =>
      [-size.actualBoundingBoxAscent, size.actualBoundingBoxDescent].map((down) => [a * (x + right) + c * (y + down) + e, b * (x + right) + d * (y + down) + f]),
    );
    const [across, along] = [corners.map(([at]) => at!), corners.map(([, at]) => at!)];
    const box: Word["box"] = [Math.min(...across), Math.min(...along), Math.max(...across), Math.max(...along)];
    if (text.trim()) words.set(this.canvas, [...(words.get(this.canvas) ?? []), { text, box }]);
    fillText.call(this, text, x, y, ...rest);
  };
}

/** The words of the first chart that a selector finds, in the order in which they were written. */
export function written(page: Page, selector: string): Promise<string[]> {
  return page.evaluate((selector) => {
    const words = (globalThis as unknown as { wordsOf: WeakMap<HTMLCanvasElement, Word[]> }).wordsOf;
    return (words.get(document.querySelector<HTMLCanvasElement>(selector)!) ?? []).map(({ text }) => text);
  }, selector);
}

/** Words of charts that are seen which touch each other or leave their chart, and words under bars that touch. */
export function touching(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const words = (globalThis as unknown as { wordsOf: WeakMap<HTMLCanvasElement, Word[]> }).wordsOf;
    const GAP = 4;
    const meet = (one: Word["box"], other: Word["box"]) => one[0] < other[2] + GAP && other[0] < one[2] + GAP && one[1] < other[3] && other[1] < one[3];
    const found: string[] = [];
    const pairs = (where: string, all: readonly Word[]) =>
      all.forEach((one, index) => {
        for (const other of all.slice(index + 1)) if (meet(one.box, other.box)) found.push(`${where}: ${one.text} and ${other.text}`);
      });
    for (const canvas of document.querySelectorAll("canvas")) {
      if (canvas.clientWidth === 0) continue;
      const all = words.get(canvas) ?? [];
      const where = canvas.closest("section")!.id;
      // A word that is written twice is one with a halo.
      pairs(where, all.filter((one, index) => !all.slice(0, index).some(({ text, box }) => text === one.text && String(box) === String(one.box))));
      for (const { text, box } of all) {
        if (box[0] < 0 || box[1] < 0 || box[2] > canvas.width || box[3] > canvas.height) found.push(`${where}: ${text} leaves its chart`);
      }
    }
    for (const axis of document.querySelectorAll(".ticks, .ladder-axis, .minis-axis")) {
      const all = [...axis.querySelectorAll("i, span")].filter((one) => one.children.length === 0);
      const boxes = all.map((one): Word => {
        const range = document.createRange();
        range.selectNodeContents(one);
        const { left, top, right, bottom } = range.getBoundingClientRect();
        return { text: one.textContent ?? "", box: [left, top, right, bottom] };
      });
      pairs(axis.closest("section")!.id, boxes.filter(({ box }) => box[2] > box[0]));
    }
    return found;
  });
}

/** Words of the page that stand on other words, on bars or on charts, and words that are cut off at the side. */
export function overprinted(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    type Box = [left: number, top: number, right: number, bottom: number];
    interface Thing {
      text: string;
      of: Element;
      box: Box;
    }
    /** Letters may reach into the line above or below by so much, in CSS pixels. */
    const SLACK = 3;
    /** Words that nobody sees, that float above the page, that may be scrolled to, or that stand on a bar on purpose. */
    const APART = ".sr, .readout, .scroll, .legend, .mark, svg, script, option";
    const meet = (one: Box, other: Box) => [0, 1].every((side) => one[side]! + SLACK < other[side + 2]! && other[side]! + SLACK < one[side + 2]!);
    const found: string[] = [];
    const where = (of: Element) => of.closest("section")?.id ?? of.closest("header, main, footer")?.tagName.toLowerCase() ?? "";
    for (const part of document.querySelectorAll("header, main > *, footer")) {
      const words: Thing[] = [];
      const walk = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
      while (walk.nextNode()) {
        const [text, of] = [walk.currentNode.textContent!.trim(), walk.currentNode.parentElement!];
        if (!text || of.closest(APART) || !of.checkVisibility({ visibilityProperty: true })) continue;
        const range = document.createRange();
        range.selectNodeContents(walk.currentNode);
        for (const { left, top, right, bottom } of range.getClientRects()) {
          if (right - left > 1) words.push({ text, of, box: [left, top, right, bottom] });
        }
        const cut = of.closest(".label, nav");
        if (cut && cut.clientWidth > 0 && cut.scrollWidth > cut.clientWidth) found.push(`${where(of)}: ${text} is cut`);
      }
      const drawn: Thing[] = [...part.querySelectorAll("canvas, .gaps i, .stack, .interval, .track > .mean")].map((of) => {
        const { left, top, right, bottom } = of.getBoundingClientRect();
        return { text: of.className || of.tagName.toLowerCase(), of, box: [left, top, right, bottom] };
      });
      words.forEach((one, index) => {
        for (const other of [...words.slice(index + 1), ...drawn]) {
          if (one.of !== other.of && meet(one.box, other.box)) found.push(`${where(one.of)}: ${one.text} on ${other.text}`);
        }
      });
    }
    return [...new Set(found)];
  });
}
