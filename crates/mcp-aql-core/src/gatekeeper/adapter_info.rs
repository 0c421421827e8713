//! Introspection of the gates: the queries `danger` and `adapter_info`.

use mcp_aql_protocol::{DangerLevel, RESERVED_OPERATIONS, SemanticCategory};
use serde::Serialize;
use serde_json::{Value, json};

use super::{GatedOperation, PermissionPlan, Trust};
use crate::error::OperationError;
use crate::operation::further_query::{FurtherQuery, IsShown};
use crate::operation::{Handler, OperationSpec, RegisteredOperation};
use crate::util::BoxFuture;

/// The danger of an operation as shown to callers. The names of the fields are defined in danger-levels §3.2.
///
/// ```json
/// {
///   "name": "delete_task", "level": "destructive", "dangerous": true,
///   "permission": "confirm", "requires_confirmation": true
/// }
/// ```
#[derive(Serialize)]
struct OperationDanger {
    name: &'static str,
    level: DangerLevel,
    /// If `true`, the level is `destructive` or higher (REQ-RQ-16).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dangerous: bool,
    /// Permission of a call: `allow`, `confirm`, `deny` or `introspect_only`.
    permission: &'static str,
    requires_confirmation: bool,
    /// If `true`, a person confirms and not the caller.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    by_operator: bool,
    /// How a client should ask its user. Only set for operations of the safety loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_permission: Option<&'static str>,
    /// If `true`, policies may change the permission of some calls.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_policies: bool,
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    reasons: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmation_message: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cooldown_seconds: Option<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    requires_reauth: bool,
    /// Pattern in the operation's name from which the level was inferred.
    #[serde(skip_serializing_if = "Option::is_none")]
    inferred_from: Option<&'static str>,
}

/// Answers `introspect` with `query: "danger"`, for all operations or for the one in `name` (REQ-DNG-04, choice C-02).
pub(crate) struct DangerQuery(Vec<(&'static str, Value)>);

impl DangerQuery {
    pub(crate) fn of<'a>(operations: impl Iterator<Item = &'a GatedOperation> + Clone) -> Self {
        // The name is reserved, so only the safety loop has this operation.
        let has_loop = operations.clone().any(|it| it.spec.name == "execute_agent");
        Self(
            operations
                .map(|it| (it.spec.name, describe_danger(it, &it.permission, has_loop)))
                .collect(),
        )
    }
}

/// Returns how a client should ask its user about an operation of the safety loop. The adapter itself requires no
/// confirmation for stopping an agent (REQ-LOOP-14).
fn client_permission(spec: &OperationSpec) -> Option<&'static str> {
    Some(match spec.category {
        _ if !RESERVED_OPERATIONS.contains(&spec.name) => return None,
        // A confirmation of a confirmation would never end.
        _ if spec.name == "confirm_operation" => "AUTO_APPROVE",
        SemanticCategory::Read => "AUTO_APPROVE",
        SemanticCategory::Create => "CONFIRM_SESSION",
        _ => "CONFIRM_SINGLE_USE",
    })
}

fn describe_danger(
    operation: &RegisteredOperation,
    plan: &PermissionPlan,
    has_loop: bool,
) -> Value {
    let spec = &operation.spec;
    serde_json::to_value(OperationDanger {
        name: spec.name,
        level: plan.danger,
        dangerous: plan.danger >= DangerLevel::Destructive,
        permission: plan.permission(),
        requires_confirmation: plan.permission() == "confirm",
        by_operator: plan.by_operator(),
        client_permission: client_permission(spec).filter(|_| has_loop),
        has_policies: plan.has_conditions(),
        reasons: spec.danger.reasons,
        confirmation_message: spec.danger.confirmation_message,
        cooldown_seconds: spec.danger.cooldown_seconds,
        requires_reauth: spec.danger.requires_reauth,
        inferred_from: plan.inferred_from,
    })
    .unwrap_or_default()
}

impl FurtherQuery for DangerQuery {
    fn query(&self) -> &'static str {
        "danger"
    }

    fn takes_name(&self) -> bool {
        true
    }

    fn answer<'a>(
        &'a self,
        name: Option<&'a str>,
        is_shown: IsShown<'a>,
    ) -> BoxFuture<'a, Result<Value, OperationError>> {
        let mut shown = self.0.iter().filter(|(operation, _)| is_shown(operation));
        let answer = match name {
            Some(name) => {
                let found = shown.find(|(operation, _)| *operation == name);
                json!({ "operation": found.map(|(_, danger)| danger) })
            }
            None => {
                json!({ "operations": shown.map(|(_, danger)| danger).collect::<Vec<_>>() })
            }
        };
        Box::pin(std::future::ready(Ok(answer)))
    }
}

/// Answers `introspect` with `query: "adapter_info"`. Available if trust is declared (REQ-DNG-16).
///
/// ```json
/// { "name": "tasks", "version": "1.2.0", "trust": { "level": "validated" } }
/// ```
pub(crate) struct AdapterInfo(Value);

impl AdapterInfo {
    pub(crate) fn new(name: &str, version: &str, trust: &Trust) -> serde_json::Result<Self> {
        let trust = serde_json::to_value(trust)?;
        Ok(Self(json!({ "name": name, "version": version, "trust": trust })))
    }
}

impl FurtherQuery for AdapterInfo {
    fn query(&self) -> &'static str {
        "adapter_info"
    }

    fn answer<'a>(
        &'a self,
        _name: Option<&'a str>,
        _is_shown: IsShown<'a>,
    ) -> BoxFuture<'a, Result<Value, OperationError>> {
        Box::pin(std::future::ready(Ok(self.0.clone())))
    }
}

/// Returns the note about the gates for an operation's description.
pub(crate) fn gate_note(handler: &Handler, plan: &PermissionPlan) -> Option<String> {
    if matches!(handler, Handler::Introspect) {
        return None;
    }
    let level = plan.danger;
    match plan.permission() {
        // Keep the note short, because every list of operations contains it. The first error explains how to confirm.
        "confirm" => Some(format!("Requires confirmation: {level}.")),
        "deny" | "introspect_only" => Some(format!("Denied: {level}.")),
        _ if plan.may_ask_for_some() => {
            Some(format!("Requires confirmation for some values: {level}."))
        }
        _ => None,
    }
}
