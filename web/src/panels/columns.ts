// The columns of the table of numbers, in groups.

import { count, fitting, quantity } from "../format";
import { hasAnswers, keptUp } from "../growth";
import { HOST } from "../host";
import type { Declared, Rank, Ranking, Run, Times } from "../wire";

export interface Column {
  key: string;
  group: string;
  name: string;
  unit: string;
  /** What a listener or a pointer is told. */
  help: string;
  value: (run: Run) => number | null;
  /** As it is shown. */
  format: (value: number | null) => string;
  /** Which end is good; `none` where neither is. */
  good: "low" | "high" | "none";
  /** Whether it is of the requests that were answered, so that a run without any has none. */
  ofRequests: boolean;
}

const STATISTICS: [keyof Omit<Times, "ci95" | "p99_ci95" | "p999_ci95">, string, string][] = [
  ["mean", "mean", "Arithmetic mean"],
  ["p50", "p50", "Median"],
  ["p95", "p95", "95th percentile"],
  ["p99", "p99", "99th percentile"],
  ["p999", "p99.9", "99.9th percentile"],
  ["max", "max", "Longest"],
];

/** Whether requests that failed are not in it; percentiles take them for requests that were never answered. */
const ofAnswered = (key: keyof Times) => key === "mean" || key === "max";

function column(group: string, name: string, unit: string, help: string, good: Column["good"], value: Column["value"]): Column {
  return { key: `${group}.${name}.${unit}`, group, name, unit, help, value, good, format: quantity, ofRequests: false };
}

/** A column of times of requests. */
function times(group: string, name: string, help: string, value: Column["value"]): Column {
  return { ...column(group, name, "ms", help, "low", (run) => (hasAnswers(run) ? value(run) : null)), ofRequests: true };
}

/** What is shown of a run. */
export function cell(column: Column, run: Run): string {
  return column.ofRequests && !hasAnswers(run) ? "none" : column.format(column.value(run));
}

/** Whether there is anything to show of some runs: of those without answers, that they have no mean. */
export function isShown(column: Column, runs: readonly Run[]): boolean {
  return runs.some((run) => column.value(run) !== null || (column.key === MEAN && !hasAnswers(run)));
}

/** A column of counts. */
function whole(group: string, name: string, unit: string, help: string, good: Column["good"], value: (run: Run) => number): Column {
  return { ...column(group, name, unit, help, good, value), format: (value) => count(value ?? 0) };
}

/** Columns of what parts and measurements have counted, as they declare it. */
function declared(measures: readonly Declared[]): Column[] {
  const sentence = (help: string) => help.charAt(0).toUpperCase() + help.slice(1);
  return measures.map(({ of, name, unit, help }) =>
    column("Counted by parts", `${of} ${name}`, unit, sentence(help), "none", (run) => run.measures.get(of)?.get(name) ?? null),
  );
}

/** What a host declares stands first, under names without their units. */
export function columns(measures: readonly Declared[]): readonly Column[] {
  const ofHost = declared(measures.filter(({ of }) => of === HOST)).map((column) => {
    const name = column.name.slice(HOST.length + 1).replace(/_(s|mb|mb_s|percent)$/, "");
    const whole = column.unit === "requests" || column.unit === "start-ups";
    const format = whole ? (value: number | null) => (value === null ? column.format(value) : count(value)) : column.format;
    return { ...column, group: "Host", name: name.replaceAll("_", " "), format };
  });
  return [...ofHost, ...COLUMNS, ...declared(measures.filter(({ of }) => of !== HOST))];
}

/** A column of times in the unit that fits its largest, whose name then tells none. */
export function fitted(column: Column, runs: readonly Run[]): Column {
  const most = runs.reduce((most, run) => Math.max(most, Math.abs(column.value(run) ?? 0)), 0);
  const { unit, factor } = fitting(column.unit, most);
  if (factor === 1) return column;
  const value = (run: Run) => {
    const found = column.value(run);
    return found === null ? null : found * factor;
  };
  return { ...column, name: column.name.replace(/_(s|ms|us)$/, ""), unit, value };
}

