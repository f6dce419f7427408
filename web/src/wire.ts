// What the report's data are. One parser checks them key by key and rejects what it does not know: a page that shows
// half of a newer file as if it were all would be worse than one that says so.
//
// The shapes mirror `crates/lab/src/outcome.rs`; those of an inspection are in `inspection.ts`. The samples in `fixtures/` are
// written by a Rust test and read by one here.

import { type Inspection, inspection, INSPECTION_SCHEMA, warning } from "./inspection";
import {
  count,
  dictionary,
  digits,
  even,
  fail,
  flag,
  interval,
  isObject,
  json,
  list,
  nullable,
  number,
  object,
  oneOf,
  type Parsed,
  type Parser,
  text,
  WireError,
} from "./parsers";

export { type Json, WireError } from "./parsers";

/** Version of the layout that this page reads. */
export const SCHEMA = 5;
/** The same of published figures. */
export const FIGURES_SCHEMA = 3;

const times = object({
  mean: number,
  p50: nullable(number),
  p95: nullable(number),
  p99: nullable(number),
  p999: nullable(number),
  max: number,
  ci95: nullable(interval),
  p99_ci95: nullable(interval),
  p999_ci95: nullable(interval),
});

const demand = object({
  offered_rps: number,
  offered_mb_s: number,
  busiest_rps: number,
  busiest_mb_s: number,
  ability_rps: number,
  ability_mb_s: number,
  load_factor: number,
});

/** What a number in the measures of runs is. */
const declared = object({
  of: text,
  name: text,
  unit: text,
  help: text,
});

const traced = object({
  requests: count,
  untold: count,
  response_ms: times,
  read_response_ms: nullable(times),
  write_response_ms: nullable(times),
  demerit_ms: nullable(number),
  demerit_share: nullable(number),
});

const gaps = object({
  by_writes: list(count),
  writes_mean: number,
  ms_mean: number,
  seek_ms_mean: number,
  rotation_ms_mean: number,
});

const stretch = object({
  span_s: number,
  reads: count,
  writes: count,
  open_writes: count,
  gaps: nullable(gaps),
});

const freeSpace = object({
  drive: count,
  cylinders: list(count),
  time_s: list(number),
  free_per_10k: list(list(count)),
});

/** A start-up of an application, in seconds since the start of the measured part. */
const startUp = object({ began_s: number, up_s: nullable(number) });

/** A drive that is gone from an instant on, in seconds since the start of the measured part. */
const gone = object({ drive: count, at_s: number });

const anySeries = object({
  cdf_ms: list(number),
  cdf_share: list(number),
  traced_cdf_ms: list(number),
  traced_cdf_share: list(number),
  time_s: list(number),
  rate_rps: list(number),
  response_ms: list(nullable(number)),
  queue: list(number),
  queue_read: list(number),
  queue_write: list(number),
  arm_s: list(number),
  arm_drive: list(count),
  arm_share: list(number),
  arm_from: list(count),
  arm_cylinder: list(count),
  arm_write: list(flag),
  arm_open: list(flag),
  arm_overhead_ms: list(number),
  arm_seek_ms: list(number),
  arm_rotation_ms: list(number),
  arm_transfer_ms: list(number),
  stretch: nullable(stretch),
  free: list(freeSpace),
  startups: list(startUp),
  gone: list(gone),
});

/** Series whose lists that belong together are equally long; start-ups, and drives that went, are left out where there are none. */
const series: Parser<Parsed<typeof anySeries>> = (value, path) => {
  const lists = anySeries(isObject(value) ? { startups: [], gone: [], ...value } : value, path);
  const groups = [
    [lists.cdf_ms, lists.cdf_share],
    [lists.traced_cdf_ms, lists.traced_cdf_share],
    [lists.time_s, lists.rate_rps, lists.response_ms, lists.queue, lists.queue_read, lists.queue_write],
    [lists.arm_s, lists.arm_drive, lists.arm_share, lists.arm_from, lists.arm_cylinder, lists.arm_write, lists.arm_open],
    [lists.arm_s, lists.arm_overhead_ms, lists.arm_seek_ms, lists.arm_rotation_ms, lists.arm_transfer_ms],
    ...lists.free.map((free) => [free.time_s, free.free_per_10k]),
    ...lists.free.map((free) => [free.cylinders.slice(1), ...free.free_per_10k]),
  ];
  for (const group of groups) even(group, path);
  return lists;
};

const volume = object({
  device: text,
  requests: count,
  end_bytes: count,
  drive: nullable(count),
  first_block: count,
});

const volumeResponse = object({
  device: text,
  requests: count,
  failed: count,
  mean_ms: nullable(number),
  p50_ms: nullable(number),
  p99_ms: nullable(number),
  max_ms: nullable(number),
});

