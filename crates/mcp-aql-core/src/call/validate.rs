//! Validate: checks the parameters of a call against the operation's table.

use serde_json::{Map, Value};

use super::Pipeline;
use super::route::Routed;
use crate::error::OperationError;
use crate::gatekeeper::GatedOperation;
use crate::operation::{CallScope, Handler};
use crate::request::Credentials;
use crate::validate::{Known, Rules, ValidParams, validate};

/// A call with valid arguments.
pub(super) struct ValidCall<'a> {
    pub(super) operation: &'a GatedOperation,
    pub(super) valid: ValidParams,
    pub(super) credentials: Credentials,
    /// The parameters as they were sent, if the call begins an execution that can be retried with them.
    pub(super) sent: Option<Box<Map<String, Value>>>,
}

impl Pipeline {
    /// Checks the parameters of a call (REQ-RQ-07).
    pub(super) fn validate<'a>(
        &self,
        routed: Routed<'a>,
        scope: &CallScope,
    ) -> Result<ValidCall<'a>, OperationError> {
        let Routed { operation, params, credentials } = routed;
        let introspects = matches!(operation.handler, Handler::Introspect);
        let lifecycle = operation.spec.lifecycle;
        let rules = Rules {
            // Introspection refuses unknown parameters, because its result has no warnings (REQ-INT-28).
            strict: self.settings.strict || introspects,
            camel_case_aliases: self.settings.camel_case_aliases,
            json_texts: self.settings.json_texts.then_some(&self.settings.limits),
            whole: operation.needs_whole_arguments(),
            caller: scope.principal(),
        };
        let query = introspects.then(|| params.get("query").cloned()).flatten();
        let sent = lifecycle.filter(|lifecycle| lifecycle.retry).map(|_| Box::new(params.clone()));
        let known = Known {
            shapes: &self.catalog.shapes,
            search_operation: &|name| self.catalog.registry.search_operation(name),
        };
        match validate(operation, params, &known, rules) {
            Ok(valid) => Ok(ValidCall { operation, valid, credentials, sent }),
            Err(error) if introspects => {
                Err(self.catalog.introspection.failure(error, query.as_ref()))
            }
            Err(error) => Err(error),
        }
    }
}
