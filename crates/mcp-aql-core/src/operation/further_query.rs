//! The trait of introspection queries added by features.

use serde_json::Value;

use crate::error::OperationError;
use crate::util::future::BoxFuture;

/// A query answered by `introspect` in addition to `operations` and `types`. Features add such queries (choice C-35).
/// The set of queries is fixed when the adapter is built.
///
/// ```json
/// { "operation": "introspect", "params": { "query": "danger", "name": "delete_task" } }
/// ```
pub trait FurtherQuery: Send + Sync {
    /// Returns the value of the parameter `query`.
    fn query(&self) -> &'static str;

    /// Returns `true` if the parameter `name` can select one entry of the answer.
    fn takes_name(&self) -> bool {
        false
    }

    /// Returns the members of `data`. The answer must only name operations for which `is_shown` returns `true`.
    fn answer<'a>(
        &'a self,
        name: Option<&'a str>,
        is_shown: IsShown<'a>,
    ) -> BoxFuture<'a, Result<Value, OperationError>>;
}

/// Returns `true` if the caller may call an operation.
pub(crate) type IsShown<'a> = &'a (dyn Fn(&str) -> bool + Send + Sync);

/// The additional queries of an adapter.
pub(crate) type FurtherQueries = Vec<Box<dyn FurtherQuery>>;
