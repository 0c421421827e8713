//! A store in a database.

use std::fmt;
use std::sync::Arc;

use mcp_aql_core::internal::vocab::new_uuid;
use mcp_aql_core::{Context, OperationError, Page};
use serde::de::DeserializeOwned;

use super::database::{AccessMode, Database, Transaction};
use super::database_error::DatabaseError;
use super::new_numbers::first_number;
use super::record_change::{FurtherStatements, RecordChange};
use super::refusal::Refusal;
use super::{SqlRecord, SqlTable, Statement};
use crate::collection::CollectionQuery;
use crate::records::{
    Lookup, NewId, Record, ResourceStore, StoreCall, changed_identifier, no_more_ids, query_of,
};
use crate::single::{Fields, SelectedFields};

/// Records in a table of SQLite or PostgreSQL.
///
/// Queries run in the database; see [`SqlTable`] for the parts of a query that run in memory. A change is one
/// transaction. It reads the record, calls your rules and the version check, and writes the changed columns.
/// Fields that serde skips are not stored.
///
/// The identifier of a new record depends on its type:
///
/// | identifier | PostgreSQL | SQLite |
/// |---|---|---|
/// | a number | from the sequence of its column (`bigserial`, `GENERATED … AS IDENTITY`) | after the highest number |
/// | a `String` | random; a UUID if the [type of the column](SqlTable::column_type) is `uuid` | random |
///
/// SQLite may assign the number of a deleted record again, unless the column has `AUTOINCREMENT`.
pub struct SqlStore<R: 'static, D> {
    pub(super) table: Arc<SqlTable<R>>,
    pub(super) database: D,
    further: Option<Arc<FurtherStatements<R>>>,
}

impl<R: Record + DeserializeOwned, D> SqlStore<R, D> {
    /// Creates a store of the records in a table. The parts of a query without SQL, such as computed fields,
    /// run in memory.
    pub fn new(table: SqlTable<R>, database: D) -> Self {
        Self { table: Arc::new(table.in_memory_fallback()), database, further: None }
    }

    /// Runs additional statements after each change, in the same transaction. Use it for example to write a
    /// history. If `further` or a statement fails, nothing changes.
    ///
    /// In PostgreSQL, `Int` is sent as `bigint`, `Float` as `double precision` and `Null` as `text`. Write a
    /// conversion for a column of another type: `CAST($1 AS integer)`.
    ///
    /// ```
    /// use mcp_aql::prelude::*;
    /// use mcp_aql::query::sql::{Dialect, SqlTable, SqlValue, Statement};
    /// use mcp_aql::resource::{Database, RecordChange, SqlStore};
    /// use serde::{Deserialize, Serialize};
    ///
    /// /// An order.
    /// #[derive(Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput)]
    /// #[resource(operations(create, get, delete))]
    /// struct Order {
    ///     /// Number of the order.
    ///     #[resource(id)]
    ///     order_id: u32,
    /// }
    ///
    /// fn orders<D: Database>(database: D) -> SqlStore<Order, D> {
    ///     let table = SqlTable::<Order>::new(Dialect::Sqlite, "orders");
    ///     SqlStore::new(table, database).with_statements(|_context, change| {
    ///         let (event, order) = match change {
    ///             RecordChange::Created(order) => ("created", order),
    ///             RecordChange::Updated { new, .. } => ("updated", new),
    ///             RecordChange::Deleted(order) => ("deleted", order),
    ///             _ => return Ok(Vec::new()),
    ///         };
    ///         Ok(vec![Statement {
    ///             sql: "INSERT INTO history (event, order_id) VALUES (?, ?)".to_owned(),
    ///             values: vec![
    ///                 SqlValue::Text(event.to_owned()),
    ///                 SqlValue::Int(order.order_id.into()),
    ///             ],
    ///         }])
    ///     })
    /// }
    /// ```
    #[must_use]
    pub fn with_statements(
        mut self,
        further: impl Fn(&Context, RecordChange<'_, R>) -> Result<Vec<Statement>, OperationError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.further = Some(Arc::new(further));
        self
    }
}

impl<R, D: Clone> Clone for SqlStore<R, D> {
    fn clone(&self) -> Self {
        Self {
            table: Arc::clone(&self.table),
            database: self.database.clone(),
            further: self.further.clone(),
        }
    }
}

impl<R, D> fmt::Debug for SqlStore<R, D> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SqlStore").field("table", &self.table).finish_non_exhaustive()
    }
}

