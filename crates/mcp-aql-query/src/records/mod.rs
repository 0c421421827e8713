//! Resources with ready operations. A store keeps the records, and the type describes everything else.
//!
//! | part | purpose |
//! |---|---|
//! | [`Record`] | the names of the operations, the identifier and the version of a resource |
//! | [`ResourceStore`], [`StoreCall`] | the store of the records, and the information about a call for it |
//! | [`MemoryRecords`] | a store in memory |
//! | [`ResourceRules`], [`RowFilter`] | your own rules, and the records that exist for a caller |
//! | [`ReadyOperations`], [`Ready`] | the operations of a resource over a store |
//! | [`Reference`] | a field with the identifier of another record, for `query_relationships` |
//! | [`WithResources`] | adds the operations to an adapter |

mod memory_store;
mod names;
mod new_id;
pub mod ready;
mod reference;
mod references;
mod relationships;
mod row_filter;
mod rules;
mod spelling;
mod store;
mod store_call;
mod stores;
mod version;

pub use memory_store::MemoryRecords;
pub use names::{OperationName, RecordNames};
pub use new_id::NewId;
pub(crate) use new_id::no_more_ids;
pub use ready::{CreatedById, CreatedWithId, Ready, ReadyOperations};
pub use reference::Reference;
pub(crate) use reference::query_of;
#[doc(hidden)]
pub use references::Lookup;
pub use row_filter::RowFilter;
pub use rules::{ResourceRules, RuledStore, WithRules};
pub use store::ResourceStore;
pub(crate) use store_call::GivenInput;
pub use store_call::StoreCall;
pub use stores::{ResourceStores, WithResources};
pub use version::{NoVersion, Version};

use std::fmt::Display;

use mcp_aql_core::internal::schema::{ParameterSpec, ParameterType};
use mcp_aql_core::{OperationError, ParamGroup};
use serde::Serialize;

use crate::resource::IdentifiedResource;

/// A resource with ready operations.
///
/// You rarely implement it yourself: write `#[resource(operations)]` above a type with `#[derive(Resource)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no ready operations",
    label = "has no ready operations",
    note = "write `#[resource(operations)]` above `{Self}`, or choose some with `#[resource(operations(create, get, list))]`"
)]
pub trait Record: IdentifiedResource + Serialize + Clone {
    /// Type of the identifier.
    type Id: RecordId;

    /// Type of the parameter `if_match`: [`IfMatch<V>`](mcp_aql_core::IfMatch) for a resource with a field
    /// `_version` or `_etag`, [`NoVersion`] for others.
    type IfMatch: ParamGroup + Send + Sync;

    /// Names of the resource and of its operations.
    const NAMES: RecordNames;

    /// Parameter for the identifier.
    const ID: ParameterSpec;

    /// If `true`, callers choose the identifier of a new record: `#[create_input(chosen)]`.
    const CHOSEN_ID: bool = false;

    /// Field that describes a record to a person. It is the first searchable field that is not secret.
    const DESCRIBED_BY: Option<&'static str> = None;

    /// Field with the version.
    const VERSION: Option<&'static str> = None;

    /// Fields that callers write but never receive in a result.
    const WRITE_ONLY: &'static [&'static str] = &[];

    /// Fields with identifiers of other records.
    const REFERENCES: &'static [Reference] = &[];

    /// Returns the identifier.
    fn id(&self) -> &Self::Id;

    /// Compares the version with the caller's expectation.
    ///
    /// # Errors
    ///
    /// Returns `CONFLICT_VERSION_MISMATCH` if they differ.
    fn check_version(&self, expected: &Self::IfMatch) -> Result<(), OperationError>;

    /// Updates the version of a changed record.
    fn advance_version(&mut self);
}

/// A type of an identifier. Its [`Display`] output equals its JSON form without quotation marks.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot identify a resource with ready operations",
    note = "an identifier implements `Clone`, `Ord`, `Display`, `Deserialize` and `JsonSchema`"
)]
pub trait RecordId: ParameterType + Clone + Ord + Display + Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: ParameterType + Clone + Ord + Display + Send + Sync + 'static> RecordId for T {}

/// Returns the error for a store whose rule or operation has changed the identifier of a record.
pub(crate) fn changed_identifier() -> OperationError {
    OperationError::internal("an update must not change the identifier of the record")
}
