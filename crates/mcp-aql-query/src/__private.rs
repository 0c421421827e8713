//! Items for generated code. They are not part of the public API.

pub use crate::records::{
    NoVersion, OperationName, Ready, ReadyOperations, Record, RecordNames, Reference,
    ResourceStore, Version, ready,
};
pub use crate::resource::{ComputedFields, IdentifiedResource, Resource};
pub use crate::{
    DefaultSort, FieldPreset, FieldSpec, Model, QueryControl, QueryEntry, QueryOptions,
    RelationshipType, ResourceSpec, TextSearch,
};
pub use mcp_aql_core::__private::*;

/// Items that the derived table of a resource uses.
pub mod column {
    pub use crate::columns::*;
    pub use crate::document::{DocumentProbe, NoDocument};
    pub use crate::nested::NestedAccess;
    pub use crate::probe::{
        ComputedProbe, Fallback, NoComputed, NoOrder, OrderProbe, Probe, is_ordered,
    };
}

/// Fails the build if a computed field has the same name as a stored one.
#[track_caller]
pub const fn check_computed<T: crate::ComputedFields>(name: &str, message: &str) {
    assert!(!T::RESOURCE.has_field(name), "{}", message);
}

/// Fails the build with `message` if a field's type does not support one of its `#[resource(…)]` options.
#[track_caller]
pub const fn check_mark(fits: bool, message: &str) {
    assert!(fits, "{}", message);
}
