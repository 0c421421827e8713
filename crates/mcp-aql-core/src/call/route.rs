//! Route: finds the operation, and checks that the endpoint offers it.

use serde_json::{Map, Value};

use super::Pipeline;
use crate::error::OperationError;
use crate::gatekeeper::GatedOperation;
use crate::operation::{CallScope, ExecutionCall, Handler};
use crate::request::{Credentials, OperationInput};
use crate::router::Endpoint;

/// A call whose operation is known.
pub(super) struct Routed<'a> {
    pub(super) operation: &'a GatedOperation,
    pub(super) params: Map<String, Value>,
    pub(super) credentials: Credentials,
}

impl Pipeline {
    /// Finds the operation of a call.
    pub(super) fn route(
        &self,
        input: OperationInput,
        endpoint: Endpoint,
        scope: &CallScope,
    ) -> Result<Routed<'_>, OperationError> {
        let routed = self.catalog.registry.route(&input.operation, endpoint);
        let entry =
            routed.map_err(|error| self.error_for(error, &input.operation, endpoint, scope))?;
        let OperationInput { operation: _, mut params, mut credentials } = input;
        let operation = &entry.operation;
        take_confirmation(operation, &mut params, &mut credentials);
        if let Some(rename) = operation.rename_params {
            rename(&mut params);
        }
        Ok(Routed { operation, params, credentials })
    }

    /// The error for a name that is not routed. Its hints name no operation that the caller may not call.
    fn error_for(
        &self,
        error: OperationError,
        operation: &str,
        endpoint: Endpoint,
        scope: &CallScope,
    ) -> OperationError {
        if let Err(anonymous) = self.permit_caller(scope) {
            return anonymous;
        }
        let view = self.views.of(scope.principal(), &self.catalog);
        view.registry.route(operation, endpoint).err().unwrap_or(error)
    }
}

/// Accepts `confirmation_token` as `_confirmation` if calls of the operation may require confirmation,
/// unless the operation has such a parameter of its own (choice C-18).
fn take_confirmation(
    operation: &GatedOperation,
    params: &mut Map<String, Value>,
    credentials: &mut Credentials,
) {
    const ALIAS: &str = "confirmation_token";
    let own = || operation.parameters.iter().any(|parameter| &*parameter.name == ALIAS);
    let retries = matches!(operation.handler, Handler::Execution(ExecutionCall::Retry));
    if (retries || operation.permission.may_ask())
        && !own()
        && let Some(token) = params.remove(ALIAS)
    {
        let token = token.as_str().unwrap_or_default().to_owned();
        credentials.add_confirmation(token);
    }
}
