//! Executes a query as a sequence of statements, and builds a page from their results.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;

use sea_query::{Expr, Func, Query, SelectStatement};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::SqlError;
use super::condition::joined;
use super::context::{Context, Source, StoredForm};
use super::dialect::truth;
use super::order::{self, OrderRange};
use super::record::{Columns, Layout, Record, scalar};
use super::summary::{GroupValues, SummaryStatement};
use super::value::{SqlValue, Statement};
use crate::paging::Page;
use crate::projection::Selection;
use crate::projection::{DisplayedRow, View};
use crate::query::aggregate::Aggregations;
use crate::query::memory;
use crate::query::plan::{Plan, Window};
use crate::query::resource::Resource;
use crate::query::value::Scalar;

/// The members of a whole row.
type Members = Map<String, Value>;

type PageResult<T> = Result<Page<Record<T>>, SqlError>;

/// The in-memory processing of rows, for types that support it.
#[derive(Debug)]
pub(super) struct InMemoryFinish<T: 'static> {
    /// Displays a row.
    pub(super) show: fn(Members, &Arc<Selection>) -> Result<Record<T>, SqlError>,
    /// Executes the whole plan in memory.
    pub(super) answer: fn(&Plan, Vec<Members>) -> PageResult<T>,
}

impl<T: 'static> Clone for InMemoryFinish<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: 'static> Copy for InMemoryFinish<T> {}

impl<T: Resource + Serialize + DeserializeOwned> InMemoryFinish<T> {
    pub(super) const NEW: Self = Self { show: show::<T>, answer: answer::<T> };
}

fn read<T: DeserializeOwned>(members: Members) -> Result<T, SqlError> {
    serde_json::from_value(Value::Object(members)).map_err(SqlError::Row)
}

fn shown<T: Resource + Serialize>(row: &T, view: &View<T>) -> Result<Record<T>, SqlError> {
    let json = serde_json::value::to_raw_value(&DisplayedRow { row, view: Some(view) })
        .map_err(SqlError::Row)?;
    Ok(Record::shown(json))
}

fn show<T: Resource + Serialize + DeserializeOwned>(
    members: Members,
    selection: &Arc<Selection>,
) -> Result<Record<T>, SqlError> {
    shown(&read::<T>(members)?, &View::of(Arc::clone(selection)))
}

fn answer<T: Resource + Serialize + DeserializeOwned>(
    plan: &Plan,
    rows: Vec<Members>,
) -> PageResult<T> {
    let rows = rows.into_iter().map(read::<T>).collect::<Result<Vec<_>, _>>()?;
    let found = memory::run::<T, T>(plan, T::model(), rows)?;
    let view = View::of(Arc::clone(&plan.selection));
    let rows = found.rows.into_iter().map(|(row, values)| Ok((shown(&row, &view)?, values)));
    let rows = rows.collect::<Result<Vec<_>, SqlError>>()?;
    Ok(plan.answer(rows, plan.count.then_some(found.total), found.aggregations, None))
}

/// A running query: statements to execute in order, and the processing of their rows.
///
/// Performs no I/O, so it works with any driver. [`SqlQuery::run`](super::SqlQuery::run) and
/// [`run_async`](super::SqlQuery::run_async) are loops over it:
///
/// ```
/// # use mcp_aql::Page;
/// # use mcp_aql::query::sql::{Record, SqlError, SqlValue, Statement, Steps};
/// fn run<T: mcp_aql::query::Resource>(
///     mut steps: Steps<'_, T>,
///     mut execute: impl FnMut(&Statement) -> Vec<Vec<SqlValue>>,
/// ) -> Result<Page<Record<T>>, SqlError> {
///     while let Some(statement) = steps.next_statement() {
///         let rows = execute(&statement);
///         steps.take(rows)?;
///     }
///     steps.finish()
/// }
/// ```
#[derive(Debug)]
pub struct Steps<'a, T: 'static> {
    plan: &'a Plan,
    dialect: super::Dialect,
    statements: VecDeque<(Purpose, Statement)>,
    current: Option<Purpose>,
    /// The conversion of rows.
    layout: Arc<Layout>,
    /// The columns of the sort keys and their forms; `None` is the score.
    keys: Vec<(usize, Option<StoredForm>)>,
    work: WorkSplit,
    finish: Option<InMemoryFinish<T>>,
    rows: Vec<(Record<T>, Vec<Scalar>)>,
    whole: Vec<Members>,
    total: Option<u64>,
    groups: Vec<(usize, GroupValues)>,
    rest: PhantomData<fn() -> T>,
}

