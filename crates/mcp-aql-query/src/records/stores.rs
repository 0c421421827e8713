//! Adds the ready operations of stores to an adapter.

use std::marker::PhantomData;
use std::sync::Arc;

use mcp_aql_core::AdapterBuilder;
use mcp_aql_core::internal::operation::{OperationSpec, ParameterEntry};
use mcp_aql_protocol::SemanticCategory;

use super::ready::{Ready, ReadyOperations};
use super::reference::{Reference, reference_problems};
use super::references::{ReferenceTarget, ReferenceTargets};
use super::relationships::{RecordGraph, StoreTypes, StoredRecords};
use super::{Record, ResourceStore};
use crate::value::ValueKind;

/// Adds ready operations to an adapter.
pub trait WithResources {
    /// Adds the ready operations of the resource in a store: the ones in `#[resource(operations)]` above the
    /// resource, and `query_relationships` if the resource has fields marked `references`.
    ///
    /// To replace a ready operation, add your own operation with the same name.
    #[must_use]
    fn resource<S: ResourceStore>(self, store: S) -> Self
    where
        S::Resource: ReadyOperations<S>;

    /// Adds the ready operations of the resources in up to sixteen stores. `query_relationships` follows the
    /// references between all of them.
    ///
    /// ```
    /// use mcp_aql::prelude::*;
    /// use mcp_aql::resource::MemoryRecords;
    /// use serde::{Deserialize, Serialize};
    /// use serde_json::json;
    ///
    /// /// A customer.
    /// #[derive(Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput)]
    /// #[resource(operations(create, get))]
    /// struct Customer {
    ///     /// Number of the customer.
    ///     #[resource(id)]
    ///     customer_id: u32,
    ///     /// Name of the customer.
    ///     name: String,
    /// }
    ///
    /// /// An order.
    /// #[derive(Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput)]
    /// #[resource(operations(create, get))]
    /// struct Order {
    ///     /// Number of the order.
    ///     #[resource(id)]
    ///     order_id: u32,
    ///     /// Customer who ordered.
    ///     #[resource(references = "customer")]
    ///     customer_id: u32,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> mcp_aql::Result<()> {
    /// let customers = MemoryRecords::<Customer>::new();
    /// let orders = MemoryRecords::<Order>::new();
    /// let adapter = Adapter::builder("shop").resources((customers, orders)).build()?;
    /// adapter.call("create_customer", json!({ "name": "Ada" })).await;
    /// adapter.call("create_order", json!({ "customer_id": 1 })).await;
    /// let params = json!({
    ///     "root": { "element_type": "customer", "element_name": "1" },
    ///     "direction": "incoming",
    ///     "relationship": "customer",
    /// });
    /// let found = adapter.call("query_relationships", params).await;
    /// assert_eq!(found.data()["relationships"][0]["target"]["element_type"], "order");
    /// # Ok(()) }
    /// ```
    #[must_use]
    fn resources<T: ResourceStores>(self, stores: T) -> Self;
}

impl WithResources for AdapterBuilder {
    fn resource<S: ResourceStore>(self, store: S) -> Self
    where
        S::Resource: ReadyOperations<S>,
    {
        self.resources((store,))
    }

    fn resources<T: ResourceStores>(self, stores: T) -> Self {
        let (builder, stores) = stores.add_to(self);
        if T::references().is_empty() {
            return builder;
        }
        let graph = RecordGraph::<T> { stores, types: PhantomData };
        builder.ready_operations(Arc::new(graph), RecordGraph::<T>::OPERATIONS)
    }
}

/// A tuple of up to sixteen stores, for [`WithResources::resources`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tuple of stores",
    label = "not a tuple of stores",
    note = "write up to sixteen stores in parentheses, `(customers, orders)`; each is a store of a type with `#[resource(operations)]`"
)]
pub trait ResourceStores: StoreTypes {
    /// Adds the ready operations of each store.
    #[doc(hidden)]
    fn add_to(self, builder: AdapterBuilder) -> (AdapterBuilder, Vec<Arc<dyn StoredRecords>>);
}

