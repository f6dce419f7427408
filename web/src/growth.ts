// Where the queue grew, response times tell how long the load is: they are not shown as if the drive had them. Where no
// request was answered there are none.

import type { Run } from "./wire";

/** Whether any request was answered: where none was, there are no times, and zeros would look like some. */
export function hasAnswers(run: Run): boolean {
  return run.requests > 0;
}

/** Whether the drives kept up with what was asked of them. */
export function keptUp(run: Run): boolean {
  return run.queue_growth_rps === null;
}

/**
 * The load that is seen first. The last is the heaviest as a rule, and there choices matter; but under a load that is too much for the
 * drives, response times tell how long the load is. So it is the last under which all runs kept up, or else some.
 */
export function opening(loads: readonly string[], runs: readonly Run[]): string {
  const heaviest = [...loads].reverse();
  const under = (load: string) => runs.filter((run) => run.load === load);
  const all = heaviest.find((load) => under(load).every(keptUp));
  return all ?? heaviest.find((load) => under(load).some(keptUp)) ?? heaviest[0] ?? "";
}