/// The purpose of a statement.
#[derive(Debug)]
enum Purpose {
    Rows,
    Count,
    SummaryStatement(SummaryStatement),
}

/// The division of work between the database and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WorkSplit {
    /// The database does everything.
    All,
    /// The database does everything except computing the selected fields.
    AllButShowing,
    /// The database only returns the candidate rows.
    Rows,
}

impl<'a, T: Resource> Steps<'a, T> {
    pub(super) fn new(
        context: &Context<'_>,
        plan: &'a Plan,
        scope: &[Expr],
        finish: Option<InMemoryFinish<T>>,
    ) -> Result<Self, SqlError> {
        let mut scope = scope.to_vec();
        scope.extend(context.scope());
        let mut last = Self::of(context, plan, &scope, WorkSplit::All, finish);
        if finish.is_some() {
            for work in [WorkSplit::AllButShowing, WorkSplit::Rows] {
                if !matches!(last, Err(SqlError::Unmapped { .. })) {
                    break;
                }
                last = Self::of(context, plan, &scope, work, finish);
            }
        }
        last
    }

    fn of(
        context: &Context<'_>,
        plan: &'a Plan,
        scope: &[Expr],
        work: WorkSplit,
        finish: Option<InMemoryFinish<T>>,
    ) -> Result<Self, SqlError> {
        let dialect = context.dialect();
        let mut conditions = scope.to_vec();
        let mut score = None;
        if work == WorkSplit::Rows {
            conditions.extend(plan.filter.as_ref().and_then(|it| context.rough_condition(it)));
            if let Some(Ok((found, _))) = plan.text.as_ref().map(|text| context.words(text)) {
                conditions.push(found);
            }
        } else {
            conditions.extend(plan.filter.as_ref().map(|it| context.condition(it)).transpose()?);
            if let Some(text) = &plan.text {
                let (found, how_well) = context.words(text)?;
                conditions.push(found);
                score = Some(how_well);
            }
        }
        let selection = (work == WorkSplit::All).then_some(&*plan.selection);
        let mut columns = Columns::default();
        let layout = Arc::new(Layout::of::<T>(context, selection, &mut columns)?);
        let mut statements = VecDeque::new();
        let mut keys = Vec::new();
        let from = |mut select: SelectStatement, conditions: &[Expr]| {
            select.from(context.from());
            if !conditions.is_empty() {
                select.and_where(joined(conditions.to_vec(), true));
            }
            select
        };
        if work == WorkSplit::Rows {
            let mut select = Query::select();
            select.exprs(listed(columns));
            statements
                .push_back((Purpose::Rows, Statement::of(dialect, &from(select, &conditions))?));
        } else {
            if plan.items {
                let order = order::keys(context, plan, score.as_ref())?;
                for key in &order {
                    let column = match key.source() {
                        Some(source) => columns.add(context, source),
                        None => usize::MAX,
                    };
                    keys.push((column, key.source().map(Source::stored)));
                }
                let mut select = Query::select();
                let scored = keys.iter().any(|(_, source)| source.is_none());
                let count = columns.expressions.len();
                // A statement needs at least one column; the score counts as one.
                select.exprs(if count == 0 && scored { Vec::new() } else { listed(columns) });
                if let (true, Some(score)) = (scored, score) {
                    select.expr(score);
                }
                for (column, _) in &mut keys {
                    if *column == usize::MAX {
                        *column = count;
                    }
                }
                let stretches = match order::place(plan) {
                    Some(place) => order::behind(dialect, &order, place),
                    None => vec![OrderRange { condition: truth(true), from: 0 }],
                };
                let placed = order::place(plan).is_some();
                for OrderRange { condition, from: first } in stretches {
                    let mut conditions = conditions.clone();
                    conditions.extend(placed.then_some(condition));
                    let mut select = from(select.clone(), &conditions);
                    for key in order.iter().skip(first) {
                        key.add_to(dialect, count, &mut select);
                    }
                    // An upper bound, which `next_statement` lowers.
                    select.limit(bounded(plan.wanted()));
                    if let Window::Offset { offset, .. } = plan.window
                        && offset > 0
                    {
                        select.offset(bounded(offset));
                    }
                    statements.push_back((Purpose::Rows, Statement::of(dialect, &select)?));
                }
            }
            if plan.items && plan.count {
                let mut select = Query::select();
                select.expr(Func::count(Expr::cust("*")));
                let select = from(select, &conditions);
                statements.push_back((Purpose::Count, Statement::of(dialect, &select)?));
            }
            for (summary, select) in SummaryStatement::all(context, &plan.aggregate)? {
                let statement = Statement::of(dialect, &from(select, &conditions))?;
                statements.push_back((Purpose::SummaryStatement(summary), statement));
            }
        }
        Ok(Self {
            plan,
            dialect,
            statements,
            current: None,
            layout,
            keys,
            work,
            finish,
            rows: Vec::new(),
            whole: Vec::new(),
            total: None,
            groups: Vec::new(),
            rest: PhantomData,
        })
    }

