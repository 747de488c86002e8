// What the attempts of each user hold, and what the site lets them hold (core.userLimits).
import { type Bundle, type Group, type Message, amounts, split } from "./columns.js";

type Amounts = Map<string, number>;
interface Attempt { user: string; launcher: number; holds: Amounts; suspended: boolean } // from its launch to its end

// needs is what a group needs. Kinds of resources have a prefix, since one may be called slots.
const needs = (g: Group): Amounts => new Map([["slots", g.slots], ["memory", g.memory], ...resources(g.resources)]);
const resources = (of: Amounts) => [...of].map(([kind, n]): [string, number] => [resource(kind), n]);
const resource = (kind: string) => `resource ${kind}`;

function add(to: Amounts, more: Amounts) {
  for (const [what, n] of more) to.set(what, (to.get(what) ?? 0) + n);
}

// limits are the limits by row. Of slots and memory, 0 is no bound.
export function limits(m: Message, strings: string[]): [string, Amounts][] {
  const bounds = amounts(m?.resources, strings, m?.user?.length ?? 0);
  return bounds.map((kinds, i) => {
    const own: [string, number][] = [["slots", m.slots[i]], ["memory", m.memory?.[i] ?? 0]];
    return [strings[m.user[i]], new Map([...own.filter(([, most]) => most > 0), ...resources(kinds)])];
  });
}

// frees are the resources that a suspension frees, by row of the launchers that join.
export function frees(m: Message, strings: string[]): Set<string>[] {
  const kinds: string[] = (m?.resources?.kind ?? []).map((k: number, i: number) => (m.suspension_frees[i] ? resource(strings[k]) : ""));
  return split(kinds, m?.resources?.rows, m?.launcher?.length ?? 0).map((own) => new Set(own));
}

export class Users {
  readonly limits = new Map<string, Amounts>(); // what a limit does not list has no bound
  readonly frees = new Map<number, Set<string>>(); // by launcher
  private jobs = new Map<number, string>(); // the user, by job
  private needs = new Map<number, { job: number; groups: Amounts[] }>(); // by bundle
  private attempts = new Map<number, Attempt>();
  private holds = new Map<string, Amounts>(); // of users with a limit, while a round is decided

  submitted(job: number, user: string) {
    this.jobs.set(job, user);
  }

  // finished forgets a job, and with a user's last one the limit: it is told again with the next job.
  finished(job: number) {
    const user = this.jobs.get(job);
    this.jobs.delete(job);
    for (const [bundle, { job: of }] of this.needs) if (of === job) this.needs.delete(bundle);
    if (user !== undefined && ![...this.jobs.values()].includes(user)) this.limits.delete(user);
  }

  ready(b: Bundle) {
    this.needs.set(b.id, { job: b.job, groups: b.groups.map(needs) });
  }

  launched(bundle: number, attempts: number[], launchers: number[]) {
    const known = this.needs.get(bundle);
    known?.groups.forEach((holds, i) => {
      const user = this.jobs.get(known.job) ?? "";
      this.attempts.set(attempts[i], { user, launcher: launchers[i], holds, suspended: false });
    });
  }

  suspended(attempt: number, suspended: boolean) {
    const known = this.attempts.get(attempt);
    if (known) known.suspended = suspended;
  }

  ended(attempt: number) {
    this.attempts.delete(attempt);
  }

  // begin begins a round. Suspended attempts hold no slots, and no resources that their suspension freed.
  begin() {
    this.holds = new Map([...this.limits.keys()].map((user) => [user, new Map()]));
    for (const a of this.attempts.values()) {
      const held = this.holds.get(a.user);
      const freed = (what: string) => a.suspended && (what === "slots" || this.frees.get(a.launcher)?.has(what));
      if (held) add(held, new Map([...a.holds].filter(([what]) => !freed(what))));
    }
  }

  // within reports whether the user may hold what the bundle needs, too. Of what the user holds too much
  // already, because the limit was lowered, only more is forbidden.
  within(b: Bundle): boolean {
    const user = this.jobs.get(b.job) ?? "", limit = this.limits.get(user), need: Amounts = new Map();
    if (!limit) return true;
    for (const g of b.groups) add(need, needs(g));
    const held = this.holds.get(user);
    return [...need].every(([what, n]) => n === 0 || (held?.get(what) ?? 0) + n <= (limit.get(what) ?? Infinity));
  }

  // take counts a launch of this round.
  take(b: Bundle) {
    const held = this.holds.get(this.jobs.get(b.job) ?? "");
    if (held) for (const g of b.groups) add(held, needs(g));
  }
}
