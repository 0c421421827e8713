//! Checks that each connection has its own session.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Check, checks};
use crate::adapter::Operation;
use crate::adapter::gaps::states_protocol;
use crate::call::Exchange;
use crate::cases::{Cases, Finding, Skip};
use crate::category::Category;
use crate::finding::listed;
use crate::items::{confirmed, token_of};
use crate::nouns::is_identifier;
use crate::run::{Run, arguments};
use crate::wire::Connection;

pub(super) const CHECKS: &[Check] = checks![
    Should 2 "sessions.own_id" => Learned(own_id), ["REQ-SES-06"],
        "`_protocol` has the id of the session",
        expected: "`session_id` in `_protocol`",
        fix: "generate an id when the connection opens, and include it in `_protocol`, in failures and in the audit \
         log";
    Must 2 "sessions.fresh" => Alone(fresh), ["REQ-SES-01"],
        "Two connections are two sessions",
        fix: "generate a random id for every connection";
    Must 2 "sessions.tokens_end" => Alone(tokens_end), ["REQ-SES-02"],
        "A confirmation token expires with its session",
        expected: "TOKEN_INVALID, because the token's session has ended",
        fix: "drop a session's tokens when its connection closes; if they are meant to outlive it, exclude this \
         check in a [[skip]]";
    Must 2 "sessions.meta_identity" => Alone(meta_identity), ["REQ-SES-05"],
        "`_meta` does not change the identity of a client",
        expected: "TOKEN_INVALID, because the token belongs to another session",
        fix: "identify sessions by their connection, and use `_meta` for the log only; if tokens are meant to be \
         valid in every session, exclude this check in a [[skip]]";
    Must 2 "sessions.no_progress_across" => Alone(no_progress_across), ["REQ-SES-01", "REQ-MCP-14"],
        "Progress notifications reach only the session that requested them",
        expected: "`notifications/progress` only in the session that requested it",
        fix: "send progress over the connection whose request carried the token";
];

/// Maximum number of operations tried with identifiers of missing items.
///
/// Afterwards, a search shared with other checks looks for operations that require confirmation. It tries all
/// operations with items of the run.
const MAX_TRIED_OPERATIONS: usize = 8;

/// Maximum number of waits for progress, and the duration of each.
const MAX_PROGRESS_WAITS: usize = 20;
const PROGRESS_WAIT_INTERVAL: Duration = Duration::from_millis(10);

fn id_of(protocol: &Value) -> Option<&str> {
    protocol.get("session_id").and_then(Value::as_str).filter(|id| !id.trim().is_empty())
}

fn own_id(run: &Run, cases: &Cases) {
    if !states_protocol(&run.adapter, cases) {
        return;
    }
    let protocol = run.adapter.protocol();
    cases.expect(id_of(protocol).is_some(), || {
        Finding::shown("_protocol.session_id", protocol.clone())
    });
}

async fn fresh(run: &Run, cases: &Cases) {
    let Some(own) = id_of(run.adapter.protocol()) else {
        return cases.not_applicable("`_protocol` has no session id");
    };
    let asked = json!({ "query": "operations" });
    let mut seen = vec![own.to_owned()];
    let mut connections = Vec::new();
    for _ in 0..2 {
        let Some(connection) = run.spare(cases).await else { return };
        let exchange = run.introspect_on(&connection, asked.clone()).await;
        connections.push(connection);
        let Some(exchange) = cases.if_answered(exchange) else { return };
        let id = exchange.data().and_then(|data| data.get("_protocol")).and_then(id_of);
        let Some(id) = id.map(str::to_owned) else { continue };
        cases.expect(!seen.contains(&id), || {
            Finding::shown("_protocol.session_id of another connection", id.clone())
                .expected(format!("an id other than {}", listed(&seen)))
        });
        seen.push(id);
    }
    connections.into_iter().for_each(|connection| run.give_back(connection));
}

/// A call that requires confirmation, and its token.
struct GatedCall<'a> {
    operation: &'a Operation,
    params: Map<String, Value>,
    token: String,
}

impl GatedCall<'_> {
    /// Returns the arguments of the same call with the token.
    fn confirmed(&self) -> Value {
        let params = confirmed(self.operation, self.params.clone(), &self.token);
        arguments(&self.operation.name, params)
    }
}

