// Reads the data out of the page and shows them, or says why it cannot.

import { mount } from "svelte";

import "uplot/dist/uPlot.min.css";
import "./styles/tokens.css";
import "./styles/page.css";
import "./styles/controls.css";
import "./styles/table.css";
import App from "./App.svelte";
import FiguresApp from "./FiguresApp.svelte";
import InspectionApp from "./InspectionApp.svelte";
import Refusal from "./Refusal.svelte";
import { type Content, parse } from "./wire";

const target = document.getElementById("page")!;
const source = document.getElementById("data")?.textContent ?? "";

let content: Content | null = null;
let reason = "";
try {
  content = parse(source);
} catch (error) {
  reason = error instanceof Error ? error.message : String(error);
}
if (content === null) mount(Refusal, { target, props: { reason } });
else if ("report" in content) mount(App, { target, props: { payload: content.report } });
else if ("figures" in content) mount(FiguresApp, { target, props: { figures: content.figures } });
else mount(InspectionApp, { target, props: { inspection: content.inspection } });
