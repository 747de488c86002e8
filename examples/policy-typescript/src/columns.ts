// Columns and rows: a message has a packed list for each attribute, and row i is the i-th element of each.
// A list or message that has only zeros may be absent. docs/PLUGINS.md tells the rules.

export type Message = any; // as @grpc/proto-loader makes it

export interface Group { kind: string; slots: number; memory: number; resources: Map<string, number>; hosts: Set<string> }
export interface Bundle { id: number; job: number; groups: Group[]; avoid: Set<number> }

// table returns the strings of a message: 0 is the empty one.
export function table(strings: Message): string[] {
  const out = [""];
  let at = 0;
  for (const n of strings?.length ?? []) {
    out.push(strings.text.subarray(at, at + n).toString("utf8"));
    at += n;
  }
  return out;
}

// split gives each of n rows its own part of a list; counts that are left out are 0.
export function split<T>(list: T[], counts: number[] | undefined, n: number): T[][] {
  let at = 0;
  return Array.from({ length: n }, (_, i) => list.slice(at, (at += counts?.[i] ?? 0)));
}

// amounts are the amounts by kind of each of n rows: slots, or countable resources.
export function amounts(m: Message, strings: string[], n: number): Map<string, number>[] {
  const all: [string, number][] = (m?.kind ?? []).map((k: number, i: number) => [strings[k], m.count[i]]);
  return split(all, m?.rows, n).map((pairs) => new Map(pairs));
}

// bundles are the bundles that become ready. Groups name their shape, and places their host, by an index.
export function bundles(m: Message, strings: string[]): Bundle[] {
  const g = m?.groups, n = m?.bundle?.length ?? 0, p = g?.places;
  const hosts = split<string>((p?.node ?? []).map((k: number) => strings[p.host[k]]), p?.rows, g?.shape?.length ?? 0);
  const resources = amounts(g?.shape_resources, strings, g?.shape_kind?.length ?? 0);
  const groups: Group[] = (g?.shape ?? []).map((s: number, i: number) => ({
    kind: strings[g.shape_kind[s]], slots: g.shape_slots[s], memory: g.shape_memory[s], resources: resources[s], hosts: new Set(hosts[i]),
  }));
  const own = split(groups, g?.rows, n), avoid = split<number>(m?.avoid?.id ?? [], m?.avoid?.rows, n);
  return Array.from({ length: n }, (_, i) => ({ id: m.bundle[i], job: m.job[i], groups: own[i], avoid: new Set(avoid[i]) }));
}

// Strings collects the strings of an answer.
export class Strings {
  private index = new Map([["", 0]]);
  private parts: Buffer[] = [];
  of(s: string): number {
    const known = this.index.get(s);
    if (known !== undefined) return known;
    this.parts.push(Buffer.from(s));
    this.index.set(s, this.index.size);
    return this.index.size - 1;
  }
  message() {
    return { text: Buffer.concat(this.parts), length: this.parts.map((b) => b.length) };
  }
}

// problems is a list of problems of a configuration, with the file and the lines that its author knows.
export function problems(config: Message, found: [number, string][], strings: Strings) {
  const file = strings.of(table(config.strings)[config.file] ?? "");
  return {
    rows: [found.length], file: found.map(() => file),
    line: found.map(([line]) => line + Math.max(config.line - 1, 0)), message: found.map(([, text]) => strings.of(text)),
  };
}
