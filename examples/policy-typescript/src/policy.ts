// A scheduling policy: jobs take turns, one bundle each, near their input. It has no settings.
//
//   npm ci && npm run build && hamadryad policy check ./hamadryad-policy-turns
import { type Bundle, type Group, type Message, amounts, bundles, problems, split, Strings, table } from "./columns.js";
import { serve } from "./serve.js";
import { Users, frees, limits } from "./users.js";

const launcherJoined = 1, launcherLost = 2, jobSubmitted = 4, jobFinished = 6, bundleReady = 8, bundleWithdrawn = 9, outcome = 18, settingChanged = 19;
const speculationOffered = 11, attemptEnded = 15, attemptSuspended = 16, attemptResumed = 17, userLimitSet = 31; // for users' limits
const decisionLaunch = 5, doesNotWait = 0, atLimit = 3, noCapacity = 9;
const words = new Map([
  [doesNotWait, ""], [atLimit, "its user holds as much as the site allows"], [noCapacity, "no launcher has room for its next bundle"],
]);

// Free is what is left of a launcher's offer while a round is decided.
interface Free { slots: Map<string, number>; memory: number; resources: Map<string, number> }

export class Turns {
  private jobs = new Map<number, Map<number, Bundle>>(); // ready bundles, by job, in order of submission
  private hosts = new Map<number, string>();
  private offers = new Map<number, Free>();
  private users = new Users();
  private waiting = new Map<number, number>(); // why jobs wait, as last said

