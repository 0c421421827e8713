//! Checks that the descriptions for models stay short, but still sufficient to find operations.

use std::collections::BTreeSet;

use mcp_aql_bench::records;
use mcp_aql_bench::tokens::{SENTENCES, counter, figures, transcripts, whole_tasks};

#[tokio::test]
async fn texts_keep_to_their_limits_and_still_have_the_words() {
    let figures = figures(&counter().unwrap()).await.unwrap();
    let of = |name: &str| figures.rows.iter().find(|row| row.name == name).unwrap();

    for name in [
        "tools_semantic",
        "tools_single",
        "list",
        "details_median",
        "task",
        "task_searched",
        "task_narrowed",
    ] {
        let row = of(name);
        assert_eq!(row.is_met(), Some(true), "{}: {} tokens", row.what, row.ours);
    }
    // These two exceed the goal even with nothing but required members. The test only prevents that they grow.
    assert!(of("task_in_full").ours <= 3_400, "{:?}", of("task_in_full"));
    assert!(of("task_narrowed_in_full").ours <= 2_400, "{:?}", of("task_narrowed_in_full"));
    for row in &figures.rows {
        assert!(row.peer.is_none_or(|peer| row.ours * 2 < peer), "{row:?}");
    }

    let [list, full, brief, discrete, searched] = figures.found.as_slice() else {
        panic!("five ways to read: {:?}", figures.found);
    };
    for (found, first, in_three, parameters) in [
        (list, 24, 34, 0),
        (full, 29, 37, SENTENCES.len()),
        (brief, 28, 37, SENTENCES.len()),
        (searched, 30, 37, SENTENCES.len()),
    ] {
        assert!(found.first >= first, "{found:#?}");
        assert!(found.in_three >= in_three, "{found:#?}");
        assert_eq!(found.parameters, parameters, "{found:#?}");
    }
    // The descriptions are shorter than the peer's, and must be at least as good for finding operations.
    assert!(full.first >= discrete.first && full.in_three >= discrete.in_three, "{discrete:#?}");

    let text = figures.text();
    for row in &figures.rows {
        assert!(text.contains(row.what), "{text}");
    }
}

#[test]
fn sentences_cover_all_operations_and_name_none() {
    let adapter = records::aql::adapter().unwrap();
    let known: BTreeSet<_> = adapter.operations().map(|operation| operation.name).collect();
    let mut kinds = BTreeSet::new();
    let mut verbs = BTreeSet::new();
    for sentence in &SENTENCES {
        assert!(known.contains(sentence.operation), "{}", sentence.operation);
        let (verb, kind) = sentence.operation.split_once('_').unwrap();
        kinds.insert(kind.trim_end_matches('s'));
        verbs.insert(verb);
        let says = sentence.says.to_lowercase();
        let repeated = says.contains(verb) && says.contains(kind);
        assert!(!repeated || ["get", "list"].contains(&verb), "\"{}\" says it all", sentence.says);
    }
    assert_eq!((kinds.len(), verbs.len()), (10, 5));
}

/// The figures that miss their goals, with the values that they must not exceed. The members required by the protocol
/// already take that many tokens.
const MISSED: [(&str, f64); 2] =
    [("ten jobs, semantic: calls and replies", 2_000.0), ("`list_tasks` in full", 700.0)];

#[tokio::test]
async fn whole_tasks_take_less_than_with_plain_tools() {
    // REQ-MCP-08
    let tasks = whole_tasks(&counter().unwrap()).await.unwrap();
    assert_eq!(tasks.tasks.len(), 8);
    for task in &tasks.tasks {
        assert!(task.ours.whole < task.plain.whole, "{task:#?}");
        assert_eq!(task.ours.failures, 0, "{task:#?}");
    }
    for goal in tasks.goals() {
        let missed = MISSED.iter().find(|(what, _)| *what == goal.what);
        let most = missed.map_or(goal.goal, |(_, most)| *most);
        assert!(goal.measured <= most, "{goal:?}");
    }
}

#[tokio::test]
async fn conversations_are_the_same_in_every_run() {
    let count = counter().unwrap();
    let table = whole_tasks(&count).await.unwrap().table();
    assert_eq!(table, whole_tasks(&count).await.unwrap().table());
    let text = transcripts(&count).await.unwrap();
    assert_eq!(text, transcripts(&count).await.unwrap());
    assert!(text.contains("## 527 operations"), "{text}");
}
