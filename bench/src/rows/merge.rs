//! Measures the deep merge of JSON, compared with the crate json-patch.

use serde_json::{Map, Value, json};

use super::Setup;
use crate::Result;
use crate::measure::{in_turns, nanos_each};
use crate::table::{Outcome, Row, Target};

/// Returns a board of tasks with about `size` bytes.
fn document(size: usize) -> Value {
    let tasks: Map<String, Value> = (0..size / 250)
        .map(|index| {
            let task = json!({
                "title": format!("Task {index} of the board"),
                "status": "todo",
                "priority": index % 5,
                "tags": ["home", "garden", "weekend"],
                "metadata": {
                    "author": "alice",
                    "source": { "system": "import", "row": index, "checked": true },
                    "note": "as it was told on the telephone",
                },
            });
            (format!("task-{index:06}"), task)
        })
        .collect();
    json!({ "tasks": tasks })
}

/// Returns changes to every n-th task. They replace, nest, remove and add a value.
fn patch(size: usize, every: usize) -> Value {
    let tasks: Map<String, Value> = (0..size / 250)
        .step_by(every)
        .map(|index| {
            let change = json!({
                "status": "done",
                "tags": ["home"],
                "metadata": {
                    "source": { "checked": false },
                    "note": null,
                    "closed_by": "bob",
                },
            });
            (format!("task-{index:06}"), change)
        })
        .collect();
    json!({ "tasks": tasks })
}

pub(super) fn run(setup: &Setup) -> Result<Outcome> {
    let mut rows = Vec::new();
    let [small, middle, large] = setup.scale.documents;
    for (size, most) in [(small, 0.7), (middle, 0.7), (large, 1.0)] {
        for (every, how) in [(10, "few"), (2, "many")] {
            let (document, patch) = (document(size), patch(size, every));
            let count = (setup.scale.merged_bytes / size).clamp(1, setup.scale.calls);
            let make = |_| (document.clone(), patch.clone());
            let (mut merged, mut expected) = (document.clone(), document.clone());
            json_patch::merge(&mut expected, &patch);
            mcp_aql::update::merge_json(&mut merged, patch.clone());
            if merged != expected || merged == document {
                return Err(format!("{size} bytes are merged wrongly").into());
            }
            // If an implementation does not consume the patch, the time to drop it counts, too.
            let ours = || {
                let merge = |(mut document, patch)| {
                    mcp_aql::update::merge_json(&mut document, patch);
                    document
                };
                nanos_each(count, make, merge, Value::is_object)
            };
            let peer = || {
                let merge = |(mut document, patch)| {
                    json_patch::merge(&mut document, &patch);
                    drop(patch);
                    document
                };
                nanos_each(count, make, merge, Value::is_object)
            };
            rows.push(Row::of_times(
                format!("merge-{size}-{how}"),
                format!("deep merge, {} with {how} changes; json-patch", kilobytes(size)),
                in_turns(setup.scale.rounds, ours, peer)?,
                Target::AtMost(most),
            ));
        }
    }
    Ok(Outcome::Rows(rows))
}

fn kilobytes(size: usize) -> String {
    match size >> 10 {
        kilobytes @ 0..1024 => format!("{kilobytes} KiB"),
        kilobytes => format!("{} MiB", kilobytes >> 10),
    }
}
