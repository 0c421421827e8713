//! Checks that each operation belongs to one tool.

use futures_util::future::join_all;

use crate::cases::{Cases, Finding};
use crate::checks::routing::recognised;
use crate::run::Run;

pub(super) fn all_registered(run: &Run, cases: &Cases) {
    for operation in &run.adapter.operations {
        let is_there = run.adapter.endpoints.iter().any(|tool| tool.name == operation.tool);
        cases.expect(is_there, || {
            Finding::shown(
                &operation.name,
                operation.tool.clone(),
                format!(
                    "`mcpTool` with one of {:?}",
                    run.adapter.endpoints.iter().map(|it| it.name.as_str()).collect::<Vec<_>>()
                ),
                "use the registered name of the tool, with its prefix",
            )
        });
    }
}

pub(super) async fn own_only(run: &Run, cases: &Cases) {
    join_all(run.adapter.exercised().map(|operation| async move {
        if let Some((exchange, is_known)) = recognised(run, operation, cases).await {
            cases.expect(is_known, || {
                Finding::of(
                    &exchange,
                    &operation.name,
                    "any reply except that the operation is unknown to this tool",
                "list only operations that can be called: neither operations of other adapters nor disabled ones",
                )
            });
        }
    }))
    .await;
}
