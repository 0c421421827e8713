//! Finds the descendants of a child process, including those outside its process group.
//!
//! Daemons and programs started with `setsid` leave the process group, so killing the group does
//! not end them. To find them, a child gets a variable in its environment that its descendants
//! inherit:
//!
//! ```text
//! MY_MARK=4711-1700000000000000000.0
//! ```
//!
//! Linux shows the environment and the parent of every process in `/proc`. A descendant is found by
//! that variable even after its parent has ended, and otherwise by its parents. On systems without
//! `/proc` no descendant is found, and ending a child ends only its process group.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::id;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::SystemTime;

use rustix::process::{Pid, Signal};

use super::pidfd;

/// Maximum number of searches while killing, because the processes may start new ones meanwhile.
const MAX_ROUNDS: usize = 10;

/// Prefix of all marks of this process. The process id alone would not be unique over time.
static PREFIX: LazyLock<String> = LazyLock::new(|| {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}.", id(), now.as_nanos())
});
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Returns the string contained in the environment of every descendant of every marked child, and
/// of no other process.
pub(super) fn common_mark() -> &'static str {
    &PREFIX
}

/// Returns a new value for the marking variable, unique to one child.
pub(super) fn new_mark() -> String {
    format!("{}{}", *PREFIX, NEXT.fetch_add(1, Relaxed))
}

/// The known descendants of a child.
#[derive(Debug)]
pub(super) struct Descendants {
    /// The environment entry that marks the child, `NAME=value`.
    mark: Vec<u8>,
    /// Process ids and start times. An id alone does not identify a process, because ids are
    /// reused.
    known: BTreeMap<i32, u64>,
}

impl Descendants {
    /// Starts with the child itself. `mark` is the entry that marks its environment.
    pub(super) fn of(child: Option<Pid>, mark: Vec<u8>) -> Self {
        let child = child.map(|pid| pid.as_raw_nonzero().get());
        let known =
            child.and_then(ListedProcess::read).map(|process| (process.id, process.started));
        Self { mark, known: known.into_iter().collect() }
    }

    /// Kills all descendants. Searches again until no new one is found.
    pub(super) fn kill(&mut self) {
        let mut ended = BTreeSet::new();
        for _ in 0..MAX_ROUNDS {
            let mut is_done = true;
            for process in self.find() {
                if ended.insert((process.id, process.started)) {
                    process.kill();
                    is_done = false;
                }
            }
            if is_done {
                return;
            }
        }
    }

    /// Records the current descendants and returns those still running. Call this while the parents
    /// exist: after a parent has ended, its children are found only by their mark.
    pub(super) fn find(&mut self) -> Vec<ListedProcess> {
        let mut others = all();
        let mut found = Vec::new();
        // The list may contain a child before its parent, so the search repeats until it finds no
        // more.
        loop {
            let known = &self.known;
            let is_ours = |process: &ListedProcess| {
                known.get(&process.id) == Some(&process.started)
                    || known.contains_key(&process.parent) && found_in(&found, process.parent)
                    || process.has_in_environment(&self.mark)
            };
            let (ours, rest): (Vec<_>, Vec<_>) = others.into_iter().partition(is_ours);
            others = rest;
            if ours.is_empty() {
                return found
                    .into_iter()
                    .filter(|process: &ListedProcess| !process.has_ended)
                    .collect();
            }
            self.known.extend(ours.iter().map(|process| (process.id, process.started)));
            found.extend(ours);
        }
    }
}

fn found_in(found: &[ListedProcess], id: i32) -> bool {
    found.iter().any(|process| process.id == id)
}

/// A process as listed in `/proc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListedProcess {
    id: i32,
    parent: i32,
    /// Start time since boot, in clock ticks.
    started: u64,
    /// If `true`, the process is a zombie.
    has_ended: bool,
}

impl ListedProcess {
    fn read(id: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The program's name stands in parentheses and may itself contain `)`.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        let has_ended = matches!(fields.next()?, "Z" | "X");
        let parent = fields.next()?.parse().ok()?;
        // See proc(5): the parent is field 4, the start time is field 22.
        let started = fields.nth(17)?.parse().ok()?;
        Some(Self { id, parent, started, has_ended })
    }

    fn has_in_environment(&self, entry: &[u8]) -> bool {
        let environment = fs::read(format!("/proc/{}/environ", self.id));
        environment.is_ok_and(|all| all.split(|byte| *byte == 0).any(|each| each == entry))
    }

    /// Kills this process, but not a later one with the same process id.
    fn kill(&self) {
        let Some(pid) = Pid::from_raw(self.id) else { return };
        let is_same = || Self::read(self.id).is_some_and(|now| now.started == self.started);
        if !pidfd::kill_if(pid, is_same) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }
}

/// Returns all processes except this one.
fn all() -> Vec<ListedProcess> {
    let own = i32::try_from(id()).unwrap_or_default();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id| *id != own).filter_map(ListedProcess::read).collect()
}
