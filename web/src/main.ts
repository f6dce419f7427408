// Reads the data out of the page and shows them, or says why it cannot.

import { mount } from "svelte";

import "uplot/dist/uPlot.min.css";
import "./style.css";
import App from "./App.svelte";
import Refusal from "./Refusal.svelte";
import { parse, type Payload } from "./wire";

const target = document.getElementById("page")!;
const source = document.getElementById("data")?.textContent ?? "";

let payload: Payload | null = null;
let reason = "";
try {
  payload = parse(source);
} catch (error) {
  reason = error instanceof Error ? error.message : String(error);
}
if (payload === null) mount(Refusal, { target, props: { reason } });
else mount(App, { target, props: { payload } });
