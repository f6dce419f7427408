// Runs of a host: after how long its application was up, what processes beside it moved, how long their rounds took.
//
// The names by which a host declares what it measured stand here alone. A measure that is not declared is not shown.

import { count, span } from "./format";
import type { Json, Process, Results, Run } from "./wire";

/** Who declares the measures. */
export const HOST = "host";
const UP_AFTER = "startup_s";
const UP = "up";
const NOT_UP = "not_up";
const READ = "read_mb_s";
const WRITTEN = "written_mb_s";
/** Applications that are named beside a bar. */
const NAMED = 4;
/** Nobody beside the application. */
const NOBODY = "0r0w";

/**
 * Whether which requests there are hangs on the answers, as processes ask: two such runs have different requests, whose response times say
 * nothing of who serves better.
 */
export function isHost(run: Run): boolean {
  return run.processes.length > 0;
}

const measure = (run: Run, name: string) => run.measures.get(HOST)?.get(name) ?? null;

/** Help of a measure, as a sentence; null where no run has it. */
function help(results: Results, name: string): string | null {
  const told = results.measures.find((declared) => declared.of === HOST && declared.name === name)?.help;
  return told === undefined ? null : `${told.charAt(0).toUpperCase()}${told.slice(1).replaceAll("`", "")}.`;
}

/** What is to be said of what others read and wrote. */
export function helpOfMoved(results: Results): string[] {
  return [READ, WRITTEN].map((name) => help(results, name)).filter((told) => told !== null);
}

/** Whether a run starts an application, or was to. */
export function starts(run: Run): boolean {
  return measure(run, NOT_UP) !== null || measure(run, UP_AFTER) !== null;
}

/** Seconds until the application was up, of several start-ups the mean; null where none was, or there is none. */
export function upAfter(run: Run): number | null {
  return measure(run, UP_AFTER);
}

/** How long the first application had until the run ended, in seconds; of a run without series, how long the run was. */
const given = (run: Run) => run.duration_s - (run.series?.startups[0]?.began_s ?? 0);

/** Whether a run has start-ups of which requests failed, such as had not ended when it did, and whether any began. */
function whyNotUp({ applications }: Run): { failed: boolean; late: boolean; started: boolean } {
  const failed = applications.some((one) => one.failed > 0);
  const started = applications.some((one) => one.up + one.not_up + one.failed > 0);
  return { failed, late: !failed || applications.some((one) => one.not_up > 0), started };
}

/** That none was up, and after how long, or that requests of it failed. */
function notUp(run: Run): string {
  const { failed, late, started } = whyNotUp(run);
  if (!started) return `not started in ${span(run.duration_s)}`;
  if (!late) return "not up: requests failed";
  const also = failed ? ", or requests failed" : "";
  return run.series?.startups.length ? `not up after ${span(given(run))}${also}` : `not up at the end, ${span(given(run))}${also}`;
}

/** Which of these runs have no time until the application was up, and why; null where all have one. */
export function leftOut(runs: readonly Run[]): string | null {
  const down = runs.filter((run) => upAfter(run) === null);
  if (down.length === 0) return null;
  const failed = down.filter((run) => !whyNotUp(run).late).length;
  const those = down.length === 1 ? "One run is" : `${down.length} runs are`;
  if (failed === down.length) return `${those} left out: requests of the application failed while it started.`;
  const some = failed === 0 ? "" : `; in ${failed} of them requests of it failed`;
  const never = down.filter((run) => !whyNotUp(run).started).length;
  if (never === down.length) return `${those} left out: the application was not started before the run ended.`;
  return `${those} left out: the application was not up when the run ended${some}.`;
}

/** Of several applications how soon each was up; of several start-ups of one, of how many the time is the mean. */
function ofHowMany(run: Run): string {
  const each = run.applications.map(({ name, mean_s }) => `${name} ${mean_s === null ? "not up" : span(mean_s)}`);
  if (each.length > 1) return each.slice(0, NAMED).join(", ") + (each.length > NAMED ? `, ${each.length - NAMED} more` : "");
  const [up, not] = [measure(run, UP) ?? 0, measure(run, NOT_UP) ?? 0];
  return up + not > 1 && up > 0 ? `${not > 0 ? `${count(up)} of ` : "mean of "}${count(up + not)}` : "";
}

/** When applications were started, and after how long they were up, in words; null where none was started. */
export function startInWords(run: Run): string | null {
  const startups = run.series?.startups ?? [];
  const [first] = startups;
  if (first === undefined) return null;
  // Its first request, with which the measured part may begin, comes a little after its start.
  const began = Math.round(first.began_s * 1000) / 1000;
  const at = began < 0 ? "in the warm-up" : `at ${span(Math.max(began, 0))}`;
  if (startups.length > 1) return `first started ${at}, ${startups.filter(({ up_s }) => up_s !== null).length} of ${startups.length} start-ups up`;
  return `started ${at}, ${first.up_s === null ? notUp(run) : `up after ${span(first.up_s - first.began_s)}`}`;
}

/** Megabytes a second. */
export interface Moved {
  read: number;
  written: number;
}

/** What was moved beside the application; of a host without one, by all. */
export function moved(run: Run): Moved | null {
  const [read, written] = [measure(run, READ), measure(run, WRITTEN)];
  return read === null || written === null ? null : { read, written };
}

function loadOf(config: Json): Record<string, Json> {
  const load = isTable(config) ? config["load"] : null;
  return isTable(load) ? load : {};
}

