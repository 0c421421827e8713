//! Route: finds the operation, and checks that the endpoint offers it.

use super::Pipeline;
use crate::error::OperationError;
use crate::operation::CallScope;
use crate::router::Endpoint;

impl Pipeline {
    /// Finds the operation of a call. Returns its index among the entries of the registry. The suggestions of an error
    /// only name operations that the caller may call.
    pub(super) fn route(
        &self,
        operation: &str,
        endpoint: Endpoint,
        scope: &CallScope,
    ) -> Result<usize, OperationError> {
        self.catalog.registry.route(operation, endpoint).map_err(|error| {
            if let Err(anonymous) = self.permit_caller(scope) {
                return anonymous;
            }
            let view = self.views.of(scope.principal(), &self.catalog);
            view.registry.route(operation, endpoint).err().unwrap_or(error)
        })
    }
}
