// The page that the Rust crate embeds is the one that these sources make, byte for byte.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "vite";
import { expect, test } from "vitest";

import { root } from "./reports";

test("npm run build reproduces the committed page", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nearslot-page-"));
  process.env["PAGE_DIR"] = folder;
  // As `npm run build` has it: the test runner's own mode would leave development code in the page.
  process.env["NODE_ENV"] = "production";
  const home = fileURLToPath(new URL("..", import.meta.url));
  await build({ root: home, mode: "production", logLevel: "error", build: { outDir: folder } });
  const built = readFileSync(join(folder, "page.html"), "utf8");
  const kept = readFileSync(join(root, "crates/lab/src/report/page.html"), "utf8");
  rmSync(folder, { recursive: true });
  expect(built === kept, "crates/lab/src/report/page.html is not current: run `npm run build` in web/").toBe(true);
});
