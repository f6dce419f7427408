// The kinds of parts that a stack is made of, as the engine's table has them.
//
// Made by crates/cli/tests/it/docs. Write it anew with
// NEARSLOT_BLESS=1 cargo test --workspace --test it docs::

/** Key, word, and the part that is taken when none is named. */
export const KINDS: readonly (readonly [key: string, word: string, usual: string])[] = [
  ["sched", "Scheduler", "fcfs"],
  ["merge", "Merging", "none"],
  ["oracle", "Oracle", "exact"],
  ["place", "Placement", "linear"],
  ["cache", "Cache", "none"],
  ["prefetch", "Prefetcher", "none"],
  ["buffer", "Write buffer", "none"],
  ["faults", "Faults", "none"],
  ["claims", "Claims", "none"],
];
