//! Columns and rows: a message has a packed list for each attribute, and row i is the i-th element of each.
//! A list or message that has only zeros may be absent. docs/PLUGINS.md tells the rules.

use crate::wire;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Amounts of slots or of countable resources, by kind.
pub type Amounts = BTreeMap<String, i64>;

#[derive(Clone)]
pub struct Group {
    pub kind: String,
    pub slots: i64,
    pub memory: i64,
    pub resources: Amounts,
    pub hosts: HashSet<String>,
}

pub struct Bundle {
    pub id: u64,
    pub job: u64,
    pub groups: Vec<Group>,
    pub avoid: HashSet<u64>,
}

/// The i-th element of a column; 0 where it is left out.
pub fn at<T: Clone + Default>(column: &[T], i: usize) -> T {
    column.get(i).cloned().unwrap_or_default()
}

/// The strings of a message: 0 is the empty one. They need not be UTF-8.
pub fn table(strings: &Option<wire::Strings>) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut from = 0;
    let Some(s) = strings else { return all };
    for n in &s.length {
        let to = (from + *n as usize).min(s.text.len());
        all.push(String::from_utf8_lossy(&s.text[from..to]).into_owned());
        from = to;
    }
    all
}

/// Each of n rows gets its own part of a list; counts that are left out are 0.
pub fn split<T: Clone>(list: &[T], counts: &[u32], n: usize) -> Vec<Vec<T>> {
    let mut rest = list;
    (0..n)
        .map(|i| {
            let (own, others) = rest.split_at((at(counts, i) as usize).min(rest.len()));
            rest = others;
            own.to_vec()
        })
        .collect()
}

/// The amounts of each of n rows.
pub fn amounts(rows: &[u32], kind: &[u32], count: &[i64], strings: &[String], n: usize) -> Vec<Amounts> {
    let pairs: Vec<_> = kind.iter().enumerate().map(|(i, k)| (at(strings, *k as usize), at(count, i))).collect();
    split(&pairs, rows, n).into_iter().map(|own| own.into_iter().collect()).collect()
}

/// The bundles that become ready. Groups name their shape, and places their host, by an index.
pub fn bundles(m: &wire::BundleOffered, strings: &[String]) -> Vec<Bundle> {
    let (g, avoid) = (m.groups.clone().unwrap_or_default(), m.avoid.clone().unwrap_or_default());
    let (p, r) = (g.places.unwrap_or_default(), g.shape_resources.unwrap_or_default());
    let host = |node: &u32| at(strings, at(&p.host, *node as usize) as usize);
    let hosts = split(&p.node.iter().map(host).collect::<Vec<_>>(), &p.rows, g.shape.len());
    let resources = amounts(&r.rows, &r.kind, &r.count, strings, g.shape_kind.len());
    let group = |(i, s): (usize, &u32)| Group {
        kind: at(strings, at(&g.shape_kind, *s as usize) as usize),
        slots: at(&g.shape_slots, *s as usize),
        memory: at(&g.shape_memory, *s as usize),
        resources: at(&resources, *s as usize),
        hosts: hosts[i].iter().cloned().collect(),
    };
    let groups: Vec<_> = g.shape.iter().enumerate().map(group).collect();
    let own = split(&groups, &g.rows, m.bundle.len());
    let avoid = split(&avoid.id, &avoid.rows, m.bundle.len());
    (own.into_iter().zip(avoid).enumerate())
        .map(|(i, (groups, avoid))| Bundle { id: m.bundle[i], job: at(&m.job, i), groups, avoid: avoid.into_iter().collect() })
        .collect()
}

/// The strings of an answer.
#[derive(Default)]
pub struct Strings {
    index: HashMap<String, u32>,
    message: wire::Strings,
}

impl Strings {
    pub fn of(&mut self, s: &str) -> u32 {
        if s.is_empty() {
            return 0;
        }
        if let Some(known) = self.index.get(s) {
            return *known;
        }
        self.message.text.extend_from_slice(s.as_bytes());
        self.message.length.push(s.len() as u32);
        let i = self.message.length.len() as u32;
        self.index.insert(s.into(), i);
        i
    }

    pub fn message(self) -> Option<wire::Strings> {
        Some(self.message)
    }
}

/// Adds one row of problems of a configuration, with the file and the lines that its author knows.
pub fn add_problems(to: &mut wire::Problems, config: &wire::Config, found: &[(i64, String)], strings: &mut Strings) {
    let file = strings.of(&at(&table(&config.strings), config.file as usize));
    to.rows.push(found.len() as u32);
    for (line, text) in found {
        to.file.push(file);
        to.line.push(line + (config.line - 1).max(0));
        to.message.push(strings.of(text));
    }
}