  // check lists what is wrong with settings, as lines and texts.
  static check(text: Buffer): [number, string][] {
    const lines = text.toString("utf8").split("\n").map((l) => l.replace(/#.*/, "").trim());
    return lines.flatMap((l, i): [number, string][] => (l ? [[i + 1, `${l}: the policy has no settings`]] : []));
  }

  // events takes events in. The n-th event of a kind has its attributes in row n of that kind's message.
  // Kinds that a later manager may have are left out.
  events(m: Message, strings: string[], changed: (version: number, config: Message) => void) {
    const rows = new Map<number, number>(), ready = bundles(m?.bundle_ready, strings);
    const offered = bundles(m?.speculation_offered, strings), limited = limits(m?.user_limit_set, strings);
    const freed = frees(m?.launcher_joined, strings);
    const [attempts, launchers] = [m?.outcome?.attempts, m?.outcome?.launch_launchers].map((ids) =>
      split<number>(ids?.id ?? [], ids?.rows, m?.outcome?.kind?.length ?? 0));
    for (const kind of m?.kind ?? []) {
      const i = rows.get(kind) ?? 0;
      rows.set(kind, i + 1);
      switch (kind) {
        case launcherJoined:
          this.hosts.set(m.launcher_joined.launcher[i], strings[m.launcher_joined.host[i]]);
          this.users.frees.set(m.launcher_joined.launcher[i], freed[i]);
          break;
        case launcherLost:
          this.hosts.delete(m.launcher_lost.launcher[i]);
          this.offers.delete(m.launcher_lost.launcher[i]);
          this.users.frees.delete(m.launcher_lost.launcher[i]);
          break;
        case jobSubmitted:
          this.jobs.set(m.job_submitted.id[i], new Map());
          this.users.submitted(m.job_submitted.id[i], strings[m.job_submitted.user[i]]);
          break;
        case jobFinished:
          this.jobs.delete(m.job_finished.job[i]);
          this.waiting.delete(m.job_finished.job[i]);
          this.users.finished(m.job_finished.job[i]);
          break;
        case bundleReady:
          this.jobs.get(ready[i].job)?.set(ready[i].id, ready[i]);
          this.users.ready(ready[i]);
          break;
        case bundleWithdrawn:
          this.jobs.get(m.bundle_withdrawn.job[i])?.delete(m.bundle_withdrawn.bundle[i]);
          break;
        case outcome:
          if (m.outcome.kind[i] !== decisionLaunch || !m.outcome.accepted[i]) break;
          for (const b of this.jobs.values()) b.delete(m.outcome.launch_bundle[i]);
          this.users.launched(m.outcome.launch_bundle[i], attempts[i], launchers[i]);
          break;
        case speculationOffered:
          this.users.ready(offered[i]);
          break;
        case attemptSuspended:
          this.users.suspended(m.attempt_suspended.attempt[i], true);
          break;
        case attemptResumed:
          this.users.suspended(m.attempt_resumed.attempt[i], false);
          break;
        case attemptEnded:
          this.users.ended(m.attempt_ended.attempt[i]);
          break;
        case userLimitSet:
          this.users.limits.set(...limited[i]);
          break;
        case settingChanged:
          changed(m.setting_changed.version[i], m.setting_changed.config[i]);
      }
    }
  }

  // assign decides a round. An offer that the round does not list stands as it was.
  assign(round: Message): Message {
    const strings = table(round.strings), out = new Strings();
    const settings: Message = { version: [], problems: { rows: [], file: [], line: [], message: [] } };
    this.events(round.events, strings, (version, config) => {
      const p: Message = problems(config, Turns.check(config.text), out);
      settings.version.push(version);
      for (const column of ["rows", "file", "line", "message"]) settings.problems[column].push(...p[column]);
    });
    const o = round.offers, n = o?.launcher?.length ?? 0;
    const slots = amounts(o?.free, strings, n), resources = amounts(o?.resources, strings, n);
    for (let i = 0; i < n; i++) this.offers.set(o.launcher[i], { slots: slots[i], memory: o.memory[i], resources: resources[i] });
    const launch: Message = { bundle: [], launchers: { rows: [], id: [] } };
    const left = this.launchInTurns((b, where) => {
      launch.bundle.push(b.id);
      launch.launchers.rows.push(where.length);
      launch.launchers.id.push(...where);
    });
    const waiting: Message = { job: [], reason: [], detail: [] };
    for (const job of this.jobs.keys()) {
      const reason = left.get(job) ?? doesNotWait;
      if (reason === (this.waiting.get(job) ?? doesNotWait)) continue; // said before
      waiting.job.push(job);
      waiting.reason.push(reason);
      waiting.detail.push(out.of(words.get(reason)!));
    }
    this.waiting = left;
    return { launch, waiting, settings, strings: out.message() };
  }

  // launchInTurns launches the next bundle that fits of one job after the other, until none fits. It
  // returns the jobs that have bundles left, and why.
  private launchInTurns(launch: (b: Bundle, where: number[]) => void): Map<number, number> {
    const free = new Map([...this.offers].filter(([id]) => this.hosts.has(id)).map(([id, f]) => [id, copy(f)]));
    const queues = new Map([...this.jobs].map(([job, ready]) => [job, [...ready.values()].sort((a, b) => a.id - b.id)]));
    const left = new Map<number, number>();
    this.users.begin();
    while (queues.size > 0) {
      for (const [job, queue] of queues) {
        for (let b = queue.shift(); ; b = queue.shift()) {
          if (!b) {
            queues.delete(job);
            break;
          }
          const within = this.users.within(b), where = within && this.place(free, b);
          if (where) {
            this.users.take(b);
            launch(b, where);
            break;
          }
          if (!within || !left.has(job)) left.set(job, within ? noCapacity : atLimit); // the limit, where both are so
        }
      }
    }
    return left;
  }

  // place takes room for the groups of a bundle from the i-th on, near their input, or for none. Where
  // a later group finds no place, an earlier one goes elsewhere, in a bounded number of tries.
  private place(free: Map<number, Free>, b: Bundle, i = 0, tries = { left: 1000 }): number[] | undefined {
    const g = b.groups[i];
    if (!g) return [];
    const near = (id: number) => (g.hosts.has(this.hosts.get(id)!) ? 0 : 1);
    const fits = [...free].filter(([id, f]) => !b.avoid.has(id) && has(f, g)).map(([id]) => id);
    fits.sort((x, y) => near(x) - near(y) || slotsOf(free.get(y)!, g) - slotsOf(free.get(x)!, g) || x - y);
    for (const id of fits) {
      if (tries.left-- <= 0) return undefined;
      const before = copy(free.get(id)!);
      take(free.get(id)!, g);
      const others = this.place(free, b, i + 1, tries);
      if (others) return [id, ...others];
      free.set(id, before);
    }
    return undefined;
  }

  explain(job: number) {
    if (!this.jobs.has(job)) return undefined;
    return { reason: this.waiting.get(job) ?? doesNotWait, detail: `${this.jobs.get(job)!.size} bundles are ready` };
  }
}

const copy = (f: Free): Free => ({ slots: new Map(f.slots), memory: f.memory, resources: new Map(f.resources) });
const slotsOf = (f: Free, g: Group) => f.slots.get(g.kind) ?? 0;
const has = (f: Free, g: Group) =>
  slotsOf(f, g) >= g.slots && f.memory >= g.memory && [...g.resources].every(([kind, n]) => (f.resources.get(kind) ?? 0) >= n);

function take(f: Free, g: Group) {
  f.slots.set(g.kind, slotsOf(f, g) - g.slots);
  f.memory -= g.memory;
  for (const [kind, n] of g.resources) f.resources.set(kind, (f.resources.get(kind) ?? 0) - n);
}

await serve("turns", "1", Turns);
