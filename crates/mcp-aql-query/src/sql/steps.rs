//! Executes a query as a sequence of statements, and builds a page from their results.

use std::marker::PhantomData;

use mcp_aql_core::Page;
use sea_query::Expr;

use super::SqlError;
use super::context::Context;
use super::in_memory_finish::{InMemoryFinish, RowMembers};
use super::record::SqlRecord;
use super::statements::{Purpose, Statements, WorkSplit};
use super::stored_value::sort_value;
use super::summary::GroupValues;
use super::value::{SqlValue, Statement};
use crate::aggregate::Aggregations;
use crate::odd_values::OddFields;
use crate::plan::Plan;
use crate::resource::Resource;
use crate::value::Scalar;

/// A running query: statements to execute in order, and the processing of their rows.
///
/// `Steps` performs no I/O, so you can use it with any driver. [`SqlQuery::run`](super::SqlQuery::run) and
/// [`run_async`](super::SqlQuery::run_async) are loops over it:
///
/// ```
/// # use mcp_aql::Page;
/// # use mcp_aql::query::sql::{SqlRecord, SqlError, SqlValue, Statement, Steps};
/// fn run<T: mcp_aql::query::Resource>(
///     mut steps: Steps<'_, T>,
///     mut execute: impl FnMut(&Statement) -> Vec<Vec<SqlValue>>,
/// ) -> Result<Page<SqlRecord<T>>, SqlError> {
///     while let Some(statement) = steps.next_statement() {
///         let rows = execute(&statement);
///         steps.push_rows(rows)?;
///     }
///     steps.finish()
/// }
/// ```
#[derive(Debug)]
pub struct Steps<'a, T: 'static> {
    plan: &'a Plan,
    dialect: super::Dialect,
    statements: Statements,
    current: Option<Purpose>,
    finish: Option<InMemoryFinish<T>>,
    rows: Vec<(SqlRecord<T>, Vec<Scalar>)>,
    whole: Vec<RowMembers>,
    total: Option<u64>,
    groups: Vec<(usize, GroupValues)>,
    rest: PhantomData<fn() -> T>,
}

impl<'a, T: Resource> Steps<'a, T> {
    pub(super) fn new(
        context: &Context<'_>,
        plan: &'a Plan,
        scope: &[Expr],
        finish: Option<InMemoryFinish<T>>,
    ) -> Result<Self, SqlError> {
        Ok(Self {
            plan,
            dialect: context.dialect(),
            statements: Statements::of::<T>(context, plan, scope, finish.is_some())?,
            current: None,
            finish,
            rows: Vec::new(),
            whole: Vec::new(),
            total: None,
            groups: Vec::new(),
            rest: PhantomData,
        })
    }

    /// Returns the next statement to execute, or `None` after the last one.
    pub fn next_statement(&mut self) -> Option<Statement> {
        let missing = self.plan.fetch_count().saturating_sub(self.rows.len());
        loop {
            let (purpose, mut statement) = self.statements.queue.pop_front()?;
            // The rows after a cursor may need several statements, but the first ones often suffice.
            if matches!(purpose, Purpose::Rows) && !self.rows.is_empty() {
                if missing == 0 {
                    continue;
                }
                if let Some(SqlValue::Int(limit)) = statement.values.last_mut() {
                    *limit = i64::try_from(missing).unwrap_or(i64::MAX).min(*limit);
                }
            }
            self.current = Some(purpose);
            return Some(statement);
        }
    }

    /// Processes the rows of the last statement. Each row has a value for each column.
    ///
    /// # Errors
    ///
    /// Returns an error if the values do not have the types of the table's description, or if there are too many
    /// groups.
    pub fn push_rows(&mut self, rows: Vec<Vec<SqlValue>>) -> Result<(), SqlError> {
        match self.current.take() {
            Some(Purpose::Rows) => rows.into_iter().try_for_each(|row| self.take_row(row)),
            Some(Purpose::Count) => {
                let count = match rows.first().and_then(|row| row.first()) {
                    Some(SqlValue::Int(count)) => u64::try_from(*count).ok(),
                    _ => None,
                };
                self.total = Some(count.ok_or_else(|| SqlError::Column {
                    path: "count(*)".to_owned(),
                    expected: "a count",
                    found: "something else",
                })?);
                Ok(())
            }
            Some(Purpose::Summary(summary)) => {
                self.groups.extend(summary.read(self.dialect, &self.plan.aggregate, &rows)?);
                Ok(())
            }
            None => Err(SqlError::Unfinished),
        }
    }

    fn take_row(&mut self, row: Vec<SqlValue>) -> Result<(), SqlError> {
        let values = self.statements.keys.iter().map(|(column, stored)| match stored {
            Some(stored) => sort_value(*stored, row.get(*column)),
            None => match row.get(*column) {
                Some(SqlValue::Int(score)) => Ok(Scalar::Int((*score).into())),
                other => Err(SqlError::Column {
                    path: "relevance".to_owned(),
                    expected: "a whole number",
                    found: other.map_or("no column", SqlValue::kind),
                }),
            },
        });
        let mut values = values.collect::<Result<Vec<_>, _>>()?;
        // The row number is only part of the cursor if it distinguishes rows.
        if values.iter().all(|value| !value.is_null()) {
            values.truncate(self.plan.sort.len());
        }
        let mut odd = OddFields::default();
        let record = SqlRecord::read(&self.statements.layout, &row, &mut odd)?;
        // The last key of the plan is the identifier.
        let id = self.plan.sort.len().checked_sub(1).and_then(|last| values.get(last));
        let id = id.and_then(plain_text);
        match (self.statements.work, self.finish) {
            (WorkSplit::AllButShowing, Some(finish)) => {
                let record = (finish.show)(record.into_members()?, &self.plan.selection)?;
                self.rows.push((record, values));
            }
            (WorkSplit::Rows, _) => {
                self.whole.push(record.into_members()?);
                return Ok(());
            }
            _ => self.rows.push((record, values)),
        }
        // The row after the page only shows that more rows follow.
        if self.rows.len() <= self.plan.window.count() {
            self.plan.odd.add(&id.unwrap_or_default(), odd);
        }
        Ok(())
    }

    /// Builds the page. Call it after all statements were executed.
    ///
    /// # Errors
    ///
    /// Returns an error if statements were not executed, or if processing in memory fails.
    pub fn finish(mut self) -> Result<Page<SqlRecord<T>>, SqlError> {
        if self.current.is_some() || !self.statements.queue.is_empty() {
            return Err(SqlError::Unfinished);
        }
        if let (WorkSplit::Rows, Some(finish)) = (self.statements.work, self.finish) {
            return (finish.answer)(self.plan, self.whole, self.statements.filters);
        }
        let table = T::model().schema();
        let mut aggregations = Aggregations::default();
        for (number, aggregate) in self.plan.aggregate.iter().enumerate() {
            let place = self.groups.iter().position(|(known, _)| *known == number);
            let groups = place.map(|place| self.groups.swap_remove(place).1).unwrap_or_default();
            aggregations.add(aggregate, groups, table)?;
        }
        let aggregations = (!self.plan.aggregate.is_empty()).then_some(aggregations);
        Ok(self.plan.build_page(self.rows, self.total, aggregations, None))
    }
}

/// Returns an identifier as a string, without quotation marks.
fn plain_text(id: &Scalar) -> Option<String> {
    match id {
        Scalar::Int(value) => Some(value.to_string()),
        Scalar::Text(text) => Some(text.clone().into_owned()),
        Scalar::Stored(value) => plain_text(value),
        _ => None,
    }
}
