//! Which operation is called through which tool.

use serde_json::json;

use super::{Body, Check, Keyword, later};
use crate::cases::{Cases, Finding};
use crate::run::Run;

pub(super) const CHECKS: &[Check] = &[Check {
    id: "routing.unknown_operation",
    title: "An operation that does not exist is refused with NOT_FOUND_OPERATION",
    requirements: &["REQ-ERR-10", "REQ-EPT-16"],
    keyword: Keyword::Must,
    level: 1,
    body: Body::Reads(later!(unknown_operation)),
}];

async fn unknown_operation(run: &Run, cases: &Cases) {
    for tool in &run.adapter.endpoints {
        let name = run.absent_operation();
        let exchange =
            run.refused(&tool.name, json!({ "operation": name, "params": {} }), cases).await;
        let Some(exchange) = exchange else { continue };
        let is_refused = exchange.failure().is_some_and(|failure| {
            failure.code == "NOT_FOUND_OPERATION" && failure.message.contains(&name)
        });
        cases.expect(is_refused, || {
            Finding::of(
                &exchange,
                &tool.name,
                format!("a failure NOT_FOUND_OPERATION whose message names '{name}'"),
                "look the operation up before anything else, and answer \
                 {\"success\": false, \"error\": {\"code\": \"NOT_FOUND_OPERATION\", …}}",
            )
        });
    }
}
