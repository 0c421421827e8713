//! Rules that the ready operations of a resource keep to.

use std::fmt;
use std::sync::OnceLock;

use mcp_aql_core::{Context, OperationError, Page};

use super::references::Lookup;
use super::{Record, ResourceStore, RowFilter, StoreCall};
use crate::collection::CollectionQuery;
use crate::single::{Fields, SelectedFields};

/// Rules of your own for a resource. Every method has a default, which allows everything.
///
/// The functions run inside the store's transaction: those called `before_…` before the record is written, those
/// called `after_…` when it is. Nothing changes if one of them returns an error, and no other call can change the record
/// meanwhile. They cannot wait, so that they cannot hold up the store, and they must not use the store.
/// `SqlStore::with_statements` adds statements to the transaction.
///
/// A record of a database may have a value that the type of its field does not allow, because another program has stored
/// it. Before the rules may decide on a change of such a record, the value must be corrected, with an update that sets
/// nothing else.
///
/// ```
/// use mcp_aql::prelude::*;
/// use mcp_aql::resource::{MemoryRecords, ResourceRules};
/// use serde::{Deserialize, Serialize};
/// use serde_json::json;
///
/// /// An order.
/// #[derive(Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
/// #[resource(operations)]
/// struct Order {
///     /// Number of the order.
///     #[resource(id)]
///     order_id: u32,
///     /// What is ordered.
///     article: String,
///     /// Whether the order has left the house.
///     #[resource(read_only, filter)]
///     #[create_input(value = false)]
///     sent: bool,
/// }
///
/// struct OrderRules;
///
/// impl ResourceRules for OrderRules {
///     type Resource = Order;
///
///     fn before_update(
///         &self,
///         _context: &Context,
///         old: &Order,
///         _new: &mut Order,
///     ) -> Result<(), OperationError> {
///         if old.sent {
///             return Err(OperationError::wrong_state("order", "sent", ["return_order"]));
///         }
///         Ok(())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> mcp_aql::Result<()> {
/// let orders = MemoryRecords::from_iter([Order { order_id: 1, article: "Tea".into(), sent: true }]);
/// let adapter = Adapter::builder("shop").resource(orders.with_rules(OrderRules)).build()?;
/// let change = json!({ "order_id": 1, "input": { "article": "Coffee" } });
/// let refused = adapter.call("update_order", change).await;
/// assert_eq!(
///     refused.error().unwrap().message,
///     "The 'order' is in state 'sent', which does not allow this. Possible: 'return_order'"
/// );
/// # Ok(()) }
/// ```
pub trait ResourceRules: Send + Sync + 'static {
    /// The resource.
    type Resource: Record;

    /// Returns the rows that exist for the caller. Others cannot be read, changed, counted or aggregated, and a call
    /// that names one is answered as if it did not exist. The default is all rows.
    fn visible(&self, context: &Context) -> RowFilter<Self::Resource> {
        let _ = context;
        RowFilter::all()
    }

    /// Completes or refuses a new record.
    ///
    /// # Errors
    /// The reason why the record is refused.
    fn before_create(
        &self,
        context: &Context,
        new: &mut Self::Resource,
    ) -> Result<(), OperationError> {
        let _ = (context, new);
        Ok(())
    }

    /// Completes or refuses a change. `new` has the changes already.
    ///
    /// # Errors
    /// The reason why the change is refused.
    fn before_update(
        &self,
        context: &Context,
        old: &Self::Resource,
        new: &mut Self::Resource,
    ) -> Result<(), OperationError> {
        let _ = (context, old, new);
        Ok(())
    }

    /// Returns how a question describes a record to a person, after its identifier: `Ada, 3 items`. `None` leaves it
    /// to the store, which uses the first field that can be searched.
    fn describe(&self, record: &Self::Resource) -> Option<String> {
        let _ = record;
        None
    }

    /// Does what belongs to a new record.
    ///
    /// # Errors
    /// The reason why nothing changes.
    fn after_create(&self, context: &Context, new: &Self::Resource) -> Result<(), OperationError> {
        let _ = (context, new);
        Ok(())
    }

    /// Does what belongs to a change.
    ///
    /// # Errors
    /// The reason why nothing changes.
    fn after_update(
        &self,
        context: &Context,
        old: &Self::Resource,
        new: &Self::Resource,
    ) -> Result<(), OperationError> {
        let _ = (context, old, new);
        Ok(())
    }

    /// Does what belongs to a deletion.
    ///
    /// # Errors
    /// The reason why nothing changes.
    fn after_delete(&self, context: &Context, old: &Self::Resource) -> Result<(), OperationError> {
        let _ = (context, old);
        Ok(())
    }

    /// Refuses a deletion. It is also called before a confirmation is requested.
    ///
    /// # Errors
    /// The reason why the deletion is refused.
    fn before_delete(&self, context: &Context, old: &Self::Resource) -> Result<(), OperationError> {
        let _ = (context, old);
        Ok(())
    }
}

/// Adds rules to a store.
pub trait WithRules: ResourceStore + Sized {
    /// Adds rules, which every call of the store keeps to.
    fn with_rules<H: ResourceRules<Resource = Self::Resource>>(
        self,
        rules: H,
    ) -> RuledStore<Self, H> {
        RuledStore { store: self, rules }
    }
}

#[diagnostic::do_not_recommend]
impl<S: ResourceStore> WithRules for S {}

