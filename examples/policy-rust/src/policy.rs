//! The oldest job goes first: all of its bundles that fit, near their input, and then those of the next.

use crate::columns::{add_problems, amounts, at, bundles, split, table, Amounts, Bundle, Group, Strings};
use crate::users::{frees, limits, Users};
use crate::wire::{self, DecisionKind, EventKind, WaitReason};
use std::collections::{BTreeMap, HashMap};

/// What is left of a launcher's offer while a round is decided.
#[derive(Clone)]
struct Free {
    slots: Amounts,
    memory: i64,
    resources: Amounts,
}

impl Free {
    fn has(&self, g: &Group) -> bool {
        let covers = |have: &Amounts, kind: &String, n: i64| have.get(kind).copied().unwrap_or(0) >= n;
        covers(&self.slots, &g.kind, g.slots)
            && self.memory >= g.memory
            && g.resources.iter().all(|(kind, n)| covers(&self.resources, kind, *n))
    }

    fn take(&mut self, g: &Group) {
        *self.slots.entry(g.kind.clone()).or_default() -= g.slots;
        self.memory -= g.memory;
        for (kind, n) in &g.resources {
            *self.resources.entry(kind.clone()).or_default() -= n;
        }
    }
}

/// The policy. Its state is what a snapshot has, so that a restart changes no decision. Ids of jobs and
/// bundles ascend in order of submission.
#[derive(Default)]
pub struct Oldest {
    jobs: BTreeMap<u64, BTreeMap<u64, Bundle>>, // ready bundles, by job
    hosts: BTreeMap<u64, String>,
    offers: BTreeMap<u64, Free>,
    users: Users,
    waiting: HashMap<u64, WaitReason>, // why jobs wait, as last said
}

/// What is wrong with settings, as lines and texts.
pub fn check(text: &[u8]) -> Vec<(i64, String)> {
    let text = String::from_utf8_lossy(text);
    let said = |line: &str| line.split('#').next().unwrap_or_default().trim().to_owned();
    (1..).zip(text.lines().map(said)).filter(|(_, l)| !l.is_empty()).map(|(n, l)| (n, format!("{l}: the policy has no settings"))).collect()
}

/// Why a job waits, also in words; None for one that does not.
fn why(waits: Option<&WaitReason>) -> (WaitReason, &'static str) {
    match waits {
        None => (WaitReason::Unspecified, ""),
        Some(WaitReason::AtLimit) => (WaitReason::AtLimit, "its user holds as much as the site allows"),
        Some(other) => (*other, "no launcher has room for its next bundle"),
    }
}

impl Oldest {
    /// Takes events in, and returns the settings that were announced. The n-th event of a kind has its
    /// attributes in row n of that kind's message. Kinds that a later manager may have are left out.
    pub fn events(&mut self, events: Option<wire::Events>, strings: &[String]) -> Vec<(u64, wire::Config)> {
        let (m, mut rows, mut settings) = (events.unwrap_or_default(), HashMap::new(), Vec::new());
        let mut ready = bundles(&m.bundle_ready.unwrap_or_default(), strings).into_iter();
        let (joined, lost) = (m.launcher_joined.unwrap_or_default(), m.launcher_lost.unwrap_or_default());
        let (submitted, finished) = (m.job_submitted.unwrap_or_default(), m.job_finished.unwrap_or_default());
        let (withdrawn, outcome) = (m.bundle_withdrawn.unwrap_or_default(), m.outcome.unwrap_or_default());
        let (changed, ended) = (m.setting_changed.unwrap_or_default(), m.attempt_ended.unwrap_or_default());
        let (suspended, resumed) = (m.attempt_suspended.unwrap_or_default(), m.attempt_resumed.unwrap_or_default());
        let mut offered = bundles(&m.speculation_offered.unwrap_or_default(), strings).into_iter();
        let (attempts, launchers) = (outcome.attempts.unwrap_or_default(), outcome.launch_launchers.unwrap_or_default());
        let attempts = split(&attempts.id, &attempts.rows, outcome.kind.len());
        let launchers = split(&launchers.id, &launchers.rows, outcome.kind.len());
        let frees = frees(&joined, strings);
        let mut limits = limits(&m.user_limit_set.unwrap_or_default(), strings).into_iter();
        for kind in m.kind {
            let row: &mut usize = rows.entry(kind).or_default();
            let i = *row;
            *row += 1;
            match EventKind::try_from(kind) {
                Ok(EventKind::LauncherJoined) => {
                    self.hosts.insert(joined.launcher[i], at(strings, at(&joined.host, i) as usize));
                    self.users.frees.insert(joined.launcher[i], at(&frees, i));
                }
                Ok(EventKind::LauncherLost) => {
                    self.hosts.remove(&lost.launcher[i]);
                    self.offers.remove(&lost.launcher[i]);
                    self.users.frees.remove(&lost.launcher[i]);
                }
                Ok(EventKind::JobSubmitted) => {
                    self.jobs.insert(submitted.id[i], BTreeMap::new());
                    self.users.submitted(submitted.id[i], at(strings, at(&submitted.user, i) as usize));
                }
                Ok(EventKind::JobFinished) => {
                    self.jobs.remove(&finished.job[i]);
                    self.waiting.remove(&finished.job[i]);
                    self.users.finished(finished.job[i]);
                }
                Ok(EventKind::BundleReady) => {
                    if let Some(b) = ready.next() {
                        self.users.ready(&b);
                        self.jobs.entry(b.job).or_default().insert(b.id, b);
                    }
                }
                Ok(EventKind::BundleWithdrawn) => self.no_longer_ready(withdrawn.bundle[i]),
                // A refused launch changes nothing: the bundle is still ready, and fits or not as before.
                Ok(EventKind::Outcome) if at(&outcome.kind, i) == DecisionKind::Launch as i32 && at(&outcome.accepted, i) => {
                    self.no_longer_ready(outcome.launch_bundle[i]);
                    self.users.launched(outcome.launch_bundle[i], &attempts[i], &launchers[i]);
                }
                Ok(EventKind::SpeculationOffered) => offered.next().iter().for_each(|b| self.users.ready(b)),
                Ok(EventKind::AttemptSuspended) => self.users.suspended(suspended.attempt[i], true),
                Ok(EventKind::AttemptResumed) => self.users.suspended(resumed.attempt[i], false),
                Ok(EventKind::AttemptEnded) => self.users.ended(ended.attempt[i]),
                Ok(EventKind::UserLimitSet) => self.users.limits.extend(limits.next()),
                Ok(EventKind::SettingChanged) => settings.push((changed.version[i], changed.config[i].clone())),
                _ => {}
            }
        }
        settings
    }

