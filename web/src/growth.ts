// Where the queue grew, response times tell how long the load is: they are not shown as if the drive had them.

import type { Run } from "./wire";

/** Whether the drives kept up with what was asked of them. */
export function keptUp(run: Run): boolean {
  return run.queue_growth_rps === null;
}