/// A store whose calls keep to rules: [`WithRules::with_rules`].
#[derive(Clone)]
pub struct RuledStore<S, H> {
    store: S,
    rules: H,
}

impl<S, H> fmt::Debug for RuledStore<S, H> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RuledStore").finish_non_exhaustive()
    }
}

impl<S, H> RuledStore<S, H>
where
    S: ResourceStore,
    H: ResourceRules<Resource = S::Resource>,
{
    /// The call with the rows that the rules leave, whose changes they decide on.
    fn restricted<'a>(&self, call: &StoreCall<'a, S::Resource>) -> StoreCall<'a, S::Resource> {
        call.restricted(self.rules.visible(call.context())).ruled()
    }
}

impl<S, H> ResourceStore for RuledStore<S, H>
where
    S: ResourceStore,
    H: ResourceRules<Resource = S::Resource>,
{
    type Resource = S::Resource;
    type Row = S::Row;

    fn problems(&self) -> Vec<String> {
        self.store.problems()
    }

    fn computed_fields(&self) -> Vec<String> {
        self.store.computed_fields()
    }

    fn rows(&self, context: &Context) -> RowFilter<S::Resource> {
        self.store.rows(context).and(self.rules.visible(context))
    }

    fn lookup(
        &self,
        call: &StoreCall<'_, S::Resource>,
        id: &<S::Resource as Record>::Id,
    ) -> Result<Option<Lookup>, OperationError> {
        self.store.lookup(&self.restricted(call), id)
    }

    async fn insert(
        &self,
        call: &StoreCall<'_, S::Resource>,
        make: impl FnOnce(<S::Resource as Record>::Id) -> Result<S::Resource, OperationError> + Send,
        after: impl FnOnce(&S::Resource) -> Result<(), OperationError> + Send,
    ) -> Result<S::Row, OperationError> {
        let (call, context) = (self.restricted(call), call.context());
        let ruled = |id| {
            let mut record = make(id)?;
            self.rules.before_create(context, &mut record)?;
            Ok(record)
        };
        let finish = |record: &S::Resource| {
            self.rules.after_create(context, record)?;
            after(record)
        };
        self.store.insert(&call, ruled, finish).await
    }

    async fn get(
        &self,
        call: &StoreCall<'_, S::Resource>,
        id: &<S::Resource as Record>::Id,
    ) -> Result<Option<S::Resource>, OperationError> {
        self.store.get(&self.restricted(call), id).await
    }

    async fn get_fields(
        &self,
        call: &StoreCall<'_, S::Resource>,
        id: &<S::Resource as Record>::Id,
        fields: &Fields<S::Resource>,
    ) -> Result<Option<SelectedFields<S::Row>>, OperationError> {
        self.store.get_fields(&self.restricted(call), id, fields).await
    }

    async fn exists(
        &self,
        call: &StoreCall<'_, S::Resource>,
        id: &<S::Resource as Record>::Id,
    ) -> Result<bool, OperationError> {
        self.store.exists(&self.restricted(call), id).await
    }

    async fn select(
        &self,
        call: &StoreCall<'_, S::Resource>,
        query: &CollectionQuery<S::Resource>,
    ) -> Result<Page<S::Row>, OperationError> {
        self.store.select(&self.restricted(call), query).await
    }

    async fn update(
        &self,
        call: &StoreCall<'_, S::Resource>,
        id: &<S::Resource as Record>::Id,
        change: impl FnOnce(&mut S::Resource) -> Result<(), OperationError> + Send,
        after: impl FnOnce(&S::Resource) -> Result<(), OperationError> + Send,
    ) -> Result<Option<S::Row>, OperationError> {
        let (call, context) = (self.restricted(call), call.context());
        let before = OnceLock::new();
        let ruled = |record: &mut S::Resource| {
            let old = before.get_or_init(|| record.clone());
            change(record)?;
            self.rules.before_update(context, old, record)
        };
        let finish = |record: &S::Resource| {
            if let Some(old) = before.get() {
                self.rules.after_update(context, old, record)?;
            }
            after(record)
        };
        self.store.update(&call, id, ruled, finish).await
    }

    async fn before_delete(
        &self,
        call: &StoreCall<'_, S::Resource>,
        id: &<S::Resource as Record>::Id,
    ) -> Result<Option<S::Resource>, OperationError> {
        let record = self.store.before_delete(&self.restricted(call), id).await?;
        if let Some(record) = &record {
            self.rules.before_delete(call.context(), record)?;
        }
        Ok(record)
    }

    fn describe(&self, record: &S::Resource) -> Option<String> {
        self.rules.describe(record).or_else(|| self.store.describe(record))
    }

    async fn delete(
        &self,
        call: &StoreCall<'_, S::Resource>,
        id: &<S::Resource as Record>::Id,
        check: impl FnOnce(&S::Resource) -> Result<(), OperationError> + Send,
        after: impl FnOnce(&S::Resource) -> Result<(), OperationError> + Send,
    ) -> Result<Option<S::Row>, OperationError> {
        let (call, context) = (self.restricted(call), call.context());
        let ruled = |record: &S::Resource| {
            check(record)?;
            self.rules.before_delete(context, record)
        };
        let finish = |record: &S::Resource| {
            self.rules.after_delete(context, record)?;
            after(record)
        };
        self.store.delete(&call, id, ruled, finish).await
    }
}
