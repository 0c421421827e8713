//! A store in a database.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use mcp_aql_core::error::OperationError;
use mcp_aql_core::operation::Context;
use mcp_aql_core::paging::Page;
use mcp_aql_core::vocab::new_uuid;
use serde::de::DeserializeOwned;

use super::database_error::DatabaseError;
use super::{Dialect, SqlError, SqlRecord, SqlTable, SqlValue, Statement};
use crate::collection::CollectionQuery;
use crate::records::{NewId, Record, ResourceStore, changed_identifier};

/// A database, for [`SqlStore`]: what connects a driver.
///
/// `RusqliteDatabase` (feature `rusqlite`) and `PostgresDatabase` (feature `tokio-postgres`) implement it, and so do
/// `SqlxSqlite` and `SqlxPostgres` of the crate `mcp-aql-sqlx`.
pub trait Database: Send + Sync + 'static {
    /// The dialect of the database.
    const DIALECT: Dialect;

    /// A transaction. One that is dropped without [`commit`](Transaction::commit) changes nothing.
    type Transaction: Transaction;

    /// Begins a transaction. All statements of a READ transaction must see the same state: any transaction of SQLite,
    /// `REPEATABLE READ` in PostgreSQL. Of two WRITE transactions that change the same record, the second must wait:
    /// `BEGIN IMMEDIATE` in SQLite, any transaction of PostgreSQL.
    ///
    /// # Errors
    /// The error of the driver.
    fn begin(
        &self,
        access: Access,
    ) -> impl Future<Output = Result<Self::Transaction, DatabaseError>> + Send;
}

/// The purpose of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The transaction only reads.
    Read,
    /// The transaction changes records.
    Write,
}

/// A transaction of a [`Database`].
pub trait Transaction: Send {
    /// Runs a statement and returns its rows, each with a value for each column.
    ///
    /// # Errors
    /// The error of the driver.
    fn run(
        &mut self,
        statement: Statement,
    ) -> impl Future<Output = Result<Vec<Vec<SqlValue>>, DatabaseError>> + Send;

    /// Ends the transaction and keeps its changes.
    ///
    /// # Errors
    /// The error of the driver.
    fn commit(self) -> impl Future<Output = Result<(), DatabaseError>> + Send;
}

/// Records in a table of SQLite or PostgreSQL.
///
/// Queries run in the database, see [`SqlTable`]. A change reads the record, lets the author's rules and the check of
/// the version decide, and writes the changed columns, all in one transaction. Fields that serde skips are not stored.
///
/// A new record is numbered by the sequence of its column in PostgreSQL (`bigserial`, `GENERATED … AS IDENTITY`), and
/// after the highest number in SQLite. There, a column with `AUTOINCREMENT` gives no number twice; without it, the
/// number of a deleted record may be given again. A `String` gets a random identifier, which is a UUID if the
/// [type of the column](SqlTable::column_type) is `uuid`.
pub struct SqlStore<R: 'static, D> {
    table: Arc<SqlTable<R>>,
    database: D,
    further: Option<Arc<FurtherStatements<R>>>,
}

