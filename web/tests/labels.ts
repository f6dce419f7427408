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