    fn no_longer_ready(&mut self, bundle: u64) {
        for ready in self.jobs.values_mut() {
            ready.remove(&bundle);
        }
    }

    /// Decides a round. An offer that the round does not list stands as it was.
    pub fn assign(&mut self, round: wire::Round) -> wire::Decisions {
        let (strings, mut out) = (table(&round.strings), Strings::default());
        let (mut d, mut verdicts) = (wire::Decisions::default(), wire::SettingsVerdict::default());
        for (version, config) in self.events(round.events, &strings) {
            verdicts.version.push(version);
            add_problems(verdicts.problems.get_or_insert_default(), &config, &check(&config.text), &mut out);
        }
        self.offered(round.offers.unwrap_or_default(), &strings);
        let mut launch = wire::Launch::default();
        let left = self.launch(&mut launch);
        let mut waiting = wire::Waiting::default();
        for job in self.jobs.keys().filter(|j| left.get(j) != self.waiting.get(j)) {
            let (reason, detail) = why(left.get(job));
            waiting.job.push(*job);
            waiting.reason.push(reason as i32);
            waiting.detail.push(out.of(detail));
        }
        self.waiting = left;
        (d.launch, d.waiting, d.settings, d.strings) = (Some(launch), Some(waiting), Some(verdicts), out.message());
        d
    }

    fn offered(&mut self, o: wire::Offers, strings: &[String]) {
        let (free, r, n) = (o.free.unwrap_or_default(), o.resources.unwrap_or_default(), o.launcher.len());
        let slots = amounts(&free.rows, &free.kind, &free.count, strings, n);
        let resources = amounts(&r.rows, &r.kind, &r.count, strings, n);
        for (i, (slots, resources)) in slots.into_iter().zip(resources).enumerate() {
            self.offers.insert(o.launcher[i], Free { slots, memory: at(&o.memory, i), resources });
        }
    }

    /// Launches what fits, and returns the jobs that have bundles left, and why.
    fn launch(&self, launch: &mut wire::Launch) -> HashMap<u64, WaitReason> {
        let mut free: BTreeMap<_, _> =
            self.offers.iter().filter(|(id, _)| self.hosts.contains_key(id)).map(|(id, f)| (*id, f.clone())).collect();
        let (mut users, mut left) = (self.users.round(), HashMap::new());
        for b in self.jobs.values().flat_map(|ready| ready.values()) {
            let mut at = Vec::new();
            if !users.within(b) {
                left.insert(b.job, WaitReason::AtLimit); // also where others find no room
                continue;
            }
            if !self.place(&mut free, b, &mut at, &mut 1000) {
                left.entry(b.job).or_insert(WaitReason::NoCapacity);
                continue;
            }
            users.take(b);
            launch.bundle.push(b.id);
            let launchers = launch.launchers.get_or_insert_default();
            launchers.rows.push(at.len() as u32);
            launchers.id.extend(at);
        }
        left
    }

    /// Finds launchers for the groups of a bundle beyond the first ones, near their input. Where a later
    /// group finds none, an earlier one goes elsewhere, in a bounded number of tries.
    fn place(&self, free: &mut BTreeMap<u64, Free>, b: &Bundle, found: &mut Vec<u64>, tries: &mut u32) -> bool {
        let Some(g) = b.groups.get(found.len()) else { return true };
        let mut fits: Vec<u64> = free.iter().filter(|(id, f)| !b.avoid.contains(id) && f.has(g)).map(|(id, _)| *id).collect();
        fits.sort_by_key(|id| (!g.hosts.contains(&self.hosts[id]), *id));
        for id in fits {
            if *tries == 0 {
                return false;
            }
            *tries -= 1;
            let before = free[&id].clone();
            free.entry(id).and_modify(|f| f.take(g));
            found.push(id);
            if self.place(free, b, found, tries) {
                return true;
            }
            found.pop();
            free.insert(id, before);
        }
        false
    }

    /// Why a job waits; None for one that is not known.
    pub fn explain(&self, job: u64) -> Option<(WaitReason, String)> {
        let (reason, _) = why(self.waiting.get(&job));
        self.jobs.get(&job).map(|ready| (reason, format!("{} bundles are ready", ready.len())))
    }
}
