//! Plans the statements of a query, and the conversion of their rows.

use std::collections::VecDeque;
use std::sync::Arc;

use sea_query::{Expr, Func, Query, SelectStatement};

use super::SqlError;
use super::condition::joined;
use super::context::{Context, StoredForm};
use super::layout::{Columns, Layout};
use super::order;
use super::summary::SummaryStatement;
use super::value::Statement;
use crate::plan::Plan;
use crate::resource::Resource;

/// The purpose of a statement.
#[derive(Debug)]
pub(super) enum Purpose {
    Rows,
    Count,
    Summary(SummaryStatement),
}

/// The division of work between the database and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkSplit {
    /// The database does everything.
    All,
    /// The database does everything except computing the selected fields.
    AllButShowing,
    /// The database only returns the candidate rows.
    Rows,
}

/// The statements of a query.
#[derive(Debug)]
pub(super) struct Statements {
    /// The statements, in the order of their execution.
    pub(super) queue: VecDeque<(Purpose, Statement)>,
    /// The conversion of rows.
    pub(super) layout: Arc<Layout>,
    /// The columns of the sort keys and their forms. `None` is the score or the row number.
    pub(super) keys: Vec<(usize, Option<StoredForm>)>,
    pub(super) work: WorkSplit,
    /// If `true`, all rows satisfy the filter.
    pub(super) filters: bool,
}

impl Statements {
    /// Plans the statements so that the database does as much of the work as possible. If `finishes` is
    /// `true`, the rest can be done in memory.
    pub(super) fn of<T: Resource>(
        context: &Context<'_>,
        plan: &Plan,
        scope: &[Expr],
        finishes: bool,
    ) -> Result<Self, SqlError> {
        let mut scope = scope.to_vec();
        scope.extend(context.scope());
        let mut last = Self::divided::<T>(context, plan, &scope, WorkSplit::All);
        if finishes {
            // Give more of the work to memory only if the plan needs a field without SQL.
            for work in [WorkSplit::AllButShowing, WorkSplit::Rows] {
                if !matches!(last, Err(SqlError::Unmapped { .. })) {
                    break;
                }
                last = Self::divided::<T>(context, plan, &scope, work);
            }
        }
        last
    }

    fn divided<T: Resource>(
        context: &Context<'_>,
        plan: &Plan,
        scope: &[Expr],
        work: WorkSplit,
    ) -> Result<Self, SqlError> {
        let (conditions, score) = conditions(context, plan, scope, work)?;
        let selection = (work == WorkSplit::All).then_some(&*plan.selection);
        let mut columns = Columns::default();
        let layout = Arc::new(Layout::of::<T>(context, selection, &mut columns)?);
        // With any other split, a filter without SQL has caused an error above.
        let filters = work != WorkSplit::Rows
            || plan.filter.as_ref().is_none_or(|filter| context.condition(filter).is_ok());
        let statements = Self { queue: VecDeque::new(), layout, keys: Vec::new(), work, filters };
        let mut planner = StatementPlanner { context, plan, conditions, statements };
        if work == WorkSplit::Rows {
            let mut select = Query::select();
            select.exprs(listed(columns));
            planner.add(Purpose::Rows, select, None)?;
        } else {
            if plan.include_items {
                planner.add_page(columns, score)?;
            }
            if plan.include_items && plan.include_total_count {
                let mut select = Query::select();
                select.expr(Func::count(Expr::cust("*")));
                planner.add(Purpose::Count, select, None)?;
            }
            for (summary, select) in SummaryStatement::all(context, &plan.aggregate)? {
                planner.add(Purpose::Summary(summary), select, None)?;
            }
        }
        Ok(planner.statements)
    }
}

/// Returns the conditions of all statements, and the score of a row.
fn conditions(
    context: &Context<'_>,
    plan: &Plan,
    scope: &[Expr],
    work: WorkSplit,
) -> Result<(Vec<Expr>, Option<Expr>), SqlError> {
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
    Ok((conditions, score))
}

struct StatementPlanner<'a> {
    context: &'a Context<'a>,
    plan: &'a Plan,
    conditions: Vec<Expr>,
    statements: Statements,
}

impl StatementPlanner<'_> {
    /// Adds a statement for the rows that satisfy all conditions and `condition`.
    fn add(
        &mut self,
        purpose: Purpose,
        mut select: SelectStatement,
        condition: Option<Expr>,
    ) -> Result<(), SqlError> {
        select.from(self.context.from());
        let conditions: Vec<_> = self.conditions.iter().cloned().chain(condition).collect();
        if !conditions.is_empty() {
            select.and_where(joined(conditions, true));
        }
        let statement = Statement::of(self.context.dialect(), &select)?;
        self.statements.queue.push_back((purpose, statement));
        Ok(())
    }

    /// Adds the statements for the rows of the page, and the columns of their sort keys.
    fn add_page(&mut self, mut columns: Columns, score: Option<Expr>) -> Result<(), SqlError> {
        let (context, plan, dialect) = (self.context, self.plan, self.context.dialect());
        let order = order::keys(context, plan, score.as_ref())?;
        let keys: Vec<_> = order.iter().map(|key| key.add_column(context, &mut columns)).collect();
        // The score is the last column.
        let count = columns.expressions.len();
        let scored = keys.iter().any(Option::is_none);
        self.statements.keys = keys.into_iter().map(|key| key.unwrap_or((count, None))).collect();
        let mut select = Query::select();
        // A statement needs at least one column. The score counts as one.
        if count > 0 || !scored {
            select.exprs(listed(columns));
        }
        select.exprs(score.filter(|_| scored));
        let ranges = match plan.window.place() {
            Some(place) => order::behind(dialect, &order, place)
                .into_iter()
                .map(|range| (Some(range.condition), range.from))
                .collect(),
            None => vec![(None, 0)],
        };
        for (condition, first) in ranges {
            let mut select = select.clone();
            for key in order.iter().skip(first) {
                key.add_to(dialect, count, &mut select);
            }
            // An upper bound. `Steps::next_statement` lowers it to the number of missing rows.
            select.limit(bounded(plan.fetch_count()));
            if plan.window.offset() > 0 {
                select.offset(bounded(plan.window.offset()));
            }
            self.add(Purpose::Rows, select, condition)?;
        }
        Ok(())
    }
}

/// Returns the columns of a statement, at least one.
fn listed(columns: Columns) -> Vec<Expr> {
    if columns.expressions.is_empty() { vec![Expr::cust("1")] } else { columns.expressions }
}

/// Clamps a row count to `i64`, the type of SQL's `LIMIT`.
fn bounded(count: usize) -> u64 {
    const MAX_ROWS: u64 = i64::MAX as u64;
    u64::try_from(count).unwrap_or(MAX_ROWS).min(MAX_ROWS)
}
