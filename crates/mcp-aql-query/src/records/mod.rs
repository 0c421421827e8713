//! Resources with ready operations: a store keeps the rows, and the type says everything else.
//!
//! | part | job |
//! |---|---|
//! | [`Record`] | the names of the operations, the identifier and the version of a resource |
//! | [`ResourceStore`], [`StoreCall`] | the store of the rows, and what it knows of a call |
//! | [`MemoryRecords`] | a store in memory |
//! | [`ResourceRules`], [`RowFilter`] | rules of one's own, and the rows that exist for a caller |
//! | [`ReadyOperations`], [`Ready`] | the operations of a resource over a store |
//! | [`Reference`] | a field with the identifier of another record, which `query_relationships` follows |
//! | [`WithResources`] | adds the operations to an adapter |

mod memory_store;
mod names;
mod new_id;
mod question;
pub mod ready;
mod reference;
mod references;
mod relationships;
mod row_filter;
mod rules;
mod store;
mod store_call;
mod stores;
mod version;

pub use memory_store::MemoryRecords;
pub use names::{OperationName, RecordNames};
pub use new_id::NewId;
pub use ready::{CreatedById, CreatedWithId, Ready, ReadyOperations};
pub use reference::Reference;
pub(crate) use reference::query_of;
#[doc(hidden)]
pub use references::Lookup;
pub use row_filter::RowFilter;
pub use rules::{ResourceRules, RuledStore, WithRules};
pub use store::ResourceStore;
pub use store_call::StoreCall;
pub use stores::{ResourceStores, WithResources};
pub use version::{NoVersion, Version};

use std::fmt::Display;

use mcp_aql_core::internal::schema::{ParameterSpec, ParameterType};
use mcp_aql_core::{OperationError, ParamGroup};
use serde::Serialize;

use crate::resource::IdentifiedResource;

/// A resource with ready operations. `#[resource(operations)]` above a type with `#[derive(Resource)]` implements
/// it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no ready operations",
    label = "has no ready operations",
    note = "write `#[resource(operations)]` above `{Self}`, or choose some with `#[resource(operations(create, get, list))]`"
)]
pub trait Record: IdentifiedResource + Serialize + Clone {
    /// The type of the identifier.
    type Id: RecordId;

    /// The parameter `if_match`: [`IfMatch<V>`](mcp_aql_core::IfMatch) for a resource with a field `_version` or
    /// `_etag`, [`NoVersion`] for others.
    type IfMatch: ParamGroup + Send + Sync;

    /// The names of the resource and of its operations.
    const NAMES: RecordNames;

    /// The parameter with the identifier.
    const ID: ParameterSpec;

    /// Whether callers choose the identifier of a new record: `#[create_input(chosen)]`.
    const CHOSEN_ID: bool = false;

    /// The field that describes a record to a person: the first one that can be searched and is not a secret.
    const DESCRIBED_BY: Option<&'static str> = None;

    /// The field with the version.
    const VERSION: Option<&'static str> = None;

    /// The fields that callers write and that are in no result.
    const WRITE_ONLY: &'static [&'static str] = &[];

    /// The fields that contain identifiers of other records.
    const REFERENCES: &'static [Reference] = &[];

    /// Returns the identifier.
    fn id(&self) -> &Self::Id;

    /// Compares the version with the one that a caller expects.
    ///
    /// # Errors
    /// `CONFLICT_VERSION_MISMATCH` if they differ.
    fn check_version(&self, expected: &Self::IfMatch) -> Result<(), OperationError>;

    /// Sets the version of a resource that has changed.
    fn advance_version(&mut self);
}

/// A type of an identifier. Its text by [`Display`] is the one in JSON, without quotation marks.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot identify a resource with ready operations",
    note = "an identifier implements `Clone`, `Ord`, `Display`, `Deserialize` and `JsonSchema`"
)]
pub trait RecordId: ParameterType + Clone + Ord + Display + Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: ParameterType + Clone + Ord + Display + Send + Sync + 'static> RecordId for T {}

/// The error of a store whose rule or operation has changed the identifier of a record.
pub(crate) fn changed_identifier() -> OperationError {
    OperationError::internal("the change of the record has changed its identifier")
}
