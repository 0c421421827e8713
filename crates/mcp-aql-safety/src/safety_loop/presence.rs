//! Identifies a process, so that other processes on the same machine can detect that it has ended.

use std::fs;

use serde::{Deserialize, Serialize};

/// The time without a heartbeat after which a process counts as ended, in seconds.
pub(super) const LEASE_SECONDS: i64 = 12;

/// A process, identified by the boot of the machine, the namespace of its id, its id, and its start time.
///
/// `/proc` shows whether the process is running. This is unknown on systems other than Linux, and if `/proc` hides
/// processes or belongs to another namespace. In these cases only the lease decides.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Presence {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    process: Option<Process>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Process {
    boot: String,
    namespace: String,
    id: u32,
    started: u64,
}

impl Presence {
    /// Identifies this process.
    pub(super) fn here() -> Self {
        Self { process: Process::of(std::process::id()) }
    }

    /// Returns `true` if this process has certainly ended.
    pub(super) fn is_gone(&self) -> bool {
        let Some(known) = &self.process else { return false };
        let Some(here) = Process::of(std::process::id()) else { return false };
        if (&known.boot, &known.namespace) != (&here.boot, &here.namespace) {
            return false;
        }
        match fs::read_to_string(format!("/proc/{}/stat", known.id)) {
            // If the start time differs, another process has the same id by now.
            Ok(stat) => started(&stat).is_some_and(|started| started != known.started),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        }
    }
}

impl Process {
    /// Identifies a process of this namespace.
    fn of(id: u32) -> Option<Self> {
        // Ids are reliable only if `/proc` belongs to this namespace and shows all processes.
        let own = fs::read_link("/proc/self").ok()?;
        let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
        if own.to_str()?.parse() != Ok(std::process::id()) || hides(&mounts) {
            return None;
        }
        let namespace = fs::read_link("/proc/self/ns/pid").ok()?.to_str()?.to_owned();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned();
        let started = started(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)?;
        (!boot.is_empty()).then_some(Self { boot, namespace, id, started })
    }
}

/// Returns the start time of a process, in ticks since the boot.
///
/// In `/proc/ID/stat`, the name of the process is in parentheses and may contain any character, so the search starts
/// after the last parenthesis.
fn started(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19)?.parse().ok()
}

/// Returns `true` if `/proc` hides the processes of other users, or if this is unknown.
fn hides(mounts: &str) -> bool {
    let options = mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        (fields.next() == Some("/proc") && fields.next() == Some("proc")).then(|| fields.next())?
    });
    options.is_none_or(|options| {
        options.split(',').any(|option| option.starts_with("hidepid=") && option != "hidepid=0")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_processes_are_not_taken_for_gone() {
        for (mounts, hidden) in [
            ("proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0", false),
            ("tmpfs / tmpfs rw 0 0\nproc /proc proc rw,hidepid=0 0 0", false),
            ("proc /proc proc rw,hidepid=2 0 0", true),
            ("proc /proc proc rw,hidepid=invisible,gid=4 0 0", true),
            ("tmpfs /proc tmpfs rw 0 0", true),
            ("", true),
        ] {
            assert_eq!(hides(mounts), hidden, "{mounts}");
        }
    }

    #[test]
    fn the_start_is_found_behind_any_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 9 9";
        assert_eq!(started(stat), Some(4711));
        assert_eq!(started("7 (a"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_was_killed_is_gone_at_once_and_no_other() {
        // REQ-LIF-10
        let here = Presence::here();
        let Some(own) = here.process.clone() else { return };
        assert!(!here.is_gone());
        assert!(!Presence::default().is_gone());
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let there = Process::of(child.id()).unwrap();
        let presence = |process: &Process| Presence { process: Some(process.clone()) };
        assert!(!presence(&there).is_gone());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(presence(&there).is_gone());
        // Processes of other machines and namespaces cannot be checked from here.
        let text = "elsewhere".to_owned();
        assert!(!presence(&Process { boot: text.clone(), ..there.clone() }).is_gone());
        assert!(!presence(&Process { namespace: text, ..there.clone() }).is_gone());
        // A different start time means that another process has the same id now.
        assert!(presence(&Process { started: own.started + 1, ..own.clone() }).is_gone());
        let text = serde_json::to_string(&presence(&there)).unwrap();
        assert_eq!(serde_json::from_str::<Presence>(&text).unwrap(), presence(&there));
        assert_eq!(serde_json::from_str::<Presence>("{}").unwrap(), Presence::default());
    }
}
