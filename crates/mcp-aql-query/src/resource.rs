//! The traits of resources.

use schemars::JsonSchema;

use super::model::Model;
use super::resource_spec::{FieldSpec, ResourceSpec};

/// A type whose values can be listed, searched, filtered, sorted, projected and aggregated.
///
/// Do not implement it yourself: use `#[derive(Resource)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a resource",
    label = "not a resource",
    note = "write `#[derive(Resource)]` above the type and mark its fields with `#[resource(…)]`"
)]
pub trait Resource: JsonSchema + Send + Sync + Sized + 'static {
    /// The fields and their query capabilities.
    const RESOURCE: ResourceSpec<Self>;

    /// Returns the prepared table. It is built once.
    fn model() -> &'static Model<Self>;
}

/// A resource with an identifying field. Stable orders and cursors require one.
///
/// The derive implements it if a field is marked `#[resource(id)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no identifier",
    label = "has no identifier",
    note = "derive `Resource` on `{Self}`, with `#[resource(id)]` above a field with unique values"
)]
pub trait IdentifiedResource: Resource {}

/// Computed fields of a resource, implemented by `#[computed_fields]` above an impl block.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no computed fields",
    note = "write `#[computed_fields]` above an impl block whose methods carry `#[computed]`"
)]
pub trait ComputedFields: Resource {
    /// The computed fields, in the order of the methods.
    const COMPUTED: &'static [FieldSpec<Self>];
}