    /// The next statement to execute, or `None` after the last one.
    pub fn next_statement(&mut self) -> Option<Statement> {
        let missing = self.plan.wanted().saturating_sub(self.rows.len());
        loop {
            let (purpose, mut statement) = self.statements.pop_front()?;
            // Rows after a place may take several statements, but the first ones often suffice.
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

    /// Processes the rows of the last statement, each with a value for each column.
    ///
    /// # Errors
    /// If the values do not have the types of the table's description, or there are too many
    /// groups.
    pub fn take(&mut self, rows: Vec<Vec<SqlValue>>) -> Result<(), SqlError> {
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
            Some(Purpose::SummaryStatement(summary)) => {
                self.groups.extend(summary.read(self.dialect, &self.plan.aggregate, &rows)?);
                Ok(())
            }
            None => Err(SqlError::Unfinished),
        }
    }

    fn take_row(&mut self, mut row: Vec<SqlValue>) -> Result<(), SqlError> {
        let values = self.keys.iter().map(|(column, stored)| match stored {
            Some(stored) => scalar(*stored, row.get(*column)),
            None => match row.get(*column) {
                Some(SqlValue::Int(score)) => Ok(Scalar::Int((*score).into())),
                other => Err(SqlError::Column {
                    path: "relevance".to_owned(),
                    expected: "a whole number",
                    found: other.map_or("no column", SqlValue::kind),
                }),
            },
        });
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let record = self.layout.record(&mut row)?;
        match (self.work, self.finish) {
            (WorkSplit::AllButShowing, Some(finish)) => {
                let record = (finish.show)(record.into_members(), &self.plan.selection)?;
                self.rows.push((record, values));
            }
            (WorkSplit::Rows, _) => self.whole.push(record.into_members()),
            _ => self.rows.push((record, values)),
        }
        Ok(())
    }

    /// Builds the page.
    ///
    /// # Errors
    /// If statements were not executed, or processing in memory fails.
    pub fn finish(mut self) -> Result<Page<Record<T>>, SqlError> {
        if self.current.is_some() || !self.statements.is_empty() {
            return Err(SqlError::Unfinished);
        }
        if let (WorkSplit::Rows, Some(finish)) = (self.work, self.finish) {
            return (finish.answer)(self.plan, self.whole);
        }
        let table = T::model().table();
        let mut aggregations = Aggregations::default();
        for (number, aggregate) in self.plan.aggregate.iter().enumerate() {
            let place = self.groups.iter().position(|(known, _)| *known == number);
            let groups = place.map(|place| self.groups.swap_remove(place).1).unwrap_or_default();
            aggregations.add(aggregate, groups, table);
        }
        let aggregations = (!self.plan.aggregate.is_empty()).then_some(aggregations);
        Ok(self.plan.answer(self.rows, self.total, aggregations, None))
    }
}

/// The columns of a statement, at least one.
fn listed(columns: Columns) -> Vec<Expr> {
    if columns.expressions.is_empty() { vec![Expr::cust("1")] } else { columns.expressions }
}

/// A number of rows as databases accept it.
fn bounded(count: usize) -> u64 {
    const MAX_ROWS: u64 = i64::MAX as u64;
    u64::try_from(count).unwrap_or(MAX_ROWS).min(MAX_ROWS)
}
