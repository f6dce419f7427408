import { expect, test } from "vitest";

import { inSentence, pieces, short } from "./names";

test("what all share is left out", () => {
  expect(short(["sched=fcfs place=eager", "sched=satf place=eager"])).toEqual(["sched=fcfs", "sched=satf"]);
  expect(short(["sched=fcfs place=eager"])).toEqual(["sched=fcfs place=eager"]);
});

test("long names are cut where they still differ", () => {
  const names = ["1", "32"].map((depth) => `sched=fcfs drive.queue_depth=${depth} oracle=exact:x=${depth}`);
  const shown = short(names);
  expect(new Set(shown).size).toBe(2);
  for (const name of shown) expect(name.length).toBeLessThanOrEqual(28);
  expect(short(["sched=fcfs drive.queue_depth_at_most=1", "sched=satf drive.queue_depth_at_most=32"])).toEqual([
    "fcfs drive\u2026e_depth_at_most=1",
    "satf drive\u2026_depth_at_most=32",
  ]);
});

test("keys go before anything is cut, where the values tell what they are of", () => {
  expect(short(["sched=fcfs drive.queue_depth=1", "sched=satf drive.queue_depth=32"])).toEqual(["fcfs drive.queue_depth=1", "satf drive.queue_depth=32"]);
  const buffers = ["cache=none buffer=none", "cache=none buffer=lrw:size=4MiB", "cache=lru:size=10% buffer=none", "cache=lru:size=10% buffer=lrw:size=4MiB"];
  expect(short(buffers)).toEqual(["cache=none buffer=none", "cache=none lrw:size=4MiB", "lru:size=10% buffer=none", "lru:size=10% lrw:size=4MiB"]);
  // Names that would be alike keep their keys.
  const crossed = [`sched=look cache=${"x".repeat(20)}`, `place=look cache=${"x".repeat(20)}`];
  expect(new Set(short(crossed)).size).toBe(2);
  // Short ones are told in full.
  expect(short(["cache=none", "cache=lru"])).toEqual(["cache=none", "cache=lru"]);
});

test("names that would be cut alike stay whole", () => {
  const names = ["a", "b"].map((one) => `${"x".repeat(20)}${one}${"y".repeat(40)}`);
  expect(short(names)).toEqual(names);
});

test("a sentence is broken within the settings that it names alone", () => {
  const at = inSentence("Most in sched=fcfs faults=injected:timeout_share=0.3 (5 of 9): 0.5 ms.").join("|");
  expect(at).toBe("Most in |sched=fcfs| |faults=injected:|timeout_share=0.3| (5 of 9): 0.5 ms.");
});

test("names are broken between parts first, and within long parts only", () => {
  const at = (name: string) => pieces(name).join("|");
  expect(at("sched=satf faults=none")).toBe("sched=satf faults=none");
  expect(at("sched=satf faults=injected:gone_at_s=10,slow_add_ms=20")).toBe("sched=satf faults=injected:|gone_at_s=10,|slow_add_ms=20");
  expect(at("drive.queue_depth=32")).toBe("drive.queue_depth=32");
  expect(at("drive.queue_depth=128")).toBe("drive.|queue_|depth=|128");
  expect(at("x".repeat(80))).toBe("x".repeat(80));
  expect(pieces("")).toEqual([""]);
});
