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
