// Where names of runs are seen: the room of their letters, not of their boxes, which letters may leave.

/** Left, top, right, bottom. */
export type Box = [number, number, number, number];

/** Half a pixel is rounding. */
const ROUNDING = 0.5;

export const meet = (one: Box, other: Box): boolean =>
  [0, 1].every((side) => one[side]! + ROUNDING < other[side + 2]! && other[side]! + ROUNDING < one[side + 2]!);

export const outside = (box: Box, row: Box): boolean =>
  [0, 1].some((side) => box[side]! + ROUNDING < row[side]! || box[side + 2]! > row[side + 2]! + ROUNDING);

export interface Seen {
  name: string;
  title: string;
  /** How many ends are cut off. */
  cut: number;
  row: Box;
  box: Box;
  /** What stands in the same row. */
  others: Box[];
}

/** All names that are seen in the rows that a selector finds. Runs in the browser, so it calls nothing from outside of it. */
export function seen({ rows, beside }: { rows: string; beside: string }): Seen[] {
  const boxOf = ({ left, top, right, bottom }: DOMRect): Box => [left, top, right, bottom];
  const both = (one: Box, other: Box): Box => [
    Math.max(one[0], other[0]),
    Math.max(one[1], other[1]),
    Math.min(one[2], other[2]),
    Math.min(one[3], other[3]),
  ];
  const around = (boxes: Box[]): Box => [
    Math.min(...boxes.map((box) => box[0])),
    Math.min(...boxes.map((box) => box[1])),
    Math.max(...boxes.map((box) => box[2])),
    Math.max(...boxes.map((box) => box[3])),
  ];
  /** The letters of a text, without those that an element around them hides. */
  const letters = (text: Node, within: Element): Box[] => {
    const range = document.createRange();
    range.selectNodeContents(text);
    let boxes = [...range.getClientRects()].map(boxOf);
    for (let at = text.parentElement!; within.contains(at); at = at.parentElement!) {
      if (getComputedStyle(at).overflowX === "visible") continue;
      const clip = boxOf(at.getBoundingClientRect());
      boxes = boxes.map((box) => both(box, clip));
    }
    return boxes;
  };
  return [...document.querySelectorAll<HTMLElement>(rows)].map((row) => {
    const label = row.querySelector<HTMLElement>(".label") ?? row.querySelector<HTMLElement>("span")!;
    const texts: Node[] = [];
    const walk = document.createTreeWalker(label, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) texts.push(walk.currentNode);
    const cut = [label, ...label.querySelectorAll("*")].filter((one) => one.clientWidth > 0 && one.scrollWidth > one.clientWidth);
    return {
      name: label.textContent ?? "",
      title: (label.closest("[title]")?.getAttribute("title") ?? "").replace(/: click shows.*/, ""),
      cut: cut.length,
      row: boxOf(row.getBoundingClientRect()),
      box: around(texts.flatMap((text) => letters(text, label))),
      others: [...row.querySelectorAll(beside)].map((other) => boxOf(other.getBoundingClientRect())),
    };
  });
}
