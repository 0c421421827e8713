//! A conformance run finds a fault in nearly every mutant of `examples/tasks`.
#![expect(clippy::expect_used, reason = "a test that cannot go on panics, in its helpers too")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mcp_aql_conformance::{
    File, MemoryTarget, Mode, Report, Runner, Settings, TimeLimits, Verdict,
};
use mcp_aql_conformance_tests::{Tamper, mutants, serve_mutated};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

#[allow(clippy::unwrap_used, reason = "a test may panic")]
#[path = "../../../examples/tests/support/program.rs"]
mod program;

/// The number of mutants that are tested at the same time.
const AT_ONCE: usize = 3;

/// The share of mutants that must be caught, in percent.
const MIN_CAUGHT_PERCENT: usize = 97;

/// The number of mutants that there must be.
const MIN_MUTANTS: usize = 120;

/// The values that a run cannot find out by itself.
const FIXTURES: &str = r#"
[params.delete_done_tasks]
[params.query_relationships]
root = { element_type = "task", element_name = "t-1" }
"#;

/// A directory with a database of three tasks, which are linked in a circle.
fn filled_board() -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let call = |operation: &str, params: Value| {
        let mut command = std::process::Command::new(program::program("tasks"));
        command.arg("--db").arg(directory.path().join("tasks.db")).current_dir(directory.path());
        command.args(["call", operation, &params.to_string()]);
        let output = command.output().expect("the program starts");
        assert!(output.status.success(), "{output:?}");
    };
    for title in ["Write the report", "Read the invoice", "Plan the garden"] {
        call("create_task", json!({ "title": title, "tags": ["office"], "priority": 2 }));
    }
    for (source, relationship, target) in
        [("t-1", "composes", "t-2"), ("t-2", "references", "t-3"), ("t-3", "composes", "t-1")]
    {
        let link = json!({ "task_id": source, "relationship": relationship, "target_id": target });
        call("link_tasks", link);
    }
    directory
}

/// Runs every check that applies to `tasks` against it, changed by a mutant.
async fn run(board: &Path, tamper: Option<&'static Tamper>) -> Report {
    let directory = Arc::new(tempfile::tempdir().expect("a directory"));
    for file in std::fs::read_dir(board).expect("the board's files") {
        let file = file.expect("a file").path();
        let name = file.file_name().expect("a name");
        std::fs::copy(&file, directory.path().join(name)).expect("a copy");
    }
    let kept = Arc::clone(&directory);
    let target = MemoryTarget::new("tasks", move |mode, stream| {
        let command = command(kept.path(), mode);
        tokio::spawn(async move {
            let (read, write) = tokio::io::split(stream);
            let served = serve_mutated(command, tamper, read, write).await;
            assert!(served.is_ok(), "{served:?}");
        });
    });
    let limits = TimeLimits { request: Duration::from_secs(20), run: Duration::from_secs(300) };
    let file = File::parse(FIXTURES, |_| None).expect("it is sound");
    let settings = Settings::default().allow_all().time_limits(limits).file(file);
    let report = Runner::new(target.as_it_is(), settings).run().await;
    drop(directory);
    report
}

fn command(directory: &Path, mode: Option<Mode>) -> Command {
    let mut command = Command::new(program::program("tasks"));
    command.arg("--db").arg(directory.join("tasks.db")).current_dir(directory);
    let mode = match mode {
        Some(Mode::Single) => "single",
        _ => "semantic",
    };
    command.env("MCP_AQL_ENDPOINT_MODE", mode).env("MCP_AQL_LOG", "off");
    command
}

/// The checks that found something, with their first finding.
fn found(report: &Report) -> BTreeMap<String, String> {
    report
        .checks()
        .filter(|check| matches!(check.verdict, Verdict::Fail | Verdict::Warn))
        .map(|check| {
            let first = check.findings.first().map(|finding| finding.expected.clone());
            (check.id.clone(), first.unwrap_or_default())
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_catches_nearly_every_mutant() {
    // REQ-CNF-01, REQ-CNF-02
    // `MUTANT=name,name` tests some of them and shows what each run finds.
    let wanted = std::env::var("MUTANT").ok();
    let board = Arc::new(filled_board());
    let report = run(board.path(), None).await;
    let unchanged = found(&report);
    assert!(unchanged.is_empty(), "{unchanged:#?}");
    assert_eq!(report.conformance_level, 1, "one mode is level 1: {:?}", report.obstacles);
    let all: Vec<_> = mutants::all()
        .filter(|mutant| {
            wanted.as_ref().is_none_or(|names| names.split(',').any(|name| mutant.name == name))
        })
        .collect();
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut runs = JoinSet::new();
    for mutant in &all {
        let places = Arc::clone(&places);
        let (mutant, board) = (*mutant, Arc::clone(&board));
        runs.spawn(async move {
            let _place = places.acquire_owned().await.expect("it is never closed");
            (mutant.name, run(board.path(), Some(&mutant.tamper)).await)
        });
    }
    let mut missed = Vec::new();
    while let Some(run) = runs.join_next().await {
        let (name, report) = run.expect("a run ends");
        let found = found(&report);
        // A server that the run does not recognise as an adapter is level 0. Skipped checks do not count:
        // they show the mutant's author nothing to correct.
        if found.is_empty() && report.conformance_level > 0 {
            missed.push(format!(
                "{name}: level {}, {:?}",
                report.conformance_level, report.obstacles
            ));
        } else if wanted.is_some() {
            eprintln!("{name}: {found:#?}");
        }
    }
    missed.sort();
    let caught = all.len() - missed.len();
    eprintln!("{caught} of {} mutants caught", all.len());
    assert!(
        caught * 100 >= all.len() * MIN_CAUGHT_PERCENT,
        "{caught} of {} mutants caught; missed:\n{}",
        all.len(),
        missed.join("\n")
    );
    assert!(wanted.is_some() || all.len() >= MIN_MUTANTS, "there are {} mutants", all.len());
}

#[test]
fn mutants_have_names_of_their_own() {
    let mut names: Vec<_> = mutants::all().map(|mutant| mutant.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}
