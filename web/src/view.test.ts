// Inks that lie beside each other in a plot can be told apart, also by people who do not see all colours.

import { describe, expect, it } from "vitest";

import { INKS } from "./view.svelte";

type Three = readonly [number, number, number];

const linear = (ink: string): Three => {
  const at = (from: number): number => {
    const part = Number.parseInt(ink.slice(from, from + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  };
  return [at(1), at(3), at(5)];
};

// What is seen without one kind of cones: Machado, Oliveira and Fernandes, "A physiologically-based model for simulation of color vision
// deficiency", IEEE TVCG 15(6), 2009, at full severity.
const SEEN: Record<string, readonly Three[]> = {
  all: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  "no long": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  "no middle": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  "no short": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

const dot = (one: Three, other: Three): number => one[0] * other[0] + one[1] * other[1] + one[2] * other[2];

/** Lightness and two colour axes of CIE 1976, where a distance of 2.3 is just seen. */
function lab(ink: string, seen: readonly Three[]): Three {
  const rgb = linear(ink);
  const part = (row: Three | undefined): number => Math.min(1, Math.max(0, row ? dot(row, rgb) : 0));
  const light: Three = [part(seen[0]), part(seen[1]), part(seen[2])];
  const root = (t: number): number => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const x = root(dot([0.4124, 0.3576, 0.1805], light) / 0.9505);
  const y = root(dot([0.2126, 0.7152, 0.0722], light));
  const z = root(dot([0.0193, 0.1192, 0.9505], light) / 1.089);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

describe("inks of runs", () => {
  for (const [ground, inks] of Object.entries(INKS)) {
    for (const [who, seen] of Object.entries(SEEN)) {
      it(`differ on ${ground} ground for who has ${who} cones`, () => {
        inks.forEach((one, index) => {
          for (const other of inks.slice(index + 1)) {
            const [a, b] = [lab(one, seen), lab(other, seen)];
            const apart = Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
            expect(apart, `${one} and ${other}`).toBeGreaterThan(9);
          }
        });
      });
    }
  }
});
