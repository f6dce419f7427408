import { expect, test } from "vitest";

import { faults } from "./faults";

const NONE = {
  name: "injected",
  drive: "all",
  gone_at_s: "never",
  gone_drive: 0,
  latent_mend: true,
  latent_per_tib: 0,
  lost_share: 0,
  misdirected_share: 0,
  rot_per_tib: 0,
  second_gone_at_s: "never",
  second_gone_drive: 1,
  slow_add_ms: 0,
  slow_drive: 2,
  slow_factor: 1,
  slow_from_s: 0,
  slow_share: 1,
  timeout_ms: 30_000,
  timeout_share: 0,
  torn_share: 0,
};

test("faults that a run has are told, and no others", () => {
  const told = (changed: object) => faults({ faults: { ...NONE, ...changed } });
  expect(told({})).toEqual([]);
  expect(told({ gone_at_s: "5", second_gone_at_s: "20" })).toEqual(["drive 0 is gone from 5 s on", "drive 1 is gone from 20 s on"]);
  expect(told({ slow_factor: 4, slow_from_s: 3 })).toEqual(["commands of drive 2 take 4 times as long from 3 s on"]);
  expect(told({ slow_add_ms: 20, slow_share: 0.25 })).toEqual(["25 % of the commands of drive 2 take 20 ms longer"]);
  expect(told({ lost_share: 0.001, rot_per_tib: 200 })).toEqual(["0.1 % of writes are lost", "200 rotten sectors a TiB"]);
  expect(told({ timeout_share: 0.5 })).toEqual(["50 % of commands are not answered"]);
  expect(faults({ faults: { name: "none" } })).toEqual([]);
  expect(faults({ faults: "none" })).toEqual([]);
  expect(faults(null)).toEqual([]);
});
