// What an inspection's data are; mirrors `crates/lab/src/inspect/inspection.rs` and `pictures.rs`.

import { count, dictionary, digits, even, flag, json, list, nullable, number, object, oneOf, type Parsed, type Parser, text } from "./parsers";

/** Version of the layout that this page reads. */
export const INSPECTION_SCHEMA = 2;

/** Something to know before believing the numbers; mirrors `crates/lab/src/warning.rs`. */
export const warning = object({ kind: text, run: nullable(text), text });

export type Warning = Parsed<typeof warning>;

/** An integer that may be larger than a double holds; a picture does not show the difference. */
const large: Parser<number> = (value, path) => Number(digits(value, path));

/** Lists that are equally long. */
function columns<T extends Record<string, unknown>>(inner: Parser<T>): Parser<T> {
  return (value, path) => {
    const parsed = inner(value, path);
    even(Object.values(parsed).filter((one) => Array.isArray(one)), path);
    return parsed;
  };
}

const spread = object({ min_bytes: large, mean_bytes: number, p50_bytes: large, p95_bytes: large, max_bytes: large });

const latency = object({ known: count, mean_ms: number, p50_ms: number, p95_ms: number, p99_ms: number, max_ms: number });

const load = columns(
  object({
    interval_s: number,
    read_rps: list(number),
    write_rps: list(number),
    other_rps: list(number),
    read_mb_s: list(number),
    write_mb_s: list(number),
  }),
);

const heatMap = object({
  device: text,
  requests: count,
  from_bytes: large,
  row_bytes: large,
  rows: count,
  cells: columns(object({ column: list(count), row: list(count), reads: list(count), writes: list(count) })),
});

const heat = object({
  maps: list(heatMap),
  unmapped_requests: count,
  reads_two_thirds_share: nullable(number),
  writes_two_thirds_share: nullable(number),
});

const held = columns(object({ touches: count, held_share: list(number), standard_error: list(number) }));

const anyReuse = object({
  block_bytes: count,
  sampled_one_in: count,
  cache_bytes: list(large),
  all: held,
  reads: nullable(held),
  writes: nullable(held),
  outsized_requests: count,
});

const reuse: Parser<Parsed<typeof anyReuse>> = (value, path) => {
  const parsed = anyReuse(value, path);
  for (const one of [parsed.all, parsed.reads, parsed.writes]) {
    if (one !== null) even([parsed.cache_bytes, one.held_share], path);
  }
  return parsed;
};

const pictures = object({ findings: list(text), load, heat: nullable(heat), reuse: nullable(reuse) });

export const inspection = object({
  schema: count,
  version: text,
  build: text,
  format: text,
  format_version: nullable(text),
  files: list(text),
  notes: list(text),
  hash: text,
  requests: count,
  limited: flag,
  span: nullable(object({ from_s: number, to_s: nullable(number), busiest: flag })),
  span_s: number,
  time: object({
    kind: oneOf("arrival", "issue", "completion", "none"),
    resolution_ns: count,
    step_ns: nullable(large),
    epoch_unix_ns: nullable(json),
    spread: nullable(json),
  }),
  // A sum of lengths, which may be beyond what is exact.
  operations: dictionary(object({ requests: count, bytes: number })),
  read_share: nullable(number),
  read_bytes_share: nullable(number),
  devices: list(object({ name: text, requests: count, reads: count, writes: count, end_bytes: large })),
  clients: object({ count, busiest: list(object({ name: text, requests: count })) }),
  sizes: object({
    all: nullable(spread),
    reads: nullable(spread),
    writes: nullable(spread),
    common: list(object({ bytes: large, requests: count, share: number })),
    octaves: columns(object({ from_bytes: list(large), reads: list(count), writes: list(count) })),
  }),
  alignment: object({
    by_512_share: number,
    by_4k_share: number,
    by_64k_share: number,
    offsets_bytes: large,
    lengths_bytes: large,
  }),
  footprint: object({
    bytes: nullable(large),
    sampled_one_in: count,
    read_pages_again_share: nullable(number),
    written_pages_again_share: nullable(number),
    outsized_requests: count,
  }),
  timeline: object({
    interval_s: number,
    working_set_mib: list(number),
    rate_rps: list(number),
    throughput_mb_s: list(number),
    read_share: list(nullable(number)),
  }),
  arrivals: object({
    mean_rps: nullable(number),
    peak_1s_rps: nullable(number),
    peak_100ms_rps: nullable(number),
    gap_cv: nullable(number),
    gap_p10_ms: nullable(number),
    gaps: columns(object({ zero: count, from_ns: list(large), gaps: list(count) })),
    dispersion: list(object({ window_s: number, windows: count, index: number })),
  }),
  sequentiality: object({ device_share: number, stream_share: number }),
  throughput: object({
    mean_mb_s: nullable(number),
    read_mb_s: nullable(number),
    write_mb_s: nullable(number),
    peak_1s_mb_s: nullable(number),
  }),
  response: nullable(latency),
  service: nullable(latency),
  queue: nullable(object({ mean: nullable(number), p50: count, p95: count, max: count })),
  anomalies: list(object({ kind: text, count: count, examples: list(text) })),
  lost_share: number,
  warnings: list(warning),
  pictures,
});

export type Inspection = Parsed<typeof inspection>;
export type LoadOverTime = Parsed<typeof load>;
export type Heat = Parsed<typeof heat>;
export type HeatMap = Parsed<typeof heatMap>;
export type Reuse = Parsed<typeof anyReuse>;
export type Held = Parsed<typeof held>;
