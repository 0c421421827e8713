//! The author's rules for the ready operations of a resource.

use std::fmt;
use std::sync::OnceLock;

use mcp_aql_core::{Context, OperationError, Page};

use super::references::Lookup;
use super::{Record, ResourceStore, RowFilter, StoreCall};
use crate::collection::CollectionQuery;
use crate::single::{Fields, SelectedFields};

/// Your own rules for a resource. Implement the methods you need: by default, each allows everything.
///
/// The methods run inside the store's transaction: `before_…` before the record is written, and `after_…`
/// when it is written. If one of them returns an error, nothing changes. Other calls cannot change the record
/// in the meantime.
///
/// The methods are not async, so that they cannot delay the store, and they must not use the store. Use
/// `SqlStore::with_statements` to add statements to the transaction.
///
/// Another program may have stored a value that the type of its field does not allow. The rules are not
/// called for a change of such a record: the caller must first correct the value, with an update that sets
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
///     /// Ordered article.
///     article: String,
///     /// `true` if the order was shipped.
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
///     "The 'order' is in state 'sent'. This state does not allow the operation. Possible: 'return_order'"
/// );
/// # Ok(()) }
/// ```
pub trait ResourceRules: Send + Sync + 'static {
    /// The resource.
    type Resource: Record;

    /// Returns the rows that exist for the caller. By default, all rows exist.
    ///
    /// Other rows cannot be read, changed, counted or aggregated. A call with the identifier of such a row
    /// returns the error for a missing one.
    fn visible(&self, context: &Context) -> RowFilter<Self::Resource> {
        let _ = context;
        RowFilter::all()
    }

    /// Completes or rejects a new record.
    ///
    /// # Errors
    ///
    /// Returns the reason if the record is rejected.
    fn before_create(
        &self,
        context: &Context,
        new: &mut Self::Resource,
    ) -> Result<(), OperationError> {
        let _ = (context, new);
        Ok(())
    }

    /// Completes or rejects a change. `new` already contains the change.
    ///
    /// # Errors
    ///
    /// Returns the reason if the change is rejected.
    fn before_update(
        &self,
        context: &Context,
        old: &Self::Resource,
        new: &mut Self::Resource,
    ) -> Result<(), OperationError> {
        let _ = (context, old, new);
        Ok(())
    }

    /// Describes a record to a person who confirms its deletion. The result follows the identifier in the
    /// question, for example `Ada, 3 items`.
    ///
    /// `None` selects the description of the store: the first searchable field.
    fn describe(&self, record: &Self::Resource) -> Option<String> {
        let _ = record;
        None
    }

    /// Runs after a record was created, in the same transaction.
    ///
    /// # Errors
    ///
    /// Returns the reason if the record must not be created.
    fn after_create(&self, context: &Context, new: &Self::Resource) -> Result<(), OperationError> {
        let _ = (context, new);
        Ok(())
    }

    /// Runs after a record was changed, in the same transaction.
    ///
    /// # Errors
    ///
    /// Returns the reason if the change must not be made.
    fn after_update(
        &self,
        context: &Context,
        old: &Self::Resource,
        new: &Self::Resource,
    ) -> Result<(), OperationError> {
        let _ = (context, old, new);
        Ok(())
    }

    /// Runs after a record was deleted, in the same transaction.
    ///
    /// # Errors
    ///
    /// Returns the reason if the record must not be deleted.
    fn after_delete(&self, context: &Context, old: &Self::Resource) -> Result<(), OperationError> {
        let _ = (context, old);
        Ok(())
    }

    /// Rejects a deletion. It is also called before a person is asked to confirm the deletion.
    ///
    /// # Errors
    ///
    /// Returns the reason if the deletion is rejected.
    fn before_delete(&self, context: &Context, old: &Self::Resource) -> Result<(), OperationError> {
        let _ = (context, old);
        Ok(())
    }
}

/// Adds rules to a store. It is implemented for every store.
pub trait WithRules: ResourceStore + Sized {
    /// Adds rules to all calls of the store.
    fn with_rules<H: ResourceRules<Resource = Self::Resource>>(
        self,
        rules: H,
    ) -> RuledStore<Self, H> {
        RuledStore { store: self, rules }
    }
}

#[diagnostic::do_not_recommend]
impl<S: ResourceStore> WithRules for S {}

/// A store with rules, created by [`WithRules::with_rules`].
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
    /// Returns the call with the rows that the rules allow. The rules decide on its changes.
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
