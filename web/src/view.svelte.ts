// What the reader chose: the load, the runs that are drawn, the theme, and the looks of a run. Charts and panels share it.

import { flushSync } from "svelte";

import { opening } from "./growth";
import { short } from "./names";
import type { Results } from "./wire";

export type Theme = "auto" | "light" | "dark";

/** Subjects drawn at first; more would hide each other. */
const DRAWN_FIRST = 8;
/** Where the theme is kept; a file opened from a disk may be refused the storage, and then it is not kept. */
const THEME_KEY = "nearslot-theme";

// Told apart by people who do not see all colours: Okabe and Ito's eight ("Color Universal Design", 2008), darker on
// light ground where theirs are too pale, lighter on dark ground. Their yellow, and on light ground their orange, cannot be dark enough
// without being each other or vermilion: brown, navy and violet are there in their place. view.test.ts holds any two apart.
// Beyond eight, dashes tell runs apart.
export const INKS = {
  light: ["#0072b2", "#d55e00", "#00836a", "#b3548c", "#6c350c", "#2f93cc", "#5b5f66", "#1a04a8"],
  dark: ["#5aaef0", "#ff8a47", "#33c9a0", "#e696c6", "#eab53c", "#9adcff", "#c9ced6", "#8f5bff"],
} as const;
const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3], [14, 5], [5, 2, 1, 2], [1, 5], [12, 3, 5, 3]];
export const SHAPES = ["circle", "square", "triangle", "diamond", "cross", "plus", "star", "ring"] as const;

export type Rgb = readonly [number, number, number];

// One hue, lightness in even steps, so that equal differences look equal; the ground of the page is never among them.
const RAMPS: Record<"light" | "dark", readonly Rgb[]> = {
  light: [[236, 242, 249], [170, 203, 230], [96, 156, 206], [33, 102, 166], [8, 48, 107]],
  dark: [[24, 38, 56], [26, 74, 120], [42, 122, 184], [110, 178, 232], [214, 236, 255]],
};

const TWO_SIDED: Record<"light" | "dark", readonly Rgb[]> = {
  light: [[179, 88, 6], [241, 182, 119], [247, 247, 247], [146, 197, 222], [33, 102, 172]],
  dark: [[244, 150, 74], [134, 77, 34], [38, 44, 52], [36, 96, 148], [110, 190, 245]],
};

/** Inks of the arm's way. */
export interface ArmInks {
  read: string;
  write: string;
  path: string;
  wait: string;
  ground: string;
}

/** How a run looks in every chart. */
export interface Look {
  ink: string;
  dash: number[];
  shape: (typeof SHAPES)[number];
}

/** Light or dark, and the inks of everything that is drawn. */
export class Appearance {
  theme: Theme = $state("auto");
  /** What the system prefers. */
  #systemDark = $state(false);
  /** Paper is light. */
  #printing = $state(false);
  readonly dark: boolean = $derived(
    !this.#printing && (this.theme === "dark" || (this.theme === "auto" && this.#systemDark)),
  );