/// Requests a token over this connection, with identifiers of missing items so that the operation changes nothing if it
/// runs.
///
/// If the adapter looks for the item before it asks for confirmation, the call identifies an item of the run.
async fn gated<'a>(run: &'a Run, connection: &Connection, cases: &Cases) -> Option<GatedCall<'a>> {
    let order = [Category::Delete, Category::Update, Category::Execute];
    let named = order
        .iter()
        .flat_map(|category| run.adapter.of(*category))
        .filter(|operation| operation.is_exercised)
        .filter(|operation| operation.required().any(|parameter| is_identifier(&parameter.name)));
    let mut skipped = None;
    for operation in named.take(MAX_TRIED_OPERATIONS) {
        let params =
            match run.forbids(operation).map_or_else(|| run.with_missing_ids(operation), Err) {
                Ok(params) => params,
                Err(why) => {
                    skipped.get_or_insert(why);
                    continue;
                }
            };
        let call = arguments(&operation.name, params.clone());
        if let Some(why) = run.ownership_skip_reason(operation, &call) {
            skipped.get_or_insert(why);
            continue;
        }
        let exchange = run.send_on(connection, &operation.tool, call).await;
        if let Some(lost) = exchange.no_response() {
            skipped.get_or_insert(Skip::CutShort(lost.to_string()));
        }
        if let Some(token) = token_of(&exchange) {
            return Some(GatedCall { operation, params, token: token.to_owned() });
        }
    }
    // Without permission or a reply, the search would not find more.
    if let Some(why @ (Skip::NotAllowed(_) | Skip::LeftOut(_) | Skip::CutShort(_))) = skipped {
        cases.skip(why);
        return None;
    }
    let asked = super::confirmation::ask(run, cases).await?;
    let (operation, params) = (asked.operation, asked.params);
    let call = arguments(&operation.name, params.clone());
    let exchange = run.send_on(connection, &operation.tool, call).await;
    if let Some(token) = token_of(&exchange) {
        return Some(GatedCall { operation, params, token: token.to_owned() });
    }
    super::confirmation::none(run, cases).await;
    None
}

/// Returns `true` if a token was rejected.
fn is_turned_down(exchange: &Exchange) -> bool {
    exchange
        .code()
        .is_some_and(|code| code.starts_with("TOKEN_") || code == "CONFIRMATION_REQUIRED")
}

async fn tokens_end(run: &Run, cases: &Cases) {
    let Some(first) = run.spare(cases).await else { return };
    let gated = gated(run, &first, cases).await;
    first.close().await;
    let Some(gated) = gated else { return };
    let Some(second) = run.spare(cases).await else { return };
    let exchange = run.send_on(&second, &gated.operation.tool, gated.confirmed()).await;
    run.give_back(second);
    if let Some(lost) = exchange.no_response() {
        return cases.skip(Skip::CutShort(lost.to_string()));
    }
    cases.expect(is_turned_down(&exchange), || Finding::of(&exchange, &gated.operation.name));
}

async fn meta_identity(run: &Run, cases: &Cases) {
    let Some(first) = run.spare(cases).await else { return };
    let Some(second) = run.spare(cases).await else { return run.give_back(first) };
    if let Some(gated) = gated(run, &first, cases).await {
        let hello = run.introspect_on(&first, json!({ "query": "operations" })).await;
        let label = hello
            .data()
            .and_then(|data| data.get("_protocol"))
            .and_then(id_of)
            .unwrap_or("conformance")
            .to_owned();
        let meta = json!({ "session_id": label, "sessionId": label, "request_id": label });
        let mut call = gated.confirmed();
        if let Some(call) = call.as_object_mut() {
            call.insert("_meta".to_owned(), meta.clone());
        }
        let exchange = run.send_with(&second, &gated.operation.tool, call, Some(meta)).await;
        match exchange.no_response() {
            Some(lost) => cases.skip(Skip::CutShort(lost.to_string())),
            None => {
                cases.expect(is_turned_down(&exchange), || {
                    Finding::of(
                        &exchange,
                        format!("{}, with another session's id in `_meta`", gated.operation.name),
                    )
                });
            }
        }
    }
    run.give_back(first);
    run.give_back(second);
}

/// Returns the progress notifications of a connection.
fn progress(connection: &Connection) -> Vec<Value> {
    let method = json!("notifications/progress");
    let mut messages = connection.take_notifications();
    messages.retain(|message| message.get("method") == Some(&method));
    messages
}

async fn no_progress_across(run: &Run, cases: &Cases) {
    let reports = |operation: &&Operation| {
        let flag = operation.details().pointer("/lifecycle/progress_reporting");
        flag.and_then(Value::as_bool) == Some(true)
    };
    // Executions of other checks may report progress, too.
    let mut operations = run.adapter.of(Category::Execute).filter(|it| it.is_exercised);
    let Some(operation) = operations.find(reports) else {
        return cases.not_applicable("no EXECUTE operation documents `progress_reporting`");
    };
    let found = run.forbids(operation).map_or_else(|| run.valid(operation), Err);
    let Some(params) = cases.ok_or_skip(found) else { return };
    let call = arguments(&operation.name, params);
    if let Some(why) = run.ownership_skip_reason(operation, &call) {
        return cases.skip(why);
    }
    let Some(_pending) = cases.ok_or_skip(run.within_limits(&call).await) else { return };
    let Some(first) = run.spare(cases).await else { return };
    let Some(second) = run.spare(cases).await else { return run.give_back(first) };
    let meta = json!({ "progressToken": "conformance-first" });
    let exchange = run.send_with(&first, &operation.tool, call, Some(meta)).await;
    // Wait for progress up to the maximum time.
    for _ in 0..MAX_PROGRESS_WAITS {
        if !progress(&first).is_empty() {
            break;
        }
        tokio::time::sleep(PROGRESS_WAIT_INTERVAL).await;
    }
    let other = run.introspect_on(&second, json!({ "query": "types" })).await;
    if let Some(lost) = exchange.no_response().or(other.no_response()) {
        cases.skip(Skip::CutShort(lost.to_string()));
    } else {
        let astray = progress(&second);
        cases.expect(astray.is_empty(), || {
            Finding::of(&exchange, &operation.name).received(json!(astray))
        });
    }
    run.give_back(first);
    run.give_back(second);
}
