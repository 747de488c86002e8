//! What the attempts of each user hold, and what the site lets them hold (core.userLimits).

use crate::columns::{amounts, at, split, Amounts, Bundle, Group};
use crate::wire;
use std::collections::{HashMap, HashSet};

/// An attempt lives from the outcome of its launch to its end.
struct Attempt {
    user: String,
    launcher: u64,
    holds: Amounts,
    suspended: bool,
}

#[derive(Default)]
pub struct Users {
    pub limits: HashMap<String, Amounts>,     // what a limit does not list has no bound
    pub frees: HashMap<u64, HashSet<String>>, // resources that a suspension frees, by launcher
    jobs: HashMap<u64, String>,               // the user, by job
    needs: HashMap<u64, (u64, Vec<Amounts>)>, // the job and what each group needs, by bundle
    attempts: HashMap<u64, Attempt>,
}

/// What a group needs. Kinds of resources have a prefix, since one may be called slots.
fn needs(g: &Group) -> Amounts {
    let own = [("slots".to_owned(), g.slots), ("memory".to_owned(), g.memory)];
    own.into_iter().chain(g.resources.iter().map(|(kind, n)| (resource(kind), *n))).collect()
}

fn resource(kind: &str) -> String {
    format!("resource {kind}")
}

fn add(to: &mut Amounts, more: &Amounts) {
    more.iter().for_each(|(what, n)| *to.entry(what.clone()).or_default() += n);
}

/// The limits, by row. Of slots and memory, 0 is no bound.
pub fn limits(m: &wire::UserLimitSet, strings: &[String]) -> Vec<(String, Amounts)> {
    let r = m.resources.clone().unwrap_or_default();
    let resources = amounts(&r.rows, &r.kind, &r.count, strings, m.user.len());
    let row = |(i, resources): (usize, Amounts)| {
        let bounds = [("slots", at(&m.slots, i)), ("memory", at(&m.memory, i))].into_iter().filter(|(_, most)| *most > 0);
        let bounds = bounds.map(|(what, most)| (what.to_owned(), most));
        let limit = bounds.chain(resources.into_iter().map(|(kind, most)| (resource(&kind), most))).collect();
        (at(strings, m.user[i] as usize), limit)
    };
    resources.into_iter().enumerate().map(row).collect()
}

/// The resources that a suspension frees, by row.
pub fn frees(m: &wire::LauncherJoined, strings: &[String]) -> Vec<HashSet<String>> {
    let r = m.resources.clone().unwrap_or_default();
    let kinds: Vec<_> = r.kind.iter().enumerate().map(|(i, k)| (at(&m.suspension_frees, i), at(strings, *k as usize))).collect();
    let freed = |own: Vec<(bool, String)>| own.into_iter().filter(|(frees, _)| *frees).map(|(_, kind)| resource(&kind)).collect();
    split(&kinds, &r.rows, m.launcher.len()).into_iter().map(freed).collect()
}

impl Users {
    pub fn submitted(&mut self, job: u64, user: String) {
        self.jobs.insert(job, user);
    }

    /// Forgets a job, and with a user's last one the limit: it is told again with the next job.
    pub fn finished(&mut self, job: u64) {
        self.needs.retain(|_, (of, _)| *of != job);
        if let Some(user) = self.jobs.remove(&job).filter(|user| !self.jobs.values().any(|u| u == user)) {
            self.limits.remove(&user);
        }
    }

    pub fn ready(&mut self, b: &Bundle) {
        self.needs.insert(b.id, (b.job, b.groups.iter().map(needs).collect()));
    }

    pub fn launched(&mut self, bundle: u64, attempts: &[u64], launchers: &[u64]) {
        let Some((job, needs)) = self.needs.get(&bundle) else { return };
        for ((id, launcher), holds) in attempts.iter().zip(launchers).zip(needs) {
            let user = self.jobs.get(job).cloned().unwrap_or_default();
            self.attempts.insert(*id, Attempt { user, launcher: *launcher, holds: holds.clone(), suspended: false });
        }
    }

    pub fn suspended(&mut self, attempt: u64, suspended: bool) {
        self.attempts.entry(attempt).and_modify(|a| a.suspended = suspended);
    }

    pub fn ended(&mut self, attempt: u64) {
        self.attempts.remove(&attempt);
    }

    /// Begins a round. Suspended attempts hold no slots, and no resources that their suspension freed.
    pub fn round(&self) -> Round<'_> {
        let mut holds: HashMap<&str, Amounts> = HashMap::new();
        for a in self.attempts.values().filter(|a| self.limits.contains_key(&a.user)) {
            let freed = |what: &String| what == "slots" || self.frees.get(&a.launcher).is_some_and(|f| f.contains(what));
            let mut own = a.holds.clone();
            own.retain(|what, _| !(a.suspended && freed(what)));
            add(holds.entry(&a.user).or_default(), &own);
        }
        Round { users: self, holds }
    }
}

/// What users hold while a round is decided.
pub struct Round<'a> {
    users: &'a Users,
    holds: HashMap<&'a str, Amounts>,
}

impl<'a> Round<'a> {
    /// The user of a bundle's job, and the limit; None without one.
    fn limit(&self, b: &Bundle) -> Option<(&'a str, &'a Amounts)> {
        let user = self.users.jobs.get(&b.job)?;
        self.users.limits.get(user).map(|limit| (user.as_str(), limit))
    }

    /// Whether the user may hold what the bundle needs, too. Of what the user holds too much already, because
    /// the limit was lowered, only more is forbidden.
    pub fn within(&self, b: &Bundle) -> bool {
        let Some((user, limit)) = self.limit(b) else { return true };
        let mut need = Amounts::new();
        b.groups.iter().for_each(|g| add(&mut need, &needs(g)));
        let held = |what| self.holds.get(user).and_then(|h| h.get(what)).copied().unwrap_or(0);
        need.iter().all(|(what, n)| *n == 0 || limit.get(what).is_none_or(|most| held(what) + n <= *most))
    }

    /// Counts a launch of this round.
    pub fn take(&mut self, b: &Bundle) {
        if let Some((user, _)) = self.limit(b) {
            let holds = self.holds.entry(user).or_default();
            b.groups.iter().for_each(|g| add(holds, &needs(g)));
        }
    }
}
