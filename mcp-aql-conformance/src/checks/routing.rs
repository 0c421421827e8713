//! Checks of operation names, categories, families and endpoints.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{Body, Check, later, of_level_1 as check, should};
use crate::adapter::{Operation, tool_parts};
use crate::call::{Exchange, Reply};
use crate::cases::{Cases, Finding};
use crate::category::{Category, Mode};
use crate::forms::is_snake_case;
use crate::run::Run;

pub(super) const CHECKS: &[Check] = &[
    check(
        "routing.unknown_operation",
        "An unknown operation is rejected with NOT_FOUND_OPERATION",
        &["REQ-ERR-10", "REQ-EPT-16"],
        Body::Reads(later!(unknown_operation)),
    ),
    check(
        "routing.missing_operation",
        "A request without `operation` is rejected",
        &["REQ-RQ-01"],
        Body::Reads(later!(missing_operation)),
    ),
    check(
        "routing.operation_not_string",
        "An `operation` that is not a string is rejected",
        &["REQ-RQ-01"],
        Body::Reads(later!(operation_not_string)),
    ),
    check(
        "routing.malformed_names",
        "Malformed names of operations are rejected, even if they resemble an operation",
        &["REQ-RQ-02", "REQ-EPT-16"],
        Body::Reads(later!(malformed_names)),
    ),
    check(
        "routing.case_sensitive",
        "Names of operations are case-sensitive",
        &["REQ-RQ-02"],
        Body::Reads(later!(case_sensitive)),
    ),
    check(
        "routing.families",
        "Every operation has a category and belongs to one family",
        &["REQ-EPT-02", "REQ-INT-11"],
        Body::Learned(families),
    ),
    check(
        "routing.permissions",
        "The permissions of an operation follow from its category",
        &["REQ-EPT-06", "REQ-INT-12"],
        Body::Learned(permissions),
    ),
    check(
        "routing.reserved",
        "Reserved names have the category that the protocol defines",
        &["REQ-CLS-10", "REQ-CLS-11"],
        Body::Learned(reserved),
    ),
    should(check(
        "routing.verbs",
        "Operations have the category of their verb",
        &["REQ-CLS-07", "REQ-CLS-08", "REQ-CLS-13"],
        Body::Learned(verbs),
    )),
    check(
        "routing.wrong_endpoint",
        "A call through another family's tool is rejected, and the failure names the right tool",
        &["REQ-EPT-03", "REQ-RQ-06"],
        Body::Reads(later!(wrong_endpoint)),
    ),
    should(check(
        "routing.wrong_endpoint_code",
        "A call through another family's tool fails with VALIDATION_ENDPOINT_MISMATCH and its details",
        &["REQ-EPT-04"],
        Body::Reads(later!(wrong_endpoint_code)),
    )),
];

/// The reserved names with their categories.
const RESERVED: [(&str, Category); 7] = [
    ("introspect", Category::Read),
    ("execute_agent", Category::Execute),
    ("record_execution_step", Category::Create),
    ("complete_execution", Category::Execute),
    ("abort_execution", Category::Execute),
    ("confirm_operation", Category::Execute),
    ("verify_challenge", Category::Create),
];

/// The standard verbs with the categories of their operations.
const VERBS: [(&str, Category); 7] = [
    ("create", Category::Create),
    ("get", Category::Read),
    ("list", Category::Read),
    ("update", Category::Update),
    ("delete", Category::Delete),
    ("execute", Category::Execute),
    ("cancel", Category::Execute),
];

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
                "look the operation up first, and return \
                 {\"success\": false, \"error\": {\"code\": \"NOT_FOUND_OPERATION\", …}}",
            )
        });
    }
}

/// Whether a call was rejected in any form. An MCP library may reject requests that violate the tool's
/// schema.
fn is_refused(exchange: &Exchange) -> bool {
    match &exchange.reply {
        Reply::Result { raw, .. } => {
            exchange.failure().is_some()
                || raw.get("isError").is_some_and(|flag| *flag == Value::Bool(true))
        }
        Reply::Protocol { .. } => true,
        Reply::NoResponse(_) => false,
    }
}

async fn refuses(run: &Run, arguments: Value, expected: &str, mend: &str, cases: &Cases) {
    for tool in &run.adapter.endpoints {
        let exchange = run.refused(&tool.name, arguments.clone(), cases).await;
        let Some(exchange) = exchange else { continue };
        cases.expect(is_refused(&exchange), || Finding::of(&exchange, &tool.name, expected, mend));
    }
}