function isTable(value: Json | undefined): value is { [key: string]: Json } {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** Everything but who is beside. */
function without(config: Json): string {
  return JSON.stringify(isTable(config) ? { ...config, load: { ...loadOf(config), beside: null } } : config);
}

/** Whether nobody is beside the application. */
export function isIdle(run: Run): boolean {
  const { beside, process } = loadOf(run.config);
  return beside === NOBODY && (process === "" || process === undefined);
}

/** Seconds until the same application is up with nobody beside it, all else being the same; null where no run tells. */
export function idle(run: Run, runs: readonly Run[]): number | null {
  if (isIdle(run)) return null;
  const own = without(run.config);
  const other = runs.find((other) => isIdle(other) && without(other.config) === own);
  return other ? upAfter(other) : null;
}

/** A bar, and beside it what was moved meanwhile. */
export interface Row {
  run: number;
  name: string;
  /** In seconds; null where it did not happen, which `missing` tells. */
  value: number | null;
  missing: string;
  /** In seconds: as far as the axis goes at least. */
  reach: number;
  /** Behind the bar, in seconds: the longest of what it is the mean of. */
  most: number | null;
  /** In seconds: what it would be alone. */
  idle: number | null;
  moved: Moved | null;
  /** Said behind the value. */
  note: string;
}

/** Bars that are compared with each other. */
export interface Group {
  name: string;
  rows: Row[];
}

/** A run and what it is called. */
export interface Named {
  run: number;
  name: string;
}

/** How soon the application was up, by load. */
export function startGroups(runs: readonly Run[], loads: readonly { name: string; runs: readonly Named[] }[]): Group[] {
  const row = ({ run: index, name }: Named): Row => {
    const run = runs[index]!;
    const value = upAfter(run);
    const beside = { idle: idle(run, runs), moved: moved(run) };
    return { run: index, name, value, missing: notUp(run), reach: value ?? given(run), most: null, ...beside, note: ofHowMany(run) };
  };
  return loads.map(({ name, runs: those }) => ({ name, rows: those.map(row) })).filter(({ rows }) => rows.length > 0);
}

/** How long rounds took, by process; of one run all processes stand together. */
export function roundGroups(runs: readonly Run[], those: readonly Named[]): Group[] {
  const row = (index: number, name: string, process: Process): Row => ({
    run: index,
    name,
    value: process.mean_s,
    missing: `no round in ${span(runs[index]!.duration_s)}`,
    reach: process.max_s ?? 0,
    most: process.max_s,
    idle: null,
    moved: { read: process.read_mb_s, written: process.written_mb_s },
    note: process.late === null ? "" : `${process.late} of ${process.due} late`,
  });
  const [only] = those;
  if (only !== undefined && those.length === 1) {
    return [{ name: "", rows: runs[only.run]!.processes.map((process) => row(only.run, process.name, process)) }];
  }
  const groups = new Map<string, Row[]>();
  for (const { run, name } of those) {
    for (const process of runs[run]!.processes) {
      const rows = groups.get(process.name) ?? [];
      rows.push(row(run, name, process));
      groups.set(process.name, rows);
    }
  }
  return [...groups].map(([name, rows]) => ({ name, rows }));
}

/** Beyond this ratio of the greatest value to the least an axis is logarithmic: the least would have no bar. */
const LINEAR_MAX = 30;

/** Of so many there is room for lines between them. */
const FEW_DECADES = 3;

/** An axis of bars. */
export interface Scale {
  log: boolean;
  /** Place on it, from 0 to 100. */
  at: (value: number) => number;
  ticks: number[];
}

/** An axis that has room for these values, or one from 0 on, whatever they are. */
export function scale(values: readonly number[], fromZero: boolean): Scale {
  const above = values.filter((value) => value > 0);
  if (above.length === 0) return { log: false, at: () => 0, ticks: [] };
  const high = Math.max(...above);
  const low = Math.min(...above, high);
  if (fromZero || high / low <= LINEAR_MAX) {
    const step = [1, 2, 5, 10].map((one) => one * 10 ** Math.floor(Math.log10(high / 4))).find((one) => high / one <= 4) ?? high;
    const ticks = Array.from({ length: Math.floor(high / step) + 1 }, (_, index) => Number((index * step).toPrecision(12)));
    return { log: false, at: (value) => (100 * Math.max(value, 0)) / high, ticks };
  }
  // From a round number on, so that the least has a bar, too.
  const foot = 10 ** Math.floor(Math.log10(low * 0.8));
  const at = (value: number) => (100 * Math.log(Math.max(value, foot) / foot)) / Math.log(high / foot);
  const first = Math.round(Math.log10(foot));
  const decades = Array.from({ length: Math.ceil(Math.log10(high / foot)) + 1 }, (_, index) => first + index);
  const mantissas = decades.length > FEW_DECADES ? [1] : [1, 2, 5];
  const ticks = decades.flatMap((decade) => mantissas.map((mantissa) => Number(`${mantissa}e${decade}`)));
  return { log: true, at, ticks: ticks.filter((value) => value <= high) };
}

/** Streams of a run that are of no process of the scenario: the flusher's, the journal's, those of what an application consists of. */
export function otherStreams(run: Run): { stream: number; name: string }[] {
  const own = new Set(run.processes.map((process) => process.stream));
  const others = new Map(run.stream_responses.filter(({ stream }) => !own.has(stream)).map(({ stream, name }) => [stream, name]));
  return [...others].map(([stream, name]) => ({ stream, name })).sort((one, other) => one.stream - other.stream);
}