/** Whether a run served what was asked: the numbers of one that did not are of other requests than those of the rest. */
const served = ({ standing }: Rank) => standing === "keeps up" || standing === "overloaded";

/** The runs that are best in a column under their load, where there is a choice. */
export function bests(column: Column, runs: readonly Run[], rankings: readonly Ranking[]): ReadonlySet<number> {
  if (column.good === "none") return new Set();
  const ofLoad = ({ ranks }: Ranking) => {
    const values = ranks.filter(served).flatMap(({ run }) => {
      const value = column.value(runs[run]!);
      return value === null ? [] : [{ run, value }];
    });
    const all = values.map(({ value }) => value);
    if (new Set(all.map(column.format)).size < 2) return [];
    const best = column.good === "low" ? Math.min(...all) : Math.max(...all);
    return values.filter(({ value }) => value === best).map(({ run }) => run);
  };
  return new Set(rankings.flatMap(ofLoad));
}

/** The mean of all, which every run has that answered anything. */
const MEAN = "Response.mean.ms";

const COLUMNS: readonly Column[] = [
  column("Throughput", "rate", "req/s", "Requests answered per second", "high", (run) => run.throughput_rps),
  column("Throughput", "data", "MB/s", "Megabytes read and written per second", "high", (run) => run.throughput_mb_s),
  ...STATISTICS.map(([key, name, help]) =>
    times("Response", name, `${help} of response times, arrival to answer, of ${ofAnswered(key) ? "the requests that were answered" : "all requests"}`, (run) => (keptUp(run) ? run.response_ms[key] : null)),
  ),
  times("Reads", "mean", "Mean response time of reads that were answered", (run) => (keptUp(run) ? (run.read_response_ms?.mean ?? null) : null)),
  times("Reads", "p99", "99th percentile of reads", (run) => (keptUp(run) ? (run.read_response_ms?.p99 ?? null) : null)),
  times("Writes", "mean", "Mean response time of writes that were answered", (run) => (keptUp(run) ? (run.write_response_ms?.mean ?? null) : null)),
  times("Writes", "p99", "99th percentile of writes", (run) => (keptUp(run) ? (run.write_response_ms?.p99 ?? null) : null)),
  times("Flushes", "mean", "Mean response time of flushes that were answered", (run) => run.flush_response_ms?.mean ?? null),
  times("Mean parts", "wait", "Arrival to start on the drive", (run) => run.wait_ms.mean),
  times("Mean parts", "service", "Start on the drive to answer", (run) => run.service_ms.mean),
  column("Drive", "busy", "%", "Share of the time that the drive was busy, spare time that it used among it", "none", (run) => run.utilisation * 100),
  column("Drive", "queue", "mean", "Mean number of requests in the system", "low", (run) => run.queue_mean),
  whole("Drive", "queue", "max", "Most requests in the system at once", "low", (run) => run.queue_max),
  column("Drive", "queue grows", "req/s", "By how many requests a second the queue grew, if it did", "low", (run) => run.queue_growth_rps),
  whole("Counted", "requests", "", "Requests answered, warm-up included", "none", (run) => run.requests),
];

/** Distributions of a run for its details. */
export const DISTRIBUTIONS: readonly [string, (run: Run) => Times | null][] = [
  ["response", (run) => run.response_ms],
  ["response, reads", (run) => run.read_response_ms],
  ["response, writes", (run) => run.write_response_ms],
  ["response, flushes", (run) => run.flush_response_ms],
  ["wait", (run) => run.wait_ms],
  ["wait, reads", (run) => run.read_wait_ms],
  ["wait, writes", (run) => run.write_wait_ms],
  ["service", (run) => run.service_ms],
  ["service, reads", (run) => run.read_service_ms],
  ["service, writes", (run) => run.write_service_ms],
  ["as traced", (run) => run.traced?.response_ms ?? null],
  ["as traced, reads", (run) => run.traced?.read_response_ms ?? null],
  ["as traced, writes", (run) => run.traced?.write_response_ms ?? null],
];

export { STATISTICS };