async fn missing_operation(run: &Run, cases: &Cases) {
    for arguments in [json!({}), json!({ "params": {} })] {
        refuses(
            run,
            arguments,
            "a failure such as VALIDATION_MISSING_PARAM for `operation`",
            "reject requests without an operation",
            cases,
        )
        .await;
    }
}

async fn operation_not_string(run: &Run, cases: &Cases) {
    for operation in [json!(7), json!(true), json!(null), json!([]), json!({ "name": "x" })] {
        refuses(
            run,
            json!({ "operation": operation, "params": {} }),
            "a failure such as VALIDATION_INVALID_TYPE for `operation`",
            "accept only strings for `operation`, without conversions",
            cases,
        )
        .await;
    }
}

async fn malformed_names(run: &Run, cases: &Cases) {
    // The names resemble an operation that would succeed.
    let near = "introspect";
    let names = [
        String::new(),
        " ".to_owned(),
        format!(" {near}"),
        format!("{near} "),
        format!("{near}\n"),
        format!("{near}-"),
        format!("_{near}"),
        format!("../{near}"),
        "7".to_owned(),
        "a".repeat(2_000),
    ];
    join_all(names.into_iter().map(|name| async move {
        let arguments = json!({ "operation": name, "params": { "query": "types" } });
        let exchange = run.refused(&run.adapter.introspect, arguments, cases).await;
        let Some(exchange) = exchange else { return };
        cases.expect(exchange.failure().is_some(), || {
            Finding::of(
                &exchange,
                format!("{name:?}"),
                "a structured failure",
                "compare names exactly, without trimming or guessing",
            )
        });
    }))
    .await;
}

