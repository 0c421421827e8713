//! Signals to a run that has created items.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::{command, file};

const NOTICE: &str = "interrupted; removing what the run created; a second signal ends it at once";

/// A run that has created items.
struct Started {
    child: Child,
    folder: TempDir,
    stderr: BufReader<std::process::ChildStderr>,
}

impl Started {
    /// Starts a run and waits until it has created an item.
    fn new(allowed: &str, faults: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let beds = folder.path().join("beds");
        std::fs::create_dir(&beds).unwrap();
        let (_, report) = file(&folder, "report.txt");
        let faults = [&["garden", "slow"], faults].concat();
        let mut command = command(&["test", "--allow", allowed, "--output", &report], &faults);
        command.env("GARDEN_BEDS", &beds).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let started = Self { child, folder, stderr };
        let until = Instant::now() + Duration::from_secs(30);
        while started.beds() == 0 {
            assert!(Instant::now() < until, "the run creates nothing");
            std::thread::sleep(Duration::from_millis(5));
        }
        started
    }

    /// The number of items in the adapter.
    fn beds(&self) -> usize {
        std::fs::read_dir(self.folder.path().join("beds")).unwrap().count()
    }

    fn signal(&self, signal: &str) {
        let process = self.child.id().to_string();
        let sent = Command::new("kill").args([&format!("-{signal}"), &process]).status();
        assert!(sent.unwrap().success());
    }

    /// The next line on standard error.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Waits for the end of the run, which writes no report.
    fn end(&mut self) -> Vec<String> {
        let rest = self.stderr.by_ref().lines().map(Result::unwrap).collect();
        assert_eq!(self.child.wait().unwrap().code(), Some(130), "{rest:?}");
        assert!(!self.folder.path().join("report.txt").exists());
        rest
    }
}

pub(crate) fn removes_its_items() {
    // REQ-CNF-12
    for signal in ["INT", "TERM"] {
        let mut run = Started::new("create,delete", &[]);
        run.signal(signal);
        assert_eq!(run.line(), NOTICE);
        assert_eq!(run.end(), ["nothing was left behind"]);
        assert_eq!(run.beds(), 0);
    }
}

pub(crate) fn reports_what_stays_behind() {
    let mut run = Started::new("create", &[]);
    run.signal("INT");
    assert_eq!(run.line(), NOTICE);
    let said = run.end();
    assert_eq!(said[0], "left behind:");
    assert!(run.beds() > 0);
    // Without permission for more than CREATE, the run does not find out what existed before.
    let reason = ": it may have existed before the call of `create_bed`";
    assert!(said[1].starts_with("  bed b") && said[1].ends_with(reason), "{said:?}");
}

pub(crate) fn ends_in_time() {
    let mut run = Started::new("create,delete", &["stubborn"]);
    let start = Instant::now();
    run.signal("TERM");
    assert_eq!(run.line(), NOTICE);
    let said = run.end();
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
    assert_eq!(said[0], "left behind:");
    assert!(said[1].ends_with(": there was no time to remove it"), "{said:?}");
}

pub(crate) fn ends_at_once() {
    let mut run = Started::new("create,delete", &["stubborn"]);
    run.signal("INT");
    assert_eq!(run.line(), NOTICE);
    std::thread::sleep(Duration::from_millis(200));
    let start = Instant::now();
    run.signal("INT");
    assert_eq!(run.end(), ["ended before everything that the run created was removed"]);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}
