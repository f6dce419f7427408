// Parsers of data: each takes a value and its path, and gives what the page uses or says where the data are not what it knows.

/** Data that are not what this page knows; says where. */
export class WireError extends Error {
  override name = "WireError";
}

export type Parser<T> = (value: unknown, path: string) => T;
export type Parsed<P> = P extends Parser<infer T> ? T : never;
export type Shape = Record<string, Parser<unknown>>;

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export function fail(path: string, expected: string, value: unknown): never {
  const found = value === null ? "null" : Array.isArray(value) ? "a list" : typeof value;
  throw new WireError(`${path || "the file"}: expected ${expected}, found ${found}`);
}

export const text: Parser<string> = (value, path) =>
  typeof value === "string" ? value : fail(path, "text", value);

export const flag: Parser<boolean> = (value, path) =>
  typeof value === "boolean" ? value : fail(path, "true or false", value);

export const number: Parser<number> = (value, path) =>
  typeof value === "number" && Number.isFinite(value) ? value : fail(path, "a number", value);

export const count: Parser<number> = (value, path) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : fail(path, "a count", value);

/** An integer of any size, as its digits: what exceeds a double arrives in quotes. */
export const digits: Parser<string> = (value, path) => {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return String(value);
  return typeof value === "string" && /^[0-9]+$/.test(value) ? value : fail(path, "an integer", value);
};

export const json: Parser<Json> = (value, path) =>
  value === undefined ? fail(path, "a value", value) : (value as Json);

export function nullable<T>(inner: Parser<T>): Parser<T | null> {
  return (value, path) => (value === null ? null : inner(value, path));
}

export function list<T>(inner: Parser<T>): Parser<T[]> {
  return (value, path) =>
    Array.isArray(value)
      ? value.map((item, index) => inner(item, `${path}[${index}]`))
      : fail(path, "a list", value);
}

/** One of these words. */
export function oneOf<T extends string>(...words: readonly T[]): Parser<T> {
  return (value, path) => words.find((word) => word === value) ?? fail(path, `one of ${words.join(", ")}`, value);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function dictionary<T>(inner: Parser<T>): Parser<Map<string, T>> {
  return (value, path) => {
    if (!isObject(value)) fail(path, "an object", value);
    const entries = Object.entries(value);
    return new Map(entries.map(([key, item]) => [key, inner(item, `${path}.${key}`)]));
  };
}

export function object<S extends Shape>(shape: S): Parser<{ [K in keyof S]: Parsed<S[K]> }> {
  return (value, path) => {
    if (!isObject(value)) fail(path, "an object", value);
    for (const key of Object.keys(value)) {
      if (!Object.hasOwn(shape, key)) throw new WireError(`${path || "the file"}: unknown key ${key}`);
    }
    const prefix = path ? `${path}.` : "";
    const parsed = Object.entries(shape).map(([key, inner]) => {
      if (!Object.hasOwn(value, key)) throw new WireError(`${prefix}${key} is missing`);
      return [key, inner(value[key], prefix + key)];
    });
    return Object.fromEntries(parsed) as { [K in keyof S]: Parsed<S[K]> };
  };
}

export const interval: Parser<[number, number]> = (value, path) => {
  const [low, high, ...rest] = list(number)(value, path);
  if (low === undefined || high === undefined || rest.length > 0) fail(path, "two numbers", value);
  return [low, high];
};

/** Lists that belong together are equally long. */
export function even(group: readonly (readonly unknown[])[], path: string): void {
  if (new Set(group.map((one) => one.length)).size > 1) {
    throw new WireError(`${path}: lists that belong together differ in length`);
  }
}
