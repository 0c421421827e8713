//! Checks of the documented parameters and capabilities, and that results agree with them.

use serde_json::{Value, json};

use super::{MAX_RECORDS, OPERATION, Traversal, documented_support, furthest, operation, records};
use crate::cases::{Cases, Finding};
use crate::run::Run;

pub(super) fn parameters(run: &Run, cases: &Cases) {
    let Some(operation) = operation(run, cases) else { return };
    for (name, is_required) in
        [("root", true), ("direction", true), ("depth", false), ("relationship", false)]
    {
        let parameter = operation.parameter(name);
        // Optional parameters need not be supported.
        let holds = parameter.map_or(!is_required, |parameter| parameter.required == is_required);
        cases.expect(holds, || {
            Finding::shown(
                format!("{OPERATION}: {name}"),
                parameter.map(|parameter| Value::Object(parameter.raw.clone())).unwrap_or_default(),
            )
            .expected(if is_required {
                "a required parameter"
            } else {
                "an optional parameter"
            })
        });
    }
}

pub(super) async fn capabilities(run: &Run, cases: &Cases) {
    let Some(operation) = operation(run, cases) else { return };
    let reported = documented_support(operation);
    let is_list = |name: &str| reported.get(name).is_some_and(Value::is_array);
    let holds = reported.get("supported") == Some(&Value::Bool(true))
        && is_list("directions")
        && is_list("relationship_types")
        && reported.get("max_depth").and_then(Value::as_u64).is_some_and(|depth| depth >= 1);
    cases.expect(holds, || {
        Finding::shown(OPERATION, reported.clone()).expected(
            "`relationship_capabilities` with `supported: true`, `directions`, \
             `relationship_types` and `max_depth`",
        )
    });
    let types = reported.get("relationship_types").and_then(Value::as_array);
    let Some(types) = types else { return };
    let Some((_, exchange)) = Traversal::start(run, cases).await else { return };
    for record in records(&exchange) {
        cases.expect(record.get("type").is_some_and(|kind| types.contains(kind)), || {
            Finding::of(&exchange, OPERATION)
                .expected(format!("records of the types {}", json!(types)))
                .fix("list every type of relationship in `relationship_types`")
        });
    }
}

pub(super) async fn max_depth(run: &Run, cases: &Cases) {
    let Some(operation) = operation(run, cases) else { return };
    let Some(most) = documented_support(operation).get("max_depth").and_then(Value::as_u64) else {
        return cases.not_applicable("`relationship_capabilities` does not state `max_depth`");
    };
    let Some(depth) = operation.parameter("depth") else {
        return cases.not_applicable("`query_relationships` does not document `depth`");
    };
    let maximum = depth.member("maximum").and_then(Value::as_u64);
    cases.expect(maximum.is_none_or(|maximum| maximum == most), || {
        Finding::shown(format!("{OPERATION}: depth"), Value::Object(depth.raw.clone()))
            .expected(format!("`maximum` {most}, as `relationship_capabilities.max_depth` says"))
            .fix("state the maximum depth once, and derive the other statement from it")
    });
    let Some((traversal, _)) = Traversal::start(run, cases).await else { return };
    let Some(exchange) = traversal.follow("both", json!({ "depth": most })).await else { return };
    cases.expect_success(&exchange, true, || {
        Finding::of(&exchange, format!("{OPERATION}: depth {most}"))
            .expected("a success, because introspection states this maximum depth")
    });
    let more = json!({ "depth": most.saturating_add(1), "first": MAX_RECORDS });
    let Some(exchange) = traversal.follow("both", more).await else { return };
    let is_within = records(&exchange).iter().all(|record| {
        record.get("depth").and_then(Value::as_u64).is_none_or(|depth| depth <= most)
    });
    cases.expect(exchange.failure().is_some() || is_within, || {
        Finding::of(&exchange, format!("{OPERATION}: depth {}", most.saturating_add(1)))
            .expected(format!("a failure, or records within the depth {most}"))
    });
}

pub(super) async fn narrowed(run: &Run, cases: &Cases) {
    let Some((traversal, _)) = Traversal::start(run, cases).await else { return };
    let operation = traversal.operation;
    let types = documented_support(operation).get("relationship_types").and_then(Value::as_array);
    let Some(types) = types.filter(|_| operation.parameter("relationship").is_some()) else {
        return cases.not_applicable("`query_relationships` does not document `relationship`");
    };
    for kind in types {
        let more = json!({
            "depth": furthest(operation), "first": MAX_RECORDS, "relationship": kind,
        });
        let Some(exchange) = traversal.follow("both", more).await else { return };
        let is_narrow = records(&exchange).iter().all(|record| record.get("type") == Some(kind));
        cases.expect_success(&exchange, is_narrow, || {
            Finding::of(&exchange, format!("{OPERATION}: relationship {kind}")).expected(format!(
                "only records of the type {kind}, because `relationship_types` lists it"
            ))
        });
    }
}
