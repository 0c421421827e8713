//! The trait of record stores.

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

/// A store of records for ready operations.
///
/// You rarely need to implement it: use [`MemoryRecords`](super::MemoryRecords), or `SqlStore` for a database.
///
/// Each method is atomic. Call `make`, `change` or `check` before you write, and `after` when you have
/// written, at most once each. No other call may change the record in between, and nothing may change if one
/// of these functions returns an error. The functions do not use the store.
///
/// `call` contains the context of the call, the [rows](StoreCall::rows) that exist for its caller, and the
/// references to other stores that you must check.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a store of a resource",
    label = "not a store",
    note = "pass a store such as `MemoryRecords::<Order>::new()`, or implement `ResourceStore` for `{Self}`"
)]
pub trait ResourceStore: Send + Sync + 'static {
    /// The resource.
    type Resource: Record;

    /// Type of the rows in replies. Its JSON schema is that of the resource.
    ///
    /// Usually the resource itself. A store needs another type if it only loads the selected fields, or
    /// returns stored values that the resource's type cannot hold.
    type Row: Serialize + JsonSchema + Send;

    /// Returns configuration problems of the store. They are reported when the adapter is built.
    fn problems(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the fields that the store computes. No call can set them.
    fn computed_fields(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the rows that exist for a caller. [Rules](super::ResourceRules) restrict them further.
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

    /// Adds a record and returns it. `make` creates the record for a new identifier.
    ///
    /// # Errors
    ///
    /// Returns the error of `make` or `after`, or an error of the store.
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
    ///
    /// Returns an error if the store fails.
    fn get(
        &self,
        call: &StoreCall<'_, Self::Resource>,
        id: &<Self::Resource as Record>::Id,
    ) -> impl Future<Output = Result<Option<Self::Resource>, OperationError>> + Send;

    /// Returns the selected fields of a record, if it exists. By default, this is a query with one row.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
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

    /// Returns `true` if a record exists.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
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
    ///
    /// Returns an error of the query or of the store.
    fn select(
        &self,
        call: &StoreCall<'_, Self::Resource>,
        query: &CollectionQuery<Self::Resource>,
    ) -> impl Future<Output = Result<Page<Self::Row>, OperationError>> + Send;

    /// Changes a record and returns it, if it exists.
    ///
    /// # Errors
    ///
    /// Returns the error of `change` or `after`, or an error of the store.
    fn update(
        &self,
        call: &StoreCall<'_, Self::Resource>,
        id: &<Self::Resource as Record>::Id,
        change: impl FnOnce(&mut Self::Resource) -> Result<(), OperationError> + Send,
        after: impl FnOnce(&Self::Resource) -> Result<(), OperationError> + Send,
    ) -> impl Future<Output = Result<Option<Self::Row>, OperationError>> + Send;

    /// Returns the record to delete, if it exists. It is called before a person is asked to confirm the
    /// deletion.
    ///
    /// Reject the deletion for the same reasons as [`delete`](Self::delete), so that a person is not asked about a
    /// deletion that fails.
    ///
    /// # Errors
    ///
    /// Returns the reason if the record must not be deleted, or an error of the store.
    fn before_delete(
        &self,
        call: &StoreCall<'_, Self::Resource>,
        id: &<Self::Resource as Record>::Id,
    ) -> impl Future<Output = Result<Option<Self::Resource>, OperationError>> + Send {
        self.get(call, id)
    }

    /// Describes a record to a person who confirms its deletion. The result follows the identifier in the
    /// question, for example `Ada, 3 items`.
    ///
    /// By default, it is the first searchable field that is not marked `sensitive`.
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
    ///
    /// Returns the error of `check` or `after`, or an error of the store.
    fn delete(
        &self,
        call: &StoreCall<'_, Self::Resource>,
        id: &<Self::Resource as Record>::Id,
        check: impl FnOnce(&Self::Resource) -> Result<(), OperationError> + Send,
        after: impl FnOnce(&Self::Resource) -> Result<(), OperationError> + Send,
    ) -> impl Future<Output = Result<Option<Self::Row>, OperationError>> + Send;
}
