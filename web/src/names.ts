// Names of choices in their room. Most are broken into lines (Label.svelte). In a chart there is one line for each: what all of them
// share is left out, as are, where some names are too long, the keys of settings whose values tell them. A name that is long even so is cut in the
// middle, so that names which differ at their end still differ.

/** Longest name that is shown whole. */
const LENGTH_MAX = 28;

/** Longest word that is not broken within itself; narrow columns have room for so many letters. */
const WORD_MAX = 20;

/** A name cut where a line may end besides at spaces: after the parts of a setting, and within those parts that are long. */
export function pieces(name: string): string[] {
  const long = (part: string) => part.split(/\s/).some((word) => word.length > WORD_MAX);
  return name.split(/(?<=[:,;/])/).flatMap((part) => (long(part) ? part.split(/(?<=[.=_-])/) : [part]));
}

/** A sentence cut where a line may end within the settings that it names, and around them. */
export function inSentence(text: string): string[] {
  return text.split(/(\S*=\S*)/).flatMap((piece, index) => (index % 2 === 1 ? pieces(piece) : [piece]));
}

/** Short names, as many and in the same order; each differs from the others wherever the names do. */
export function short(names: readonly string[], most = LENGTH_MAX): string[] {
  const settings = names.map((name) => name.split(" "));
  const shared = new Set(names.length < 2 ? [] : settings[0]!.filter((one) => settings.every((all) => all.includes(one))));
  const own = settings.map((all, index) => all.filter((one) => !shared.has(one)).join(" ") || names[index]!);
  const bare = own.some((name) => name.length > most) ? withoutKeys(own) : own;
  const cut = bare.map((name) => middle(name, most));
  return cut.map((name, index) => (cut.indexOf(name) === cut.lastIndexOf(name) ? name : own[index]!));
}

/** The same without the keys of settings whose values say what they are of, as names of parts do and numbers do not; as they are if that makes two alike. */
function withoutKeys(names: readonly string[]): readonly string[] {
  const bare = (one: string) => one.replace(/^[^=:]*=(?=[a-z])(?!(?:none|true|false|never|all|auto)$)/, "");
  const told = names.map((name) => name.split(" ").map(bare).join(" "));
  return new Set(told).size === new Set(names).size ? told : names;
}

function middle(name: string, most: number): string {
  if (name.length <= most) return name;
  const head = Math.floor((most - 1) * 0.4);
  return `${name.slice(0, head)}\u2026${name.slice(name.length - (most - 1 - head))}`;
}
