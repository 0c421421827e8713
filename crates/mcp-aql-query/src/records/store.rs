//! The stores of records.

use std::future::Future;

use mcp_aql_core::{Context, OperationError, Page};
use schemars::JsonSchema;
use serde::Serialize;

use super::reference::query_of;
use super::references::Lookup;
use super::{Record, RowFilter, StoreCall};
use crate::collection::CollectionQuery;
use crate::resource::Resource as _;
use crate::single::{Fields, SelectedFields};

/// A store of records, which ready operations use.
///
/// Each method is atomic. A store calls `make`, `change` or `check` before it writes, and `after` when it has written,
/// while no other call can change the record. Nothing changes if one of them fails. They are called at most once, and
/// must not use the store.
///
/// `call` has the context of the call, the [rows](StoreCall::rows) that exist for its caller, and the references to other
/// stores that it has to check.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a store of a resource",
    label = "not a store",
    note = "pass a store such as `MemoryRecords::<Order>::new()`, or implement `ResourceStore` for `{Self}`"
)]
pub trait ResourceStore: Send + Sync + 'static {
    /// The resource.
    type Resource: Record;

    /// The type of the rows in replies, which looks like the resource to callers. It is the resource itself, unless the
    /// store loads the selected fields only, or shows values that the resource cannot have.
    type Row: Serialize + JsonSchema + Send;

    /// Returns the faults of the store, which the adapter reports when it is built.
    fn problems(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the fields that the store computes, so that no call can set them.
    fn computed_fields(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the rows that exist for a caller. [Rules](super::ResourceRules) restrict them.
    fn rows(&self, context: &Context) -> RowFilter<Self::Resource> {
        let _ = context;
        RowFilter::all()
    }

    /// Returns the statement that finds a record, for a store in a database.
    #[doc(hidden)]
    fn lookup(
        &self,
        call: &StoreCall<'_, Self::Resource>,
        id: &<Self::Resource as Record>::Id,
    ) -> Result<Option<Lookup>, OperationError> {
        let _ = (call, id);
        Ok(None)
    }

    /// Adds a record and returns it. `make` makes it for a new identifier.
    ///
    /// # Errors
    /// The error of `make` or `after`, or one of the store.
    fn insert(
        &self,
        call: &StoreCall<'_, Self::Resource>,
        make: impl FnOnce(<Self::Resource as Record>::Id) -> Result<Self::Resource, OperationError>
        + Send,
        after: impl FnOnce(&Self::Resource) -> Result<(), OperationError> + Send,
    ) -> impl Future<Output = Result<Self::Row, OperationError>> + Send;

    /// Returns a record, if it exists.
    ///
    /// # Errors
    /// An error of the store.
    fn get(
        &self,
        call: &StoreCall<'_, Self::Resource>,
        id: &<Self::Resource as Record>::Id,
    ) -> impl Future<Output = Result<Option<Self::Resource>, OperationError>> + Send;

    /// Returns the selected fields of a record, if it exists. By default, it is the only row of a query.
    ///
    /// # Errors
    /// An error of the store.
    fn get_fields(
        &self,
        call: &StoreCall<'_, Self::Resource>,
        id: &<Self::Resource as Record>::Id,
        fields: &Fields<Self::Resource>,
    ) -> impl Future<Output = Result<Option<SelectedFields<Self::Row>>, OperationError>> + Send
    {
        let query = query_of(id, fields);
        async move { Ok(SelectedFields::only_row(self.select(call, &query?).await?)) }
    }

    /// Returns whether a record exists.
    ///
    /// # Errors
    /// An error of the store.
    fn exists(
        &self,
        call: &StoreCall<'_, Self::Resource>,
        id: &<Self::Resource as Record>::Id,
    ) -> impl Future<Output = Result<bool, OperationError>> + Send {
        async move { Ok(self.get(call, id).await?.is_some()) }
    }

    /// Answers a query.
    ///
    /// # Errors
    /// An error of the query or of the store.
    fn select(
        &self,
        call: &StoreCall<'_, Self::Resource>,
        query: &CollectionQuery<Self::Resource>,
    ) -> impl Future<Output = Result<Page<Self::Row>, OperationError>> + Send;

    /// Changes a record and returns it, if it exists.
    ///
    /// # Errors
    /// The error of `change` or `after`, or one of the store.
    fn update(
        &self,
        call: &StoreCall<'_, Self::Resource>,
        id: &<Self::Resource as Record>::Id,
        change: impl FnOnce(&mut Self::Resource) -> Result<(), OperationError> + Send,
        after: impl FnOnce(&Self::Resource) -> Result<(), OperationError> + Send,
    ) -> impl Future<Output = Result<Option<Self::Row>, OperationError>> + Send;

    /// Returns a record that a caller wants to delete, if it exists, and refuses the deletion for the reasons of
    /// [`delete`](Self::delete). It is called before a confirmation is requested.
    ///
    /// # Errors
    /// The reason why the record must stay, or an error of the store.
    fn before_delete(
        &self,
        call: &StoreCall<'_, Self::Resource>,
        id: &<Self::Resource as Record>::Id,
    ) -> impl Future<Output = Result<Option<Self::Resource>, OperationError>> + Send {
        self.get(call, id)
    }

    /// Returns how a question describes a record to a person, after its identifier: `Ada, 3 items`. By default, it is
    /// the first field that can be searched and is not marked `sensitive`.
    fn describe(&self, record: &Self::Resource) -> Option<String> {
        let name = Self::Resource::DESCRIBED_BY?;
        let mut fields = Self::Resource::model().own_fields();
        let (_, column) = fields.find(|(info, _)| info.path == name)?;
        let mut text = String::new();
        column.texts(record, &mut |part| text.push_str(part));
        Some(text).filter(|text| !text.is_empty())
    }

    /// Deletes a record and returns it, if it exists.
    ///
    /// # Errors
    /// The error of `check` or `after`, or one of the store.
    fn delete(
        &self,
        call: &StoreCall<'_, Self::Resource>,
        id: &<Self::Resource as Record>::Id,
        check: impl FnOnce(&Self::Resource) -> Result<(), OperationError> + Send,
        after: impl FnOnce(&Self::Resource) -> Result<(), OperationError> + Send,
    ) -> impl Future<Output = Result<Option<Self::Row>, OperationError>> + Send;
}
