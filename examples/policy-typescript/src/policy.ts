// A scheduling policy: jobs take turns, one bundle each, near their input. It has no settings.
//
//   npm ci && npm run build && hamadryad policy check ./hamadryad-policy-turns
import { type Bundle, type Group, type Message, amounts, bundles, problems, Strings, table } from "./columns.js";
import { serve } from "./serve.js";

const launcherJoined = 1, launcherLost = 2, jobSubmitted = 4, jobFinished = 6, bundleReady = 8, bundleWithdrawn = 9, outcome = 18, settingChanged = 19;
const decisionLaunch = 5, doesNotWait = 0, noCapacity = 9;

// Free is what is left of a launcher's offer while a round is decided.
interface Free { slots: Map<string, number>; memory: number; resources: Map<string, number> }

export class Turns {
  private jobs = new Map<number, Map<number, Bundle>>(); // ready bundles, by job, in order of submission
  private hosts = new Map<number, string>();
  private offers = new Map<number, Free>();
  private waiting = new Set<number>(); // jobs that were last said to wait

  // check lists what is wrong with settings, as lines and texts.
  static check(text: Buffer): [number, string][] {
    const lines = text.toString("utf8").split("\n").map((l) => l.replace(/#.*/, "").trim());
    return lines.flatMap((l, i): [number, string][] => (l ? [[i + 1, `${l}: the policy has no settings`]] : []));
  }

  // events takes events in. The n-th event of a kind has its attributes in row n of that kind's message.
  // Kinds that a later manager may have are left out.
  events(m: Message, strings: string[], changed: (version: number, config: Message) => void) {
    const rows = new Map<number, number>(), ready = bundles(m?.bundle_ready, strings);
    for (const kind of m?.kind ?? []) {
      const i = rows.get(kind) ?? 0;
      rows.set(kind, i + 1);
      switch (kind) {
        case launcherJoined:
          this.hosts.set(m.launcher_joined.launcher[i], strings[m.launcher_joined.host[i]]);
          break;
        case launcherLost:
          this.hosts.delete(m.launcher_lost.launcher[i]);
          this.offers.delete(m.launcher_lost.launcher[i]);
          break;
        case jobSubmitted:
          this.jobs.set(m.job_submitted.id[i], new Map());
          break;
        case jobFinished:
          this.jobs.delete(m.job_finished.job[i]);
          this.waiting.delete(m.job_finished.job[i]);
          break;
        case bundleReady:
          this.jobs.get(ready[i].job)?.set(ready[i].id, ready[i]);
          break;
        case bundleWithdrawn:
          this.jobs.get(m.bundle_withdrawn.job[i])?.delete(m.bundle_withdrawn.bundle[i]);
          break;
        case outcome:
          if (m.outcome.kind[i] === decisionLaunch && m.outcome.accepted[i])
            for (const b of this.jobs.values()) b.delete(m.outcome.launch_bundle[i]);
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
      if (left.has(job) === this.waiting.has(job)) continue; // said before
      if (left.has(job)) this.waiting.add(job);
      else this.waiting.delete(job);
      waiting.job.push(job);
      waiting.reason.push(left.has(job) ? noCapacity : doesNotWait);
      waiting.detail.push(out.of(left.has(job) ? "no launcher has room for its next bundle" : ""));
    }
    return { launch, waiting, settings, strings: out.message() };
  }

  // launchInTurns launches the next bundle that fits of one job after the other, until none fits. It
  // returns the jobs that have bundles left.
  private launchInTurns(launch: (b: Bundle, where: number[]) => void): Set<number> {
    const free = new Map([...this.offers].filter(([id]) => this.hosts.has(id)).map(([id, f]) => [id, copy(f)]));
    const queues = new Map([...this.jobs].map(([job, ready]) => [job, [...ready.values()].sort((a, b) => a.id - b.id)]));
    const left = new Set<number>();
    while (queues.size > 0) {
      for (const [job, queue] of queues) {
        for (let b = queue.shift(); ; b = queue.shift()) {
          if (!b) {
            queues.delete(job);
            break;
          }
          const where = this.place(free, b);
          if (where) {
            launch(b, where);
            break;
          }
          left.add(job);
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
    return { reason: this.waiting.has(job) ? noCapacity : doesNotWait, detail: `${this.jobs.get(job)!.size} bundles are ready` };
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
