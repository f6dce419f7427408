// The reports that the tests of the page open: a Rust test writes them, once for all files of tests.

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

export function setup(): void {
  const test = ["test", "--quiet", "--workspace", "--test", "it", "report::page::reports_for_the_browser_test"];
  execFileSync("cargo", test, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
}
