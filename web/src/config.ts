// A run's configuration, flattened: `{"sched": {"name": "satf"}}` is `sched.name = satf`.

import type { Json } from "./wire";

const OWN_DRIVES = "own-drives";

export type Setting = [key: string, value: string];

/** Name of a part, which is a table with `name` or a bare word. */
export function partName(config: Json, kind: string): string | null {
  if (config === null || typeof config !== "object" || Array.isArray(config)) return null;
  if (!Object.hasOwn(config, kind)) return null;
  const part = config[kind];
  if (typeof part === "string") return part;
  if (part === null || typeof part !== "object" || Array.isArray(part)) return null;
  return typeof part["name"] === "string" ? part["name"] : null;
}

/** Name of the placement; where every volume lies on drives of its own, that. */
export function placement(config: Json): string | null {
  const load = config !== null && typeof config === "object" && !Array.isArray(config) ? config["load"] : null;
  const volumes = load !== null && typeof load === "object" && !Array.isArray(load) ? load?.["volumes"] : null;
  return volumes === OWN_DRIVES ? OWN_DRIVES : partName(config, "place");
}

/** Tables that a setting has as JSON, each as a scenario has it; null if it has none. */
export function tables(key: string, value: string): string[] | null {
  if (!value.startsWith("[{")) return null;
  let found: Json;
  try {
    found = JSON.parse(value) as Json;
  } catch {
    return null;
  }
  if (!Array.isArray(found)) return null;
  const path = key.replace(/^load\./, "workload.");
  return found.map((table) => {
    if (table === null || typeof table !== "object" || Array.isArray(table)) return `[[${path}]] # ${JSON.stringify(table)}`;
    // The name first, what is done last, whatever order they came in.
    const place = (one: string) => (one === "name" ? 0 : one === "steps" ? 2 : 1);
    const keys = Object.keys(table).sort((one, other) => place(one) - place(other));
    return [`[[${path}]]`, ...keys.map((one) => `${one} = ${written(table[one]!, one === "steps")}`)].join("\n");
  });
}

/** A value as TOML has it; a list over several lines if it is said so. */
function written(value: Json, lines = false): string {
  if (Array.isArray(value)) {
    const all = value.map((one) => written(one));
    return lines && all.length > 1 ? `[\n${all.map((one) => `    ${one},\n`).join("")}]` : `[${all.join(", ")}]`;
  }
  if (value !== null && typeof value === "object") {
    const place = (key: string) => ["read", "write", "start", "think_ms", "think_mean_ms"].includes(key) ? 0 : 1;
    const keys = Object.keys(value).sort((one, other) => place(one) - place(other));
    return `{ ${keys.map((key) => `${key} = ${written(value[key]!)}`).join(", ")} }`;
  }
  return JSON.stringify(value);
}

export function flatten(value: Json, prefix = ""): Setting[] {
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    return [[prefix, typeof value === "string" ? value : JSON.stringify(value)]];
  }
  const entries = Object.entries(value);
  if (entries.length === 0) return [[prefix, "{}"]];
  return entries.flatMap(([key, inner]) => flatten(inner, prefix ? `${prefix}.${key}` : key));
}

/** What all configurations share, and what each has of its own. */
export function split(configs: readonly Json[]): { shared: Setting[]; own: Setting[][] } {
  const flat = configs.map((config) => flatten(config));
  const maps = flat.map((settings) => new Map(settings));
  const everywhere = ([key, value]: Setting) => maps.every((map) => map.get(key) === value);
  return {
    shared: (flat[0] ?? []).filter(everywhere),
    own: flat.map((settings) => settings.filter((setting) => !everywhere(setting))),
  };
}
