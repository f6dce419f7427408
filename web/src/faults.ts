// Which faults a run has, in words. The names of the settings of faults stand here alone.

import type { Json } from "./wire";

type Settings = Readonly<Record<string, Json>>;

/** A setting that brings faults: the value with which it brings none, and what it says otherwise. */
interface Fault {
  key: string;
  none: Json;
  told: (value: string, settings: Settings) => string;
}

const percent = (share: Json) => String(+(Number(share) * 100).toPrecision(6));
const share = (of: string) => (value: string) => `${percent(value)} % of ${of}`;
const a_tib = (of: string) => (value: string) => `${value} ${of} a TiB`;
const gone = (which: string) => (value: string, settings: Settings) => `drive ${String(settings[which])} is gone from ${value} s on`;
const slow = (how: (value: string) => string) => (value: string, settings: Settings) => {
  const from = Number(settings["slow_from_s"] ?? 0);
  const part = Number(settings["slow_share"] ?? 1);
  const of = part < 1 ? `${percent(part)} % of the commands of drive` : "commands of drive";
  return `${of} ${String(settings["slow_drive"])} take ${how(value)}${from > 0 ? ` from ${from} s on` : ""}`;
};

const FAULTS: readonly Fault[] = [
  { key: "latent_per_tib", none: 0, told: a_tib("runs of bad sectors") },
  { key: "timeout_share", none: 0, told: share("commands are not answered") },
  { key: "gone_at_s", none: "never", told: gone("gone_drive") },
  { key: "second_gone_at_s", none: "never", told: gone("second_gone_drive") },
  { key: "slow_factor", none: 1, told: slow((value) => `${value} times as long`) },
  { key: "slow_add_ms", none: 0, told: slow((value) => `${value} ms longer`) },
  { key: "lost_share", none: 0, told: share("writes are lost") },
  { key: "misdirected_share", none: 0, told: share("writes go astray") },
  { key: "torn_share", none: 0, told: share("writes of several sectors are torn") },
  { key: "rot_per_tib", none: 0, told: a_tib("rotten sectors") },
];

/** The faults of a configuration, a phrase for each; empty where it has none. */
export function faults(config: Json): string[] {
  const part = isTable(config) ? config["faults"] : undefined;
  if (part === undefined || !isTable(part)) return [];
  return FAULTS.flatMap(({ key, none, told }) => {
    const value = part[key];
    return value === undefined || value === none || value === null ? [] : [told(String(value), part)];
  });
}

function isTable(value: Json): value is { [key: string]: Json } {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}
