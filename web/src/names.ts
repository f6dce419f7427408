// Names of choices where there is little room: what all of them share is left out, and a long name is cut in the middle, so that
// names which differ at their end still differ.

/** Longest name that is shown whole. */
const LENGTH_MAX = 28;

/** Short names, as many and in the same order; each differs from the others wherever the names do. */
export function short(names: readonly string[], most = LENGTH_MAX): string[] {
  const settings = names.map((name) => name.split(" "));
  const shared = new Set(names.length < 2 ? [] : settings[0]!.filter((one) => settings.every((all) => all.includes(one))));
  const own = settings.map((all, index) => all.filter((one) => !shared.has(one)).join(" ") || names[index]!);
  const cut = own.map((name) => middle(name, most));
  return cut.map((name, index) => (cut.indexOf(name) === cut.lastIndexOf(name) ? name : own[index]!));
}

function middle(name: string, most: number): string {
  if (name.length <= most) return name;
  const head = Math.floor((most - 1) * 0.4);
  return `${name.slice(0, head)}\u2026${name.slice(name.length - (most - 1 - head))}`;
}