const streamResponse = object({
  stream: count,
  name: text,
  op: oneOf("read", "write"),
  requests: count,
  failed: count,
  mean_ms: nullable(number),
  p50_ms: nullable(number),
  p99_ms: nullable(number),
  max_ms: nullable(number),
});

const processFound = object({
  name: text,
  stream: count,
  rounds: count,
  ended: flag,
  mean_s: nullable(number),
  min_s: nullable(number),
  max_s: nullable(number),
  due: nullable(count),
  late: nullable(count),
  read_mb_s: number,
  written_mb_s: number,
  held_s: number,
  failed: count,
});

const applicationFound = object({
  name: text,
  up: count,
  not_up: count,
  failed: count,
  mean_s: nullable(number),
});

const lostBlocks = object({
  blocks: count,
  extents: list(object({ first_block: count, blocks: count })),
});

const runShape = object({
  label: text,
  load: text,
  choice: text,
  settings: dictionary(text),
  config: json,
  replay: text,
  volumes: list(volume),
  volume_responses: list(volumeResponse),
  stream_responses: list(streamResponse),
  processes: list(processFound),
  applications: list(applicationFound),
  requests: count,
  warmup_requests: count,
  operations: dictionary(count),
  failed: dictionary(count),
  pending: count,
  duration_s: number,
  throughput_rps: number,
  throughput_mb_s: number,
  response_ms: times,
  read_response_ms: nullable(times),
  write_response_ms: nullable(times),
  flush_response_ms: nullable(times),
  wait_ms: times,
  read_wait_ms: nullable(times),
  write_wait_ms: nullable(times),
  service_ms: times,
  read_service_ms: nullable(times),
  write_service_ms: nullable(times),
  seek_ms: number,
  rotation_ms: number,
  transfer_ms: number,
  overhead_ms: number,
  utilisation: number,
  utilisation_max: number,
  queue_mean: number,
  queue_max: count,
  measures: dictionary(dictionary(number)),
  demand: nullable(demand),
  queue_growth_rps: nullable(number),
  lost: nullable(lostBlocks),
  traced: nullable(traced),
  simulated_in_s: number,
  series: nullable(series),
});

/** A run; its series may be left out, what was lost where nothing was, processes where it is of no host, and applications where none was to start. */
const run: Parser<Parsed<typeof runShape>> = (value, path) =>
  runShape(isObject(value) ? { series: null, lost: null, processes: [], applications: [], ...value } : value, path);

const word = oneOf("faster", "slower", "equal", "undecided", "too few requests", "overloaded", "failed", "other failed", "wrong blocks", "other wrong blocks");

const difference = object({
  ms: nullable(number),
  ci95_ms: nullable(interval),
  word,
});

const rank = object({
  run: count,
  place: count,
  choice: text,
  standing: oneOf("keeps up", "overloaded", "failed", "wrong blocks"),
  first: nullable(oneOf("best", "grows least", "fails least")),
  response_ms_mean: number,
  ratio_to_best: nullable(number),
  against_baseline: nullable(difference),
  against_best: nullable(difference),
});

const ranking = object({
  load: text,
  baseline: nullable(count),
  ranks: list(rank),
});

const verdict = object({
  headline: text,
  details: list(text),
  baseline: nullable(text),
  rankings: list(ranking),
});

const varied = object({
  key: text,
  role: oneOf("load", "choice"),
  values: list(text),
});

const traceSpan = object({
  from_s: number,
  to_s: nullable(number),
  busiest: flag,
});

const trace = object({
  files: list(text),
  format: text,
  hash: text,
  requests: count,
  device: text,
  span_s: number,
  span: nullable(traceSpan),
  fit: text,
  spread: text,
});

/** The drive that was chosen as none was named. */
const driveChosen = object({
  name: text,
  capacity_bytes: count,
  why: text,
});

const results = object({
  schema: count,
  version: text,
  build: text,
  seed: digits,
  trace: nullable(trace),
  drive_chosen: nullable(driveChosen),
  runs: list(run),
  measures: list(declared),
  varied: list(varied),
  verdict,
  runs_planned: count,
  warnings: list(warning),
});

/** What an inspection found in the trace; mirrors `crates/lab/src/report/profile.rs`. */
const profile = object({
  requests: count,
  span_s: number,
  read_share: nullable(number),
  size_p50_bytes: nullable(count),
  size_mean_bytes: nullable(number),
  size_max_bytes: nullable(count),
  footprint_bytes: number,
  sequential_share: number,
  rate_mean_rps: nullable(number),
  rate_peak_1s_rps: nullable(number),
  rate_peak_100ms_rps: nullable(number),
  gap_cv: nullable(number),
  traced_response_mean_ms: nullable(number),
  traced_queue_mean: nullable(number),
  interval_s: number,
  rate_rps: list(number),
  working_set_mib: list(number),
});

const payload = object({ results, profile: nullable(profile) });

