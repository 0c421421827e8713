//! Tests that a conformance run has findings for nearly every mutant of `examples/tasks`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mcp_aql_conformance::{File, MemoryTarget, Mode, Report, Runner, Settings, TimeLimits};
use mcp_aql_conformance_tests::mutants::{GROUPS, Mutant};
use mcp_aql_conformance_tests::{Tamper, found, serve_mutated};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

#[path = "../../../../examples/tests/it/support/program.rs"]
mod program;

/// Number of mutants tested concurrently.
const AT_ONCE: usize = 3;

/// Required share of detected mutants, in thousandths. At present 119 of 122 are detected.
const MIN_CAUGHT_PER_MILLE: usize = 975;

/// Minimum number of mutants.
const MIN_MUTANTS: usize = 120;

/// By default, every 24th mutant is tested, because all of them take minutes of processor time.
///
/// `.ci/run mutants` tests all.
const SAMPLE: usize = 24;

/// Values that a run cannot find out by itself.
const FIXTURES: &str = r#"
[params.delete_done_tasks]
[params.query_relationships]
root = { element_type = "task", element_name = "t-1" }
"#;

/// Creates a directory with a database of three tasks linked in a circle.
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

/// Runs the checks of these areas against `tasks`, changed by a mutant. An empty list stands for all areas.
async fn run(board: &Path, tamper: Option<&'static Tamper>, areas: &[&str]) -> Report {
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
    let settings = areas.iter().copied().fold(settings, Settings::category);
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

/// Returns the checks that detect a mutant, or the reason why none does.
///
/// The areas are tried first, because a run of all checks takes several times as long. If they find nothing, a run of
/// all checks decides. A server that the run does not recognize as an adapter is detected, too: it has no mode, and its
/// level is 0.
async fn caught(
    board: &Path,
    mutant: &'static Mutant,
    areas: &[&[&str]],
) -> Result<BTreeMap<String, String>, String> {
    for areas in areas {
        let report = run(board, Some(&mutant.tamper), areas).await;
        let found = found(&report);
        if !found.is_empty() || report.modes.is_empty() {
            return Ok(found);
        }
    }
    let report = run(board, Some(&mutant.tamper), &[]).await;
    let found = found(&report);
    // Skipped checks do not count, because they report no mistake.
    if found.is_empty() && report.conformance_level > 0 {
        return Err(format!("level {}, {:?}", report.conformance_level, report.obstacles));
    }
    Ok(found)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_catches_nearly_every_mutant() {
    // REQ-CNF-01, REQ-CNF-02
    // `MUTANT=name,name` tests these mutants with all checks and shows the findings of each run. `MUTANTS=all` tests
    // all.
    let wanted = std::env::var("MUTANT").ok();
    let step = if std::env::var("MUTANTS").is_ok_and(|which| which == "all") { 1 } else { SAMPLE };
    let board = Arc::new(filled_board());
    let report = run(board.path(), None, &[]).await;
    let unchanged = found(&report);
    assert!(unchanged.is_empty(), "{unchanged:#?}");
    assert_eq!(report.conformance_level, 1, "one mode is level 1: {:?}", report.obstacles);
    let mut all = Vec::new();
    for group in GROUPS {
        // A finding of these areas must come from the mutant.
        for areas in group.areas {
            let unchanged = found(&run(board.path(), None, areas).await);
            assert!(unchanged.is_empty(), "{areas:?}: {unchanged:#?}");
        }
        let is_wanted = |mutant: &&Mutant| {
            wanted.as_ref().is_none_or(|names| names.split(',').any(|name| mutant.name == name))
        };
        let areas = if wanted.is_some() { &[] } else { group.areas };
        all.extend(group.mutants.iter().filter(is_wanted).map(|mutant| (mutant, areas)));
    }
    assert!(wanted.is_some() || all.len() >= MIN_MUTANTS, "there are {} mutants", all.len());
    let all: Vec<_> = all.into_iter().step_by(if wanted.is_some() { 1 } else { step }).collect();
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut runs = JoinSet::new();
    let count = all.len();
    for (mutant, areas) in all {
        let (places, board) = (Arc::clone(&places), Arc::clone(&board));
        runs.spawn(async move {
            let _place = places.acquire_owned().await.expect("it is never closed");
            (mutant.name, caught(board.path(), mutant, areas).await)
        });
    }
    let mut missed = Vec::new();
    while let Some(run) = runs.join_next().await {
        match run.expect("a run ends") {
            (name, Err(why)) => missed.push(format!("{name}: {why}")),
            (name, Ok(found)) if wanted.is_some() => eprintln!("{name}: {found:#?}"),
            _ => {}
        }
    }
    missed.sort();
    let caught = count - missed.len();
    eprintln!("{caught} of {count} mutants caught; missed:\n{}", missed.join("\n"));
    assert!(
        caught * 1_000 >= count * MIN_CAUGHT_PER_MILLE,
        "{caught} of {count} mutants caught; missed:\n{}",
        missed.join("\n")
    );
}

#[test]
fn mutants_have_names_of_their_own() {
    let mut names: Vec<_> =
        GROUPS.iter().flat_map(|group| group.mutants).map(|mutant| mutant.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}
