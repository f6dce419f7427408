// What runs of file systems and of transactions measured: what their page begins with.
//
// Which requests there are hangs on the answers, so response times of requests say nothing of who serves better. The names by which
// these loads declare what they measured stand here alone. A measure that a run does not have is not shown.

import { type Chart, chart, less, type Of, shown, stack, to } from "./bars";
import { isHost } from "./host";
import type { Run } from "./wire";

/** Who declares the measures. */
const FILES = "filesystem";
const TRANSACTIONS = "workload";

const measure = (of: string, name: string) => (run: Run) => run.measures.get(of)?.get(name) ?? null;
const ofFiles = (name: string) => measure(FILES, name);
const ofTransactions = (name: string) => measure(TRANSACTIONS, name);

/** Whether a run is of a file system. */
export function hasFiles(run: Run): boolean {
  return ofFiles("files")(run) !== null;
}

/** Whether a run is of transactions above a journal. */
export function hasTransactions(run: Run): boolean {
  return ofTransactions("transactions")(run) !== null;
}

/** Whether two runs of the same load have other requests, as those who ask wait for answers. */
export function asksByAnswers(run: Run): boolean {
  return isHost(run) || hasFiles(run) || hasTransactions(run);
}

/** Whether any process took time: those that only write into memory take none. */
export function tookTime(run: Run): boolean {
  return run.processes.some(({ max_s }) => (max_s ?? 0) > 0);
}

/** Seconds until all was done and written, or transactions a second: what a run is there to tell. */
export const WORK_S = ofFiles("work_s");
export const TRANSACTIONS_S = ofTransactions("transactions_s");

const FILE_CHARTS: readonly Chart[] = [
  chart("Done and written after", "s", "Until all that processes did was on the medium. Where requests failed, not all was.", WORK_S, "not at the end"),
  chart("Files read again at", "MB/s", "All files one after another, with nothing in memory.", ofFiles("reread_mb_s")),
  stack("Writes", "requests", "", [
    { name: "of files and directories", of: ofFiles("data_writes") },
    { name: "of inodes, pointers and maps", of: ofFiles("metadata_writes") },
  ]),
  chart("Range writes among them", "requests", "", ofFiles("offered")),
  chart("Written for each block that changed", "blocks", "Blocks of all kinds; 1 would be the data alone.", ofFiles("amplification")),
  chart("A block waited", "ms", "Until it was on the medium, or its file removed.", ofFiles("waited_ms")),
  chart("Pieces a file lies in", "pieces", "On average, when it was removed or at the end. One that was removed before it was written lies in none.", to(ofFiles("pieces"), ofFiles("files"))),
  stack("Read by the cleaner", "blocks", "What lives is written anew: the less of it, the cheaper is a free segment.", [
    { name: "that lived", of: ofFiles("moved") },
    { name: "others", of: less(ofFiles("clean_read"), ofFiles("moved")) },
  ]),
  chart("Segments cleaned", "segments", "", ofFiles("cleaned")),
  chart("Checkpoints", "checkpoints", "", ofFiles("checkpoints")),
];

const rest = (name: string): Of => less(ofTransactions(`${name}_ms`), ofTransactions(`${name}_rotation_ms`));

const TRANSACTION_CHARTS: readonly Chart[] = [
  { ...chart("Transactions", "a second", "", TRANSACTIONS_S), among: "Further right is better." },
  stack(
    "The two writes of a commit",
    "ms",
    "On average: descriptor and data, and then the commit block.",
    [
      { name: "data: wait for the platter", of: ofTransactions("data_rotation_ms") },
      { name: "data: all else", of: rest("data") },
      { name: "commit block: wait for the platter", of: ofTransactions("commit_block_rotation_ms") },
      { name: "commit block: all else", of: rest("commit_block") },
    ],
    "not written",
  ),
  chart("Transactions in a commit", "transactions", "On average.", to(ofTransactions("transactions"), ofTransactions("commits"))),
  chart("Written to the journal", "blocks", "Of 4 KiB; with skip=null they would have been written.", ofTransactions("log_blocks")),
  chart("Left out before a write", "blocks", "Of 4 KiB, by a log that skips, on average.", ofTransactions("skipped_blocks")),
  chart("Commits waited for room in the journal", "s", "In all.", ofTransactions("log_wait_s")),
  chart("Pages written back", "pages", "", ofTransactions("pages_home")),
];

/** What runs of file systems measured. */
export function fileCharts(runs: readonly Run[]): Chart[] {
  return shown(FILE_CHARTS, runs);
}

/** What runs of transactions measured. */
export function transactionCharts(runs: readonly Run[]): Chart[] {
  return shown(TRANSACTION_CHARTS, runs);
}

/** Mini-groups of a group. */
const MINI_GROUPS = 16;

/** Shares of files that begin in each mini-group of their inode's group, and in other groups; null in a log, where files begin anywhere. */
export function beginnings(run: Run): { minis: number[]; elsewhere: number } | null {
  const minis = Array.from({ length: MINI_GROUPS }, (_, index) => ofFiles(`mini_${index}`)(run) ?? 0);
  const elsewhere = ofFiles("elsewhere")(run) ?? 0;
  const all = minis.reduce((sum, many) => sum + many, elsewhere);
  return all === 0 ? null : { minis: minis.map((many) => many / all), elsewhere: elsewhere / all };
}

/** Whether the file system of a run is a log. */
export function inLog(run: Run): boolean {
  return ofFiles("checkpoints")(run) !== null;
}