impl<R: Record + DeserializeOwned, D: Database> SqlStore<R, D> {
    fn refusal(&self, call: &StoreCall<'_, R>, place: &'static str) -> Refusal<'_, R> {
        Refusal { table: &self.table, place, can_set: call.can_set() }
    }

    /// Returns the error for a record rejected by the database. Its transaction has ended.
    async fn refused(
        &self,
        call: &StoreCall<'_, R>,
        error: DatabaseError,
        record: &R,
        place: &'static str,
    ) -> OperationError {
        // Otherwise the reply could reveal values of another caller's record. This check is impossible if the
        // database computes a field, because its value is not yet known.
        if call.rows().filter().is_ok_and(|filter| filter.is_some())
            && self.table.expression_fields().is_empty()
            && let Err(error) = call.check_stays(record)
        {
            return error;
        }
        let error = self.table.diagnosed(&self.database, error, record).await;
        self.refusal(call, place).of_change(error)
    }
}

impl<R: Record<Id: NewId> + DeserializeOwned, D: Database> SqlStore<R, D> {
    /// Returns the identifier of a new record.
    async fn new_id(&self, transaction: &mut D::Transaction) -> Result<R::Id, OperationError> {
        let singular = R::NAMES.singular;
        let numbered =
            |number| R::Id::from_number(singular, number).ok_or_else(|| no_more_ids(singular));
        if R::CHOSEN_ID {
            // The caller chooses the identifier, so this one is not used.
            return numbered(1);
        }
        if self.table.has_uuids() {
            return serde_json::from_value(new_uuid().into()).map_err(OperationError::internal);
        }
        let has_sequences = match self.table.count_of_sequences()? {
            Some(statement) => first_number(&transaction.run(statement).await?) == Some(1),
            None => false,
        };
        let number = match self.table.next_number(has_sequences)? {
            Some(statement) => {
                let rows = transaction.run(statement).await.map_err(|error| match error {
                    // The sequence has returned its largest number.
                    DatabaseError::Value(_) => no_more_ids(singular).with_cause(error.into_cause()),
                    error => error.into(),
                })?;
                first_number(&rows)
            }
            None => None,
        };
        match number {
            Some(number) => numbered(number),
            None => R::Id::random(singular)
                .ok_or_else(|| OperationError::internal("the table does not number new records")),
        }
    }
}

impl<R: Record + DeserializeOwned, D: Database> SqlStore<R, D> {
    /// Answers a query. The inner error is the error of a statement. It may be caused by a value of the query.
    async fn page(
        &self,
        call: &StoreCall<'_, R>,
        query: &CollectionQuery<R>,
    ) -> Result<Result<Page<SqlRecord<R>>, DatabaseError>, OperationError> {
        let query = query.restricted(call.rows())?;
        let mut transaction = self.database.begin(AccessMode::Read).await?;
        self.table.find_row_number(&mut transaction).await?;
        let mut steps = self.table.query(&query).steps()?;
        while let Some(statement) = steps.next_statement() {
            match transaction.run(statement).await {
                Ok(rows) => steps.push_rows(rows)?,
                Err(error) => return Ok(Err(error)),
            }
        }
        transaction.commit().await?;
        Ok(Ok(steps.finish()?))
    }
}