/// Returns the statements that belong to a change.
type FurtherStatements<R> =
    dyn Fn(&Context, RecordChange<'_, R>) -> Result<Vec<Statement>, OperationError> + Send + Sync;

/// A change of a record, for [`SqlStore::with_statements`].
#[derive(Debug)]
#[non_exhaustive]
pub enum RecordChange<'a, R> {
    /// The record is new.
    Created(&'a R),
    /// The record has changed.
    Updated {
        /// The record before the change.
        old: &'a R,
        /// The record after the change.
        new: &'a R,
    },
    /// The record is deleted.
    Deleted(&'a R),
}

impl<R> Clone for RecordChange<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for RecordChange<'_, R> {}

impl<R: Record + DeserializeOwned, D> SqlStore<R, D> {
    /// Creates a store of the records in a table. What the description of the table cannot express in SQL, such as
    /// computed fields, is done in memory.
    pub fn new(table: SqlTable<R>, database: D) -> Self {
        Self { table: Arc::new(table.in_memory_fallback()), database, further: None }
    }

    /// Runs further statements after each change, in the same transaction. If `further` or a statement fails, nothing
    /// changes. In PostgreSQL, `Int` is a `bigint`, `Float` a `double precision` and `Null` a `text`: a column of another
    /// type needs a conversion, `CAST($1 AS integer)`.
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
    /// Reads a record.
    async fn read(
        &self,
        transaction: &mut D::Transaction,
        id: &R::Id,
        access: Access,
    ) -> Result<Option<R>, OperationError> {
        let (statement, reader) =
            self.table.select_record(id, access == Access::Write).map_err(internal)?;
        let rows = transaction.run(statement).await?;
        reader.read(rows).map_err(internal)
    }
}

impl<R: Record<Id: NewId> + DeserializeOwned, D: Database> SqlStore<R, D> {
    /// Makes the identifier of a new record.
    async fn new_id(&self, transaction: &mut D::Transaction) -> Result<R::Id, OperationError> {
        if self.table.has_uuids() {
            return serde_json::from_value(new_uuid().into()).map_err(OperationError::internal);
        }
        let has_sequences = match self.table.count_of_sequences().map_err(internal)? {
            Some(statement) => first_number(&transaction.run(statement).await?) == Some(1),
            None => false,
        };
        let number = match self.table.next_number(has_sequences).map_err(internal)? {
            Some(statement) => first_number(&transaction.run(statement).await?),
            None => None,
        };
        match number {
            Some(number) => Ok(R::Id::from_number(R::NAMES.singular, number)),
            None => R::Id::random(R::NAMES.singular)
                .ok_or_else(|| OperationError::internal("the table gives a new record no number")),
        }
    }
}

impl<R, D: Database> SqlStore<R, D> {
    /// Runs the further statements of a change.
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

fn internal(error: SqlError) -> OperationError {
    error.into()
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
            problems.push("the dialect is not that of the database".to_owned());
        }
        problems.extend(self.table.record_problems());
        let name = R::NAMES.singular;
        problems.into_iter().map(|problem| format!("the table of '{name}': {problem}")).collect()
    }

    async fn insert(
        &self,
        context: &Context,
        make: impl FnOnce(R::Id) -> Result<R, OperationError> + Send,
        after: impl FnOnce(&R) -> Result<(), OperationError> + Send,
    ) -> Result<R, OperationError> {
        let mut transaction = self.database.begin(Access::Write).await?;
        let id = self.new_id(&mut transaction).await?;
        let record = make(id)?;
        let (statement, reader) = self.table.insert_record(&record).map_err(internal)?;
        let rows = transaction.run(statement).await.map_err(|error| error.refusing::<R>(""))?;
        let record = reader.read(rows).map_err(internal)?.unwrap_or(record);
        self.run_further(&mut transaction, context, RecordChange::Created(&record)).await?;
        after(&record)?;
        transaction.commit().await.map_err(|error| error.refusing::<R>(""))?;
        Ok(record)
    }

    async fn get(&self, _context: &Context, id: &R::Id) -> Result<Option<R>, OperationError> {
        let mut transaction = self.database.begin(Access::Read).await?;
        let record = self.read(&mut transaction, id, Access::Read).await?;
        transaction.commit().await?;
        Ok(record)
    }

    async fn select(
        &self,
        _context: &Context,
        query: &CollectionQuery<R>,
    ) -> Result<Page<SqlRecord<R>>, OperationError> {
        let mut transaction = self.database.begin(Access::Read).await?;
        let mut steps = self.table.query(query).steps().map_err(internal)?;
        while let Some(statement) = steps.next_statement() {
            let rows = transaction.run(statement).await?;
            steps.push_rows(rows).map_err(internal)?;
        }
        transaction.commit().await?;
        steps.finish().map_err(internal)
    }

    async fn update(
        &self,
        context: &Context,
        id: &R::Id,
        change: impl FnOnce(&mut R) -> Result<(), OperationError> + Send,
        after: impl FnOnce(&R) -> Result<(), OperationError> + Send,
    ) -> Result<Option<R>, OperationError> {
        let mut transaction = self.database.begin(Access::Write).await?;
        let Some(old) = self.read(&mut transaction, id, Access::Write).await? else {
            return Ok(None);
        };
        let mut record = old.clone();
        change(&mut record)?;
        if record.id() != id {
            return Err(changed_identifier());
        }
        if let Some((statement, reader)) =
            self.table.update_record(&old, &record).map_err(internal)?
        {
            let rows =
                transaction.run(statement).await.map_err(|error| error.refusing::<R>("input."))?;
            record = reader.read(rows).map_err(internal)?.unwrap_or(record);
        }
        let change = RecordChange::Updated { old: &old, new: &record };
        self.run_further(&mut transaction, context, change).await?;
        after(&record)?;
        transaction.commit().await.map_err(|error| error.refusing::<R>("input."))?;
        Ok(Some(record))
    }

    async fn delete(
        &self,
        context: &Context,
        id: &R::Id,
        check: impl FnOnce(&R) -> Result<(), OperationError> + Send,
        after: impl FnOnce(&R) -> Result<(), OperationError> + Send,
    ) -> Result<Option<R>, OperationError> {
        let mut transaction = self.database.begin(Access::Write).await?;
        let Some(record) = self.read(&mut transaction, id, Access::Write).await? else {
            return Ok(None);
        };
        check(&record)?;
        let statement = self.table.delete_record(id).map_err(internal)?;
        let result = transaction.run(statement).await;
        result.map_err(|error| error.refusing_deletion(&record))?;
        self.run_further(&mut transaction, context, RecordChange::Deleted(&record)).await?;
        after(&record)?;
        transaction.commit().await.map_err(|error| error.refusing_deletion(&record))?;
        Ok(Some(record))
    }
}

/// The number in a statement's only row.
fn first_number(rows: &[Vec<SqlValue>]) -> Option<u64> {
    match rows.first()?.first()? {
        SqlValue::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}
