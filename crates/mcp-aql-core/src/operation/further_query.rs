//! The trait of further introspection queries.

use serde_json::Value;

use crate::error::OperationError;
use crate::util::future::BoxFuture;

/// A query that `introspect` answers besides `operations` and `types`, added by a feature (choice
/// C-35). The set of queries is fixed when the adapter is built.
pub trait FurtherQuery: Send + Sync {
    /// The value of the parameter `query`.
    fn query(&self) -> &'static str;

    /// Whether the parameter `name` can select one entry of the answer.
    fn takes_name(&self) -> bool {
        false
    }

    /// Returns the members of `data`. The answer names no operation that the caller may not call, for which `is_shown`
    /// returns `false`.
    fn answer<'a>(
        &'a self,
        name: Option<&'a str>,
        is_shown: IsShown<'a>,
    ) -> BoxFuture<'a, Result<Value, OperationError>>;
}

/// Whether the caller may call an operation.
pub(crate) type IsShown<'a> = &'a (dyn Fn(&str) -> bool + Send + Sync);

/// The further queries of an adapter.
pub(crate) type FurtherQueries = Vec<Box<dyn FurtherQuery>>;
