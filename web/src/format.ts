// Numbers as people read them: four digits that matter, narrow spaces between thousands, units where they stand alone.

// Narrow, and no line breaks at it.
const THIN = "\u202f";
const MINUS = "\u2212";
export const NONE = "\u2013";

function grouped(digits: string): string {
  const [whole = "", rest] = digits.split(".");
  const spaced = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, THIN) : whole;
  return rest === undefined ? spaced : `${spaced}.${rest}`;
}

/** A quantity with about four digits. */
export function quantity(value: number | null | undefined): string {
  if (value === null || value === undefined) return NONE;
  const size = Math.abs(value);
  const sign = value < 0 ? MINUS : "";
  if (size === 0) return "0";
  if (size < 0.001) return sign + size.toExponential(1).replace("e-", "e" + MINUS);
  if (size >= 1e9) return sign + size.toExponential(2).replace("e+", "e");
  const decimals = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
  return sign + grouped(size.toFixed(decimals));
}

/** The same in a column whose unit is given: what is less than a thousandth of it is told as that. */
export function short(value: number): string {
  const size = Math.abs(value);
  return size > 0 && size < 0.001 ? "< 0.001" : quantity(value);
}

/** A count, whole. */
export function count(value: number): string {
  return grouped(String(value));
}

/** A share in percent. */
export function percent(share: number, digits = 1): string {
  return `${(share * 100).toFixed(digits)}${THIN}%`;
}

/** Units of time, each a thousand times the next. */
const STEPS = ["s", "ms", "\u00b5s", "ns"] as const;
/** Below this a number is told in the next smaller unit. */
const LEAST = 0.1;

/** The unit in which a time is no tiny number, or the largest of several that share one: `0.000715` of `s` is `0.715` of `ms`. Any other unit stays. */
export function fitting(unit: string, most: number): { unit: string; factor: number } {
  let at = STEPS.findIndex((step) => step === unit);
  let factor = 1;
  while (at >= 0 && most > 0 && most * factor < LEAST && at + 1 < STEPS.length) [at, factor] = [at + 1, factor * 1000];
  return { unit: STEPS[at] ?? unit, factor };
}

/** A number with its unit; of a time, with the one that fits. */
export function measured(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined) return NONE;
  const fits = fitting(unit, Math.abs(value));
  return `${quantity(value * fits.factor)}${fits.unit ? THIN + fits.unit : ""}`;
}

/** A duration given in milliseconds, in the unit that suits it. */
export function duration(ms: number | null | undefined): string {
  return Math.abs(ms ?? 0) >= 10_000 ? measured(ms! / 1000, "s") : measured(ms, "ms");
}

/** A difference of durations, with its sign. */
export function difference(ms: number): string {
  return `${ms < 0 ? MINUS : "+"}${duration(Math.abs(ms))}`;
}

/** A tick that is a time, given in milliseconds. */
export function timeTick(ms: number): string {
  const size = Math.abs(ms);
  if (size === 0) return "0";
  if (size < 1) return `${tick(ms * 1000)}${THIN}µs`;
  return size < 1000 ? `${tick(ms)}${THIN}ms` : `${tick(ms / 1000)}${THIN}s`;
}

/** A span given in seconds, without zeros that say nothing. */
export function span(seconds: number): string {
  return spanned(seconds).replace(/\.0+(?!\d)/, "");
}

function spanned(seconds: number): string {
  if (seconds >= 172_800) return `${quantity(seconds / 86_400)}${THIN}days`;
  if (seconds >= 7_200) return `${quantity(seconds / 3_600)}${THIN}h`;
  if (seconds >= 180) return `${quantity(seconds / 60)}${THIN}min`;
  return seconds >= 1 ? `${quantity(seconds)}${THIN}s` : duration(seconds * 1000);
}

/** An amount of data, by powers of 1024. */
export function bytes(amount: number): string {
  const { name, size } = byteUnit(amount);
  const value = amount / size;
  return `${Number.isInteger(value) ? grouped(String(value)) : quantity(value)}${THIN}${name}`;
}

/** How many times the best. */
export function ratio(value: number | null): string {
  if (value === null) return NONE;
  return `${grouped(value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2))}×`;
}

/** How often something happens, given as times a second, in the unit of time in which it is about once or more. */
export function rate(perSecond: number): string {
  const units = [[0.1, 1, "s"], [1, 60, "min"], [1, 3_600, "h"]] as const;
  const [, seconds, unit] = units.find(([least, seconds]) => perSecond <= 0 || perSecond * seconds >= least) ?? [0, 86_400, "day"];
  return `${quantity(perSecond * seconds)}${THIN}/${unit}`;
}

/** A sentence that does not break between a number and what it is of, where that is short. */
export function joined(text: string): string {
  return text.replace(/(\d) (%|[µu]s|ms|s|min|h|[KMGT]i?B)(?![\w/])/g, `$1${THIN}$2`);
}

/** A tick of an axis: as short as it can be. */
export function tick(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return Number(value.toPrecision(6)).toExponential().replace("e+", "e").replace("-", MINUS);
  return grouped(String(Number(value.toPrecision(6)))).replace("-", MINUS);
}

/** The share of requests that are slower, as the percentile it leaves: 0.01 is p99. */
export function percentile(slower: number): string {
  if (slower >= 1) return "all";
  const digits = Math.max(0, Math.round(-Math.log10(slower)) - 2);
  return `p${((1 - slower) * 100).toFixed(digits)}`;
}

/** A unit of an axis. */
export interface Unit {
  name: string;
  /** How many seconds, or bytes, it has. */
  size: number;
}

/** A unit of time, as a word and as it stands behind a number. */
export interface TimeUnit extends Unit {
  short: string;
}

const TIMES: readonly [least: number, unit: TimeUnit][] = [
  [172_800, { name: "days", short: "days", size: 86_400 }],
  [10_800, { name: "hours", short: "h", size: 3_600 }],
  [300, { name: "minutes", short: "min", size: 60 }],
  [1, { name: "seconds", short: "s", size: 1 }],
  [1e-3, { name: "milliseconds", short: "ms", size: 1e-3 }],
  [0, { name: "microseconds", short: "\u00b5s", size: 1e-6 }],
];

/** The unit in which a span of seconds is neither tiny nor endless. */
export function timeUnit(seconds: number): TimeUnit {
  return TIMES.find(([least]) => seconds >= least)![1];
}

/** A part of an axis so much shorter than its unit needs a smaller one. */
const PART_MIN = 0.02;

/** The unit of an axis of time from which a part is seen, given in seconds. */
export function axisUnit(from: number, to: number): TimeUnit {
  const unit = timeUnit(Math.max(Math.abs(from), Math.abs(to)));
  const seen = to - from;
  return seen >= PART_MIN * unit.size ? unit : timeUnit(seen);
}

/** The same for an amount of data. */
export function byteUnit(amount: number): Unit {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  const power = amount < 1 ? 0 : Math.min(Math.floor(Math.log2(amount) / 10), units.length - 1);
  return { name: units[power]!, size: 1024 ** power };
}

/** A duration that is a power of ten, given in milliseconds. */
export function decade(ms: number): string {
  const exponent = Math.round(Math.log10(ms)) + 6;
  const unit = Math.min(Math.floor(exponent / 3), 3);
  return `${grouped(String(10 ** (exponent - 3 * unit)))}${THIN}${["ns", "µs", "ms", "s"][unit]}`;
}