/// Returns the kind and the name of an example element.
fn example_element<R: Record>() -> (String, String) {
    let singular = R::NAMES.singular;
    let schema = R::model().schema();
    let id = schema.index_of(R::ID.name).and_then(|place| schema.field(place));
    let name = match id.map(|id| id.kind) {
        Some(ValueKind::Integer) => "1".to_owned(),
        _ => format!("{singular}-1"),
    };
    (singular.to_owned(), name)
}

/// Returns the problems of operations that set fields computed by their store.
fn settable_fields<'a>(
    computed: &[String],
    operations: impl Iterator<Item = &'a OperationSpec>,
) -> Vec<String> {
    let mut problems = Vec::new();
    for operation in operations {
        for field in computed {
            let is_set = operation.parameters.iter().any(|parameters| match parameters {
                ParameterEntry::Group(group) => {
                    operation.category == SemanticCategory::Create
                        && group.iter().any(|parameter| parameter.name == field)
                }
                ParameterEntry::Input(input) => input.field(field).is_some(),
                _ => false,
            });
            if is_set {
                problems.push(format!(
                    "'{}' sets '{field}', which is an expression of its table: write `#[resource(read_only)]` and \
                     `#[create_input(value = …)]` above the field",
                    operation.name
                ));
            }
        }
    }
    problems
}

macro_rules! tuple_of_stores {
    ($($store:ident),+) => {
        impl<$($store: ResourceStore),+> StoreTypes for ($($store,)+) {
            fn references() -> Vec<Reference> {
                [$($store::Resource::REFERENCES),+].concat()
            }

            fn example_element() -> (String, String) {
                [$(example_element::<$store::Resource>),+][0]()
            }
        }

        impl<$($store: ResourceStore<Resource: ReadyOperations<$store>>),+> ResourceStores
            for ($($store,)+)
        {
            fn add_to(
                self,
                mut builder: AdapterBuilder,
            ) -> (AdapterBuilder, Vec<Arc<dyn StoredRecords>>) {
                // All stores of the adapter, including those added by other calls of this method.
                let targets = builder.state_of_part::<ReferenceTargets>();
                #[expect(non_snake_case, reason = "a variable has the name of its type")]
                let ($($store,)+) = self;
                let mut stores: Vec<Arc<dyn StoredRecords>> = Vec::new();
                $(
                    let problems = $store.problems().into_iter().chain(settable_fields(
                        &$store.computed_fields(),
                        $store::Resource::OPERATIONS.iter().map(|entry| &entry.spec),
                    ));
                    let problems = problems.chain(reference_problems::<$store::Resource>());
                    builder = problems.fold(builder, AdapterBuilder::problem);
                    let ready = Arc::new(Ready { store: $store, targets: targets.clone() });
                    builder =
                        builder.ready_operations(Arc::clone(&ready), $store::Resource::OPERATIONS);
                    let target: Arc<dyn ReferenceTarget> = Arc::clone(&ready) as _;
                    targets.add(&target);
                    stores.push(ready);
                )+
                (builder, stores)
            }
        }
    };
}

tuple_of_stores!(A);
tuple_of_stores!(A, B);
tuple_of_stores!(A, B, C);
tuple_of_stores!(A, B, C, D);
tuple_of_stores!(A, B, C, D, E);
tuple_of_stores!(A, B, C, D, E, F);
tuple_of_stores!(A, B, C, D, E, F, G);
tuple_of_stores!(A, B, C, D, E, F, G, H);
tuple_of_stores!(A, B, C, D, E, F, G, H, I);
tuple_of_stores!(A, B, C, D, E, F, G, H, I, J);
tuple_of_stores!(A, B, C, D, E, F, G, H, I, J, K);
tuple_of_stores!(A, B, C, D, E, F, G, H, I, J, K, L);
tuple_of_stores!(A, B, C, D, E, F, G, H, I, J, K, L, M);
tuple_of_stores!(A, B, C, D, E, F, G, H, I, J, K, L, M, N);
tuple_of_stores!(A, B, C, D, E, F, G, H, I, J, K, L, M, N, O);
tuple_of_stores!(A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P);
