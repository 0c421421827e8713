//! Validate: checks the parameters of a call against the operation's table.

use serde_json::{Map, Value};

use super::Pipeline;
use crate::call::validation::{Lookups, ValidParams, ValidationRules, validate};
use crate::error::OperationError;
use crate::gatekeeper::GatedOperation;
use crate::operation::{CallScope, ExecutionCall, Handler};
use crate::request::{Credentials, Params};

/// The valid arguments of a call.
pub(crate) struct ValidCall {
    pub(super) valid: ValidParams,
    pub(super) credentials: Credentials,
    /// The parameters as they were sent. Set for calls that start an execution with support for retries.
    pub(super) sent: Option<Box<Map<String, Value>>>,
}

impl Pipeline {
    /// Checks the parameters of a call (REQ-RQ-07).
    pub(super) fn validate(
        &self,
        operation: &GatedOperation,
        params: Params<'_>,
        credentials: Credentials,
        scope: &CallScope,
    ) -> Result<ValidCall, OperationError> {
        let introspects = matches!(operation.handler, Handler::Introspect);
        let lifecycle = operation.spec.lifecycle;
        let rules = ValidationRules {
            // `introspect` always rejects unknown parameters, because its result has no warnings (REQ-INT-28).
            strict: self.settings.strict || introspects,
            camel_case_aliases: self.settings.camel_case_aliases,
            json_texts: self.settings.json_texts.then_some(&self.settings.limits),
            whole: operation.needs_whole_arguments(),
            caller: scope.principal(),
        };
        let unknown_query = params
            .get("query")
            .filter(|query| introspects && !self.catalog.introspection.knows(query))
            .cloned();
        let sent = lifecycle.filter(|lifecycle| lifecycle.retry).map(|_| Box::new(params.to_map()));
        let lookups = Lookups {
            shapes: &self.catalog.shapes,
            search_operation: &|name| {
                self.views.of(scope.principal(), &self.catalog).registry.search_operation(name)
            },
        };
        match validate(operation, params, &lookups, rules) {
            Ok(valid) => Ok(ValidCall { valid, credentials, sent }),
            Err(error) if introspects => {
                Err(self.catalog.introspection.failure(error, unknown_query.as_ref()))
            }
            Err(error) => Err(error),
        }
    }
}

/// Replaces the aliases that an operation declares, and that of the confirmation token, by the canonical names.
///
/// A retry repeats the call with these names and skips this function. The aliases in camel case follow in
/// [`validation`](crate::call::validation), because they only apply to names that are not in the operation's table.
pub(super) fn resolve_names(
    operation: &GatedOperation,
    params: &mut Params<'_>,
    credentials: &mut Credentials,
) {
    take_confirmation(operation, params, credentials);
    if let Some(rename) = operation.rename_params {
        let mut renamed = std::mem::take(params).into_map();
        rename(&mut renamed);
        *params = renamed.into();
    }
}

/// Accepts `confirmation_token` as an alias of `_confirmation` if the operation may require a confirmation. A parameter
/// of the operation with this name takes precedence (choice C-18).
fn take_confirmation(
    operation: &GatedOperation,
    params: &mut Params<'_>,
    credentials: &mut Credentials,
) {
    const ALIAS: &str = "confirmation_token";
    let own = || operation.parameters.iter().any(|parameter| &*parameter.name == ALIAS);
    let retries = matches!(operation.handler, Handler::Execution(ExecutionCall::Retry));
    if (retries || operation.permission.may_ask())
        && !own()
        && let Some(token) = params.take(ALIAS)
    {
        let token = token.as_str().unwrap_or_default().to_owned();
        credentials.add_confirmation(token);
    }
}