const axis = object({ label: text, unit: text, log: flag, ticks: list(number) });

const anyLine = object({
  label: text,
  x: list(number),
  y: list(number),
  low: list(nullable(number)),
  high: list(nullable(number)),
});

const figureLine: Parser<Parsed<typeof anyLine>> = (value, path) => {
  const line = anyLine(value, path);
  even([line.x, line.y, line.low, line.high], path);
  return line;
};

const CLAIM_VERDICTS = ["holds", "does not hold", "undecided", "not testable"] as const;
/** What became of a claim. */
export type ClaimVerdict = (typeof CLAIM_VERDICTS)[number];

const claimVerdict: Parser<ClaimVerdict> = (value, path) =>
  CLAIM_VERDICTS.find((known) => known === value) ?? fail(path, `one of ${CLAIM_VERDICTS.join(", ")}`, value);

const claim = object({
  id: text,
  kind: text,
  statement: text,
  published: text,
  range: text,
  outside: text,
  found: text,
  verdict: nullable(claimVerdict),
  provisional: flag,
  note: text,
});

/** An answer that figures are there to show. */
const anyTable = object({ heads: list(list(text)), rows: list(list(text)), note: text });

const table: Parser<Parsed<typeof anyTable>> = (value, path) => {
  const found = anyTable(value, path);
  for (const row of found.rows) even([found.heads, row], path);
  return found;
};

const answer = object({ title: text, headline: text, details: list(text), warnings: list(warning), table: nullable(table) });

/** Figures, published ones or such as show an answer; mirrors `crates/lab/src/report/figures.rs`. */
const figures = object({
  schema: count,
  version: text,
  build: text,
  answer: nullable(answer),
  figures: list(
    object({
      name: text,
      question: text,
      source: text,
      setup: text,
      seeds: list(digits),
      x: axis,
      y: axis,
      limit: nullable(number),
      panels_by: text,
      panels: list(object({ name: text, lines: list(figureLine) })),
      claims: list(claim),
    }),
  ),
});

const figuresPayload = object({ figures });

export type Times = Parsed<typeof times>;
export type Series = Parsed<typeof anySeries>;
export type Run = Parsed<typeof run>;
export type Declared = Parsed<typeof declared>;
export type Difference = Parsed<typeof difference>;
export type Rank = Parsed<typeof rank>;
export type Ranking = Parsed<typeof ranking>;
export type Varied = Parsed<typeof varied>;
export type Verdict = Parsed<typeof verdict>;
export type Trace = Parsed<typeof trace>;
export type Results = Parsed<typeof results>;
export type Process = Parsed<typeof processFound>;
export type Profile = Parsed<typeof profile>;
export type Payload = Parsed<typeof payload>;
export type FreeSpace = Parsed<typeof freeSpace>;
export type Stretch = Parsed<typeof stretch>;
export type Figures = Parsed<typeof figures>;
export type Figure = Figures["figures"][number];
export type FigureAxis = Figure["x"];
export type AnswerTable = Parsed<typeof table>;
export type FigureLine = Parsed<typeof figureLine>;
export type Claim = Parsed<typeof claim>;

/** What a page may hold. */
export type Content = { report: Payload } | { figures: Figures } | { inspection: Inspection };

/** Reads the data of a page. Throws a [WireError] that names the first place that is wrong. */
export function parse(source: string): Content {
  let value: unknown;
  try {
    value = JSON.parse(source);
  } catch {
    throw new WireError("the file holds no report: its data are not JSON");
  }
  if (isObject(value) && Object.hasOwn(value, "figures")) return { figures: ofFigures(value) };
  if (isObject(value) && Object.hasOwn(value, "inspection")) return { inspection: ofInspection(value) };
  return { report: ofReport(value) };
}

/** Refuses another layout before its first unknown key would be complained about. */
function layout(part: unknown, known: number): void {
  const schema = isObject(part) ? part["schema"] : undefined;
  if (typeof schema === "number" && schema !== known) {
    throw new WireError(`the data have layout ${schema}, this page reads layout ${known}`);
  }
}

function ofReport(value: unknown): Payload {
  layout(isObject(value) ? value["results"] : undefined, SCHEMA);
  const parsed = payload(value, "");
  const ranks = parsed.results.verdict.rankings.flatMap((ranking) => ranking.ranks);
  for (const { run: index } of ranks) {
    if (index >= parsed.results.runs.length) throw new WireError(`the ranking names run ${index}, which is not there`);
  }
  return parsed;
}

function ofFigures(value: Record<string, unknown>): Figures {
  layout(value["figures"], FIGURES_SCHEMA);
  return figuresPayload(value, "").figures;
}

function ofInspection(value: Record<string, unknown>): Inspection {
  layout(value["inspection"], INSPECTION_SCHEMA);
  return object({ inspection })(value, "").inspection;
}