async fn case_sensitive(run: &Run, cases: &Cases) {
    let variants = run.adapter.operations.iter().flat_map(|operation| {
        let hyphens = operation.name.replace('_', "-");
        [operation.name.to_ascii_uppercase(), hyphens].map(|name| (operation, name))
    });
    join_all(variants.map(|(operation, name)| async move {
        if run.adapter.operation(&name).is_some() {
            return;
        }
        // The call must be harmless in case the adapter ignores the case.
        let is_harmless = operation.required().next().is_some();
        if let (false, Some(why)) = (is_harmless, run.forbids(operation)) {
            return cases.skip(why);
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

fn families(run: &Run, cases: &Cases) {
    let is_crude = run.adapter.is_crude();
    for operation in &run.adapter.operations {
        let family = tool_parts(&operation.tool).and_then(|(_, family)| family);
        let wanted = match (operation.category, is_crude) {
            (None, _) => "one of the five categories in `semantic_category`".to_owned(),
            (Some(category), true) if operation.endpoint != category.family() => {
                format!("`endpoint` {}, in lower case, for {category}", category.family())
            }
            _ if run.adapter.mode != Mode::Single && family != Some(&operation.endpoint) => {
                "`endpoint` with the family that the name of `mcpTool` ends in".to_owned()
            }
            _ if !is_snake_case(&operation.endpoint) => {
                "`endpoint` with the name of a family, in lower case".to_owned()
            }
            _ => {
                cases.pass();
                continue;
            }
        };
        cases.fail(Finding::shown(
            &operation.name,
            operation.details().clone(),
            wanted,
            "assign one category and its family to every operation",
        ));
    }
}

fn permissions(run: &Run, cases: &Cases) {
    for operation in &run.adapter.operations {
        // The check `routing.families` reports missing categories.
        let Some(category) = operation.category else { continue };
        let (reads, destroys) = category.permissions();
        cases.expect(operation.permissions == Some((reads, destroys)), || {
            Finding::shown(
                &operation.name,
                operation.details().get("permissions").cloned().unwrap_or_default(),
                format!("readOnly {reads} and destructive {destroys}, for {category}"),
                "derive the permissions from the category",
            )
        });
    }
}

fn reserved(run: &Run, cases: &Cases) {
    let mut is_any = false;
    for (name, category) in RESERVED {
        let Some(operation) = run.adapter.operation(name) else { continue };
        is_any = true;
        cases.expect(operation.category == Some(category), || {
            Finding::shown(
                name,
                operation.listed.clone(),
                format!("{category}, as in the protocol"),
                "rename your operation: the protocol reserves the name",
            )
        });
    }
    if !is_any {
        cases.not_applicable("no operation has a reserved name");
    }
}

fn verbs(run: &Run, cases: &Cases) {
    let mut is_any = false;
    for operation in &run.adapter.operations {
        let verb = operation.name.split('_').next().unwrap_or_default();
        let is_reserved = RESERVED.iter().any(|(name, _)| *name == operation.name);
        let known = VERBS.iter().find(|(known, _)| *known == verb);
        let (Some((verb, category)), false) = (known, is_reserved) else { continue };
        is_any = true;
        cases.expect(operation.category == Some(*category), || {
            Finding::shown(
                &operation.name,
                operation.listed.clone(),
                format!("{category}, because the name starts with `{verb}_`"),
                "choose the category by the operation's effect, and a matching verb",
            )
        });
    }
    if !is_any {
        cases.not_applicable("no operation has a standard verb");
    }
}

/// The operations that belong to one tool. Other tools may offer `introspect` as well because all
/// descriptions show how to call it.
fn routed(run: &Run) -> impl Iterator<Item = &Operation> {
    let is_registered =
        |name: &str| run.adapter.endpoints.iter().any(|endpoint| endpoint.name == name);
    run.adapter
        .operations
        .iter()
        .filter(move |operation| operation.name != "introspect" && is_registered(&operation.tool))
}

/// Sends an operation to another tool with an unknown parameter, so that the call fails even if the tool is
/// not checked or the parameters are checked first.
async fn misrouted(
    run: &Run,
    operation: &Operation,
    tool: &str,
    cases: &Cases,
) -> Option<Exchange> {
    let params = json!({ run.absent_parameter(operation): true });
    run.refused(tool, json!({ "operation": operation.name, "params": params }), cases).await
}

async fn wrong_endpoint(run: &Run, cases: &Cases) {
    if run.adapter.endpoints.len() < 2 {
        return cases.not_applicable("the adapter has one tool");
    }
    let pairs = routed(run).flat_map(|operation| {
        let others = run.adapter.endpoints.iter().filter(|tool| tool.name != operation.tool);
        others.map(move |tool| (operation, tool))
    });
    join_all(pairs.map(|(operation, tool)| async move {
        let Some(exchange) = misrouted(run, operation, &tool.name, cases).await else { return };
        let names_it = exchange.failure().is_some_and(|failure| {
            let expected = failure.details.get("expected_endpoint").and_then(Value::as_str);
            words_of(failure.message).any(|word| word == operation.tool)
                || expected.is_some_and(|it| it == operation.endpoint || it == operation.tool)
        });
        cases.expect(names_it, || {
            Finding::of(
                &exchange,
                format!("{} through {}", operation.name, tool.name),
                format!("a failure whose message names `{}`", operation.tool),
                "check the tool before the parameters, and name the right tool in the failure",
            )
        });
    }))
    .await;
}

/// The words of a message without punctuation.
fn words_of(message: &str) -> impl Iterator<Item = &str> {
    message.split(|c: char| !(c.is_alphanumeric() || c == '_'))
}

async fn wrong_endpoint_code(run: &Run, cases: &Cases) {
    if run.adapter.endpoints.len() < 2 {
        return cases.not_applicable("the adapter has one tool");
    }
    join_all(routed(run).map(|operation| async move {
        let other = run.adapter.endpoints.iter().find(|tool| tool.name != operation.tool);
        let Some(other) = other else { return };
        let Some(exchange) = misrouted(run, operation, &other.name, cases).await else { return };
        let actual = tool_parts(&other.name).and_then(|(_, family)| family).unwrap_or_default();
        let details = json!({
            "operation": operation.name,
            "expected_endpoint": operation.endpoint,
            "actual_endpoint": actual,
        });
        let holds = exchange.failure().is_some_and(|failure| {
            let has = |name: &str| failure.details.get(name) == details.get(name);
            failure.code == "VALIDATION_ENDPOINT_MISMATCH"
                && has("operation")
                && has("expected_endpoint")
                && has("actual_endpoint")
        });
        cases.expect(holds, || {
            Finding::of(
                &exchange,
                format!("{} through {}", operation.name, other.name),
                format!("VALIDATION_ENDPOINT_MISMATCH with details {details}"),
                "use this code with the names of the families in its details",
            )
        });
    }))
    .await;
}

/// Calls an operation through its own tool with an unknown parameter, and returns whether the tool knows
/// the operation.
pub(super) async fn recognised(
    run: &Run,
    operation: &Operation,
    cases: &Cases,
) -> Option<(Exchange, bool)> {
    let exchange = misrouted(run, operation, &operation.tool, cases).await?;
    let is_known = exchange.body().is_some()
        && !matches!(exchange.code(), Some("NOT_FOUND_OPERATION" | "VALIDATION_ENDPOINT_MISMATCH"));
    Some((exchange, is_known))
}
