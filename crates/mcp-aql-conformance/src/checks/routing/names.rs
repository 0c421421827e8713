//! Checks of calls with unknown and malformed operation names.

use futures_util::future::join_all;
use serde_json::json;

use crate::cases::{Cases, Finding};
use crate::checks::data;
use crate::run::Run;

pub(super) async fn unknown_operation(run: &Run, cases: &Cases) {
    data::calls(run, "routing.unknown_operation", cases).await;
}

pub(super) async fn missing_operation(run: &Run, cases: &Cases) {
    data::calls(run, "routing.missing_operation", cases).await;
}

pub(super) async fn operation_not_string(run: &Run, cases: &Cases) {
    data::calls(run, "routing.operation_not_string", cases).await;
}

pub(super) async fn malformed_names(run: &Run, cases: &Cases) {
    data::calls(run, "routing.malformed_names", cases).await;
}

pub(super) async fn case_sensitive(run: &Run, cases: &Cases) {
    let variants = run.adapter.exercised().flat_map(|operation| {
        let hyphens = operation.name.replace('_', "-");
        [operation.name.to_ascii_uppercase(), hyphens].map(|name| (operation, name))
    });
    join_all(variants.map(|(operation, name)| async move {
        if run.adapter.operation(&name).is_some() {
            return;
        }
        let params = json!({ run.absent_parameter(operation): true });
        let arguments = json!({ "operation": name, "params": params });
        let Some(exchange) = run.refused(&operation.tool, arguments, cases).await else { return };
        // A name with hyphens may be rejected for its form.
        let is_malformed =
            name.contains('-') && exchange.code().is_some_and(|code| !code.ends_with("_PARAM"));
        let is_unknown = exchange.code() == Some("NOT_FOUND_OPERATION") || is_malformed;
        cases.expect(is_unknown, || {
            Finding::of(
                &exchange,
                &operation.name,
                format!("NOT_FOUND_OPERATION, because `{name}` is not `{}`", operation.name),
                "compare names of operations case-sensitively",
            )
        });
    }))
    .await;
}
