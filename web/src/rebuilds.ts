// What became of spares that took the places of drives that were gone. The names by which an array declares that stand here alone.

import { type Chart, chart, less, type Of, stack, to } from "./bars";
import type { Run } from "./wire";

/** Who declares the measures. */
const PLACE = "place";
/** Bytes of a block, and of a MiB. */
const [BLOCK, MIB] = [512, 2 ** 20];

const measure = (name: string) => (run: Run) => run.measures.get(PLACE)?.get(name) ?? null;
const seconds = (name: string) => (run: Run) => {
  const ms = measure(name)(run);
  return ms === null ? null : ms / 1000;
};
const mib = (name: string) => (run: Run) => {
  const blocks = measure(name)(run);
  return blocks === null ? null : (blocks * BLOCK) / MIB;
};
const taken = measure("spares_taken");
const rebuilt = measure("rebuilds");
/** A number of rebuilds; none where there was no rebuild. */
const ofRebuilt = (of: Of): Of => (run) => (rebuilt(run) ? of(run) : null);

/** Whether a spare took the place of a drive. */
export function tookSpare(run: Run): boolean {
  return (taken(run) ?? 0) > 0;
}

/** What is shown of them. */
export const REBUILDS: readonly Chart[] = [
  stack("Spares that took a place", "drives", "", [
    { name: "rebuilt", of: rebuilt },
    { name: "not by the end of the run", of: less(taken, rebuilt) },
  ]),
  chart("Rebuilt in", "s", "From the end of a drive to the last block of its spare, on average.", to(seconds("rebuild_ms"), rebuilt), "none was"),
  chart("The last one was rebuilt at", "s", "Since the begin of the run.", ofRebuilt(seconds("last_rebuild_ms")), "none was"),
  chart("Written to spares", "MiB", "", mib("rebuilt_blocks")),
  chart("Left at the end of the run", "MiB", "What spares still lacked, or lost as another drive went before.", mib("rebuild_left_blocks")),
];