  constructor() {
    this.theme = kept();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    this.#systemDark = dark.matches;
    dark.addEventListener("change", () => (this.#systemDark = dark.matches));
    addEventListener("beforeprint", () => this.#print(true));
    addEventListener("afterprint", () => this.#print(false));
  }

  /** Ground of the charts, for halos around what must be read. */
  get ground(): string {
    return this.dark ? "#14181d" : "#ffffff";
  }

  /** Ink of words in the charts. */
  get ink(): string {
    return this.dark ? "#e9edf2" : "#15181d";
  }

  /** Reads, writes, the arm's way between them, and where it waits for the platter. */
  get arm(): ArmInks {
    return this.dark
      ? { read: "#5aaef0", write: "#ff8a47", path: "#6f7884", wait: "#414b58", ground: this.ground }
      : { read: "#0072b2", write: "#d55e00", path: "#9aa2ad", wait: "#ccd3dc", ground: this.ground };
  }

  /** From least to most, as red, green and blue. */
  get ramp(): readonly Rgb[] {
    return RAMPS[this.dark ? "dark" : "light"];
  }

  /** From less over none to more. */
  get twoSided(): readonly Rgb[] {
    return TWO_SIDED[this.dark ? "dark" : "light"];
  }

  /** Paper does not wait: the page changes before the event returns. */
  #print(printing: boolean): void {
    document.documentElement.toggleAttribute("data-print", printing);
    this.#printing = printing;
    flushSync();
  }

  choose(theme: Theme): void {
    this.theme = theme;
    try {
      localStorage.setItem(THEME_KEY, theme);
    } catch {
      // Refused: the choice lasts as long as the page.
    }
  }

  look(index: number): Look {
    const inks = INKS[this.dark ? "dark" : "light"];
    const round = Math.floor(index / inks.length);
    return {
      ink: inks[index % inks.length]!,
      dash: DASHES[round % DASHES.length]!,
      shape: SHAPES[(index + round) % SHAPES.length]!,
    };
  }
}

/** Runs that look alike: those of one choice, under whatever load. Where only the load varies, those of one load. */
export interface Subject {
  name: string;
  /** The same in one line of a chart. */
  short: string;
  /** Indexes of its runs, in the order of the grid. */
  runs: number[];
}

/** What a reader of a report chose. */
export class View extends Appearance {
  readonly subjects: readonly Subject[];
  /** Loads to choose from, in the order of the grid; none where the loads themselves are the subjects. */
  readonly loads: readonly string[];
  /** The load whose runs are seen; runs under different loads are never set beside each other. */
  load: string = $state("");
  /** Whether each subject is drawn. */
  drawn: boolean[] = $state([]);
  /** Indexes of all runs, load by load, best first, those without a rank last. */
  readonly order: readonly number[];
  /** Indexes of the runs under the chosen load, best first. */
  readonly here: number[] = $derived.by(() => this.order.filter((index) => this.#here(index)));
  /** Indexes of those that are drawn. */
  readonly shown: number[] = $derived.by(() => this.here.filter((index) => this.isDrawn(index)));
  /**
   * Indexes of the subjects that have a run under the chosen load: as they come, or best first where there are more than are drawn at first, so
   * that those which are drawn stand in front.
   */
  readonly present: number[] = $derived.by(() => {
    const here = new Set(this.here.map((index) => this.#subjectOf[index]!));
    return here.size > DRAWN_FIRST ? [...here] : [...this.subjects.keys()].filter((subject) => here.has(subject));
  });
  readonly #results: Results;
  readonly #subjectOf: number[] = [];

  constructor(results: Results) {
    super();
    this.#results = results;
    const { runs, verdict } = results;
    const ranked = verdict.rankings.flatMap((ranking) => ranking.ranks.map((rank) => rank.run));
    const others = runs.map((_, index) => index).filter((index) => !ranked.includes(index));
    this.order = [...ranked, ...others];
    const byLoad = new Set(runs.map((run) => run.choice)).size < 2;
    this.subjects = subjects(runs.map((run) => (byLoad ? run.load || run.choice : run.choice)));
    this.subjects.forEach(({ runs }, subject) => runs.forEach((run) => (this.#subjectOf[run] = subject)));
    this.loads = byLoad ? [] : [...new Set(runs.map((run) => run.load))];
    this.load = opening(this.loads, runs);
    this.best();
  }

  /** What a run is called beside others of its load. */
  name(run: number): string {
    return this.subjects[this.#subjectOf[run]!]!.name;
  }

  /** How a run looks in every chart. */
  lookOf(run: number): Look {
    return this.look(this.#subjectOf[run]!);
  }

  /** Whether a run's subject is drawn. */
  isDrawn(run: number): boolean {
    return this.drawn[this.#subjectOf[run]!]!;
  }

  toggle(subject: number): void {
    this.drawn[subject] = !this.drawn[subject];
  }

  only(subject: number): void {
    this.drawn = this.subjects.map((_, other) => other === subject);
  }

  all(drawn: boolean): void {
    this.drawn = this.subjects.map(() => drawn);
  }

  /** Draws those that are best under the chosen load. */
  best(): void {
    const here = this.here.map((index) => this.#subjectOf[index]!);
    const best = new Set([...new Set([...here, ...this.subjects.keys()])].slice(0, DRAWN_FIRST));
    this.drawn = this.subjects.map((_, subject) => best.has(subject));
  }

  #here(run: number): boolean {
    return this.loads.length === 0 || this.#results.runs[run]!.load === this.load;
  }
}

/** What has the same name, in the order of first appearance. */
function subjects(names: readonly string[]): Subject[] {
  const found = new Map<string, Subject>();
  names.forEach((name, run) => {
    const subject = found.get(name) ?? { name, short: name, runs: [] };
    subject.runs.push(run);
    found.set(name, subject);
  });
  const shortened = short([...found.keys()]);
  return [...found.values()].map((subject, index) => ({ ...subject, short: shortened[index]! }));
}

function kept(): Theme {
  try {
    const theme = localStorage.getItem(THEME_KEY);
    return theme === "light" || theme === "dark" ? theme : "auto";
  } catch {
    return "auto";
  }
}
