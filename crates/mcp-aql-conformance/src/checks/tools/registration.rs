//! Checks that each operation belongs to one tool.

use futures_util::future::join_all;

use serde_json::Value;

use crate::adapter::gaps::Part;
use crate::cases::{Cases, Finding};
use crate::checks::routing::recognised;
use crate::finding::listed;
use crate::run::Run;

/// Maximum number of tool names in a finding.
const MAX_NAMES: usize = 10;

pub(super) fn endpoint(run: &Run, cases: &Cases) {
    let gap = run.adapter.gaps.iter().find(|gap| gap.part == Part::Tools);
    let names = || run.adapter.tools.iter().take(MAX_NAMES).map(|tool| tool.name.as_str());
    cases.expect(gap.is_none(), || {
        Finding::shown("tools/list", names().collect::<Vec<_>>()).expected(format!(
            "a tool named `mcp_aql`, or tools named `mcp_aql_FAMILY` such as `mcp_aql_read`, each \
             with an optional prefix; {}",
            gap.map(|gap| gap.why.as_str()).unwrap_or_default()
        ))
    });
}

pub(super) fn all_registered(run: &Run, cases: &Cases) {
    for operation in &run.adapter.operations {
        // Read the details, because `Operation::tool` already is a registered tool if possible. Other checks report a
        // missing member.
        let Some(stated) = operation.details().get("mcpTool").and_then(Value::as_str) else {
            continue;
        };
        let is_there = run.adapter.endpoints.iter().any(|tool| tool.name == stated)
            || (run.adapter.serves_all && run.adapter.tools.iter().any(|tool| tool.name == stated));
        cases.expect(is_there, || {
            Finding::shown(&operation.name, stated).expected(format!(
                "`mcpTool` with one of these names: {}",
                listed(run.adapter.endpoints.iter().map(|tool| &tool.name))
            ))
        });
    }
}

pub(super) async fn own_only(run: &Run, cases: &Cases) {
    join_all(run.adapter.exercised().map(|operation| async move {
        if let Some((exchange, is_known)) = recognised(run, operation, cases).await {
            cases.expect(is_known, || Finding::of(&exchange, &operation.name));
        }
    }))
    .await;
}
