// Builds the page into one file, `crates/lab/src/report/page.html`, which the Rust crate embeds. `npm run build`
// writes it; `PAGE_DIR` sends it elsewhere, so that a test can compare.

import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";

import { svelte } from "@sveltejs/vite-plugin-svelte";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const home = fileURLToPath(new URL("../crates/lab/src/report", import.meta.url));

/** Puts script and style into the page, and allows exactly these by their hashes: nothing else runs or loads. */
function oneFile(): Plugin {
  const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      const page = Object.values(bundle).find((file) => file.fileName === "page.html");
      if (page?.type !== "asset") this.error("the build has no page.html");
      let script = "";
      let style = "";
      for (const [name, file] of Object.entries(bundle)) {
        if (file.type === "chunk") script += file.code;
        else if (name.endsWith(".css")) style += String(file.source);
        else continue;
        delete bundle[name];
      }
      // Markup in a string of the script would end it early.
      script = script.replaceAll("</script", "<\\/script").trim();
      style = style.trim();
      const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:`;
      page.source = String(page.source)
        .replace(/\s*<script type="module".*?<\/script>/, "")
        .replace(/\s*<link rel="stylesheet".*?>/, "")
        .replace("%POLICY%", () => policy)
        .replace("<!--STYLE-->", () => `<style>${style}</style>`)
        .replace("<!--SCRIPT-->", () => `<script>${script}</script>`);
    },
  };
}

export default defineConfig({
  plugins: [svelte({ compilerOptions: { css: "external" } }), oneFile()],
  build: {
    target: "es2022",
    outDir: process.env["PAGE_DIR"] ?? home,
    emptyOutDir: false,
    assetsInlineLimit: 1 << 20,
    cssCodeSplit: false,
    modulePreload: false,
    reportCompressedSize: false,
    rolldownOptions: { input: "page.html" },
  },
  test: {
    testTimeout: 60_000,
    // One browser leaves a third of two cores idle.
    maxWorkers: "100%",
    projects: [
      { extends: true, test: { name: "unit", include: ["src/**/*.test.ts"] } },
      { extends: true, test: { name: "browser", include: ["tests/*.spec.ts"], globalSetup: "tests/reports.ts" } },
    ],
  },
});