impl<R, D: Database> SqlStore<R, D> {
    /// Runs the additional statements of a change.
    async fn run_further(
        &self,
        transaction: &mut D::Transaction,
        context: &Context,
        change: RecordChange<'_, R>,
    ) -> Result<(), OperationError> {
        let Some(further) = &self.further else { return Ok(()) };
        for statement in further(context, change)? {
            transaction.run(statement).await?;
        }
        Ok(())
    }
}

impl<R, D> ResourceStore for SqlStore<R, D>
where
    R: Record<Id: NewId> + DeserializeOwned,
    D: Database,
{
    type Resource = R;
    type Row = SqlRecord<R>;

    fn problems(&self) -> Vec<String> {
        let mut problems = self.table.problems().to_vec();
        if self.table.dialect() != D::DIALECT {
            problems.push("the dialect differs from the dialect of the database".to_owned());
        }
        problems.extend(self.table.record_problems());
        let name = R::NAMES.singular;
        problems.into_iter().map(|problem| format!("the table of '{name}': {problem}")).collect()
    }

    fn computed_fields(&self) -> Vec<String> {
        self.table.expression_fields()
    }

    fn lookup(
        &self,
        call: &StoreCall<'_, R>,
        id: &R::Id,
    ) -> Result<Option<Lookup>, OperationError> {
        let database = self.database.identity();
        let lookup = self.lookup_record(call, id)?;
        Ok(Some(Lookup { database, lookup: Box::new(lookup) }))
    }

    async fn insert(
        &self,
        call: &StoreCall<'_, R>,
        make: impl FnOnce(R::Id) -> Result<R, OperationError> + Send,
        after: impl FnOnce(&R) -> Result<(), OperationError> + Send,
    ) -> Result<SqlRecord<R>, OperationError> {
        let mut transaction = self.database.begin(AccessMode::Write).await?;
        let id = self.new_id(&mut transaction).await?;
        let record = make(id)?;
        self.check_references(&mut transaction, call, None, &record).await?;
        let (statement, reader) = self.table.insert_record(&record)?;
        let rows = match transaction.run(statement).await {
            Ok(rows) => rows,
            Err(error) => {
                // Finding the reason begins another transaction.
                drop(transaction);
                return Err(self.refused(call, error, &record, "").await);
            }
        };
        let stored = reader.read(rows, None)?;
        let stored = stored.ok_or_else(|| self.refusal(call, "").of_no_row())?;
        self.refusal(call, "").check_kept(&stored.odd_after(None))?;
        // Check the stored row, because the database may have computed or changed values.
        self.check_stays(&mut transaction, call, &stored).await?;
        let change = RecordChange::Created(&stored.record);
        self.run_further(&mut transaction, call.context(), change).await?;
        after(&stored.record)?;
        match transaction.commit().await {
            Ok(()) => Ok(stored.row),
            // The COMMIT has checked a deferred constraint.
            Err(error) => Err(self.refused(call, error, &stored.record, "").await),
        }
    }

    async fn get(&self, call: &StoreCall<'_, R>, id: &R::Id) -> Result<Option<R>, OperationError> {
        Ok(self.load(call, id).await?.map(|stored| stored.record))
    }

    async fn before_delete(
        &self,
        call: &StoreCall<'_, R>,
        id: &R::Id,
    ) -> Result<Option<R>, OperationError> {
        let Some(stored) = self.load(call, id).await? else { return Ok(None) };
        stored.check_readable(call)?;
        Ok(Some(stored.record))
    }

    async fn exists(&self, call: &StoreCall<'_, R>, id: &R::Id) -> Result<bool, OperationError> {
        let lookup = self.lookup_record(call, id)?;
        let mut transaction = self.database.begin(AccessMode::Read).await?;
        let exists = lookup.run(&mut transaction).await?;
        transaction.commit().await?;
        Ok(exists)
    }

    async fn select(
        &self,
        call: &StoreCall<'_, R>,
        query: &CollectionQuery<R>,
    ) -> Result<Page<SqlRecord<R>>, OperationError> {
        self.table.warn_of_unmatched(query);
        self.page(call, query).await?.map_err(|error| self.table.refused_query(error, query.plan()))
    }

    async fn get_fields(
        &self,
        call: &StoreCall<'_, R>,
        id: &R::Id,
        fields: &Fields<R>,
    ) -> Result<Option<SelectedFields<SqlRecord<R>>>, OperationError> {
        let query = query_of(id, fields)?;
        match self.page(call, &query).await? {
            Ok(page) => Ok(SelectedFields::only_row(page)),
            Err(error) if self.table.has_no_such_identifier(&error) => Ok(None),
            Err(error) => Err(self.table.refused_query(error, query.plan())),
        }
    }

    async fn update(
        &self,
        call: &StoreCall<'_, R>,
        id: &R::Id,
        change: impl FnOnce(&mut R) -> Result<(), OperationError> + Send,
        after: impl FnOnce(&R) -> Result<(), OperationError> + Send,
    ) -> Result<Option<SqlRecord<R>>, OperationError> {
        let mut transaction = self.database.begin(AccessMode::Write).await?;
        let Some(old) = self.read(&mut transaction, call, id, AccessMode::Write).await? else {
            return Ok(None);
        };
        old.check_readable(call)?;
        let mut record = old.record.clone();
        change(&mut record)?;
        // If the column ignores case, the call may contain the identifier in another case.
        if record.id() != old.record.id() {
            return Err(changed_identifier());
        }
        self.check_references(&mut transaction, call, Some(&old), &record).await?;
        let changed = self.table.update_record(&old, &record, call.all_given())?;
        let stored = match changed {
            Some((statement, reader)) => match transaction.run(statement).await {
                Ok(rows) => {
                    let stored = reader.read(rows, None)?;
                    let stored = stored.ok_or_else(|| self.refusal(call, "input.").of_no_row())?;
                    self.refusal(call, "input.").check_kept(&stored.odd_after(Some(&old)))?;
                    stored
                }
                Err(error) => {
                    drop(transaction);
                    return Err(self.refused(call, error, &record, "input.").await);
                }
            },
            None => old.clone(),
        };
        self.check_stays(&mut transaction, call, &stored).await?;
        let change = RecordChange::Updated { old: &old.record, new: &stored.record };
        self.run_further(&mut transaction, call.context(), change).await?;
        after(&stored.record)?;
        match transaction.commit().await {
            Ok(()) => Ok(Some(stored.row)),
            Err(error) => Err(self.refused(call, error, &stored.record, "input.").await),
        }
    }

    async fn delete(
        &self,
        call: &StoreCall<'_, R>,
        id: &R::Id,
        check: impl FnOnce(&R) -> Result<(), OperationError> + Send,
        after: impl FnOnce(&R) -> Result<(), OperationError> + Send,
    ) -> Result<Option<SqlRecord<R>>, OperationError> {
        let mut transaction = self.database.begin(AccessMode::Write).await?;
        let Some(stored) = self.read(&mut transaction, call, id, AccessMode::Write).await? else {
            return Ok(None);
        };
        stored.check_readable(call)?;
        let record = &stored.record;
        check(record)?;
        let statement = self.table.delete_record(id)?;
        let result = transaction.run(statement).await;
        result.map_err(|error| self.refusal(call, "").of_deletion(error, record))?;
        if self.is_kept(&mut transaction, id).await? {
            return Err(self.refusal(call, "").of_kept(record));
        }
        self.run_further(&mut transaction, call.context(), RecordChange::Deleted(record)).await?;
        after(record)?;
        let committed = transaction.commit().await;
        committed.map_err(|error| self.refusal(call, "").of_deletion(error, record))?;
        Ok(Some(stored.row))
    }
}
