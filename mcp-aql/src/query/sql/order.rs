//! The order of rows, and the conditions that a row comes behind a place in it.

use sea_query::{Expr, ExprTrait as _, NullOrdering, Order, SelectStatement};

use super::SqlError;
use super::condition::joined;
use super::context::Context;
use super::dialect::{Dialect, Form, Operand, truth};
use crate::query::plan::{Plan, SortBy, Window};
use crate::query::value::{Scalar, ValueKind};

/// One key of an order, in the direction in which rows are looked for.
#[derive(Debug, Clone)]
pub(super) struct Key {
    /// What is compared.
    ordered: Expr,
    /// What it is compared with.
    place: Place,
    descending: bool,
    /// Some rows have no value. Of numbers that is never sure: what is none, such as `NaN`, is kept
    /// as NULL.
    optional: bool,
    /// Those come first, because the order is turned around.
    missing_first: bool,
}

#[derive(Debug, Clone)]
enum Place {
    Field(super::context::Source),
    Score,
}

/// The keys of a plan's order; turned around where the last rows are looked for.
pub(super) fn keys(
    context: &Context<'_>,
    plan: &Plan,
    score: Option<&Expr>,
) -> Result<Vec<Key>, SqlError> {
    let reversed = matches!(plan.window, Window::Last { .. });
    let dialect = context.dialect();
    let key = |key: &crate::query::plan::SortKey| {
        let descending = key.descending != reversed;
        Ok(match key.by {
            SortBy::Field(place) => {
                let source = context.source(place)?;
                let ordered = source.ordered(dialect);
                let optional = source.info.optional || source.info.kind == ValueKind::Number;
                Key {
                    ordered,
                    place: Place::Field(source),
                    descending,
                    optional,
                    missing_first: reversed,
                }
            }
            SortBy::Score => {
                let score = score.cloned().unwrap_or_else(|| super::dialect::number(0));
                Key {
                    ordered: score,
                    place: Place::Score,
                    descending,
                    optional: false,
                    missing_first: false,
                }
            }
        })
    };
    plan.sort.iter().map(key).collect()
}

/// The place behind which, or before which, rows are looked for.
pub(super) fn place(plan: &Plan) -> Option<&[Scalar]> {
    match &plan.window {
        Window::First { after: place, .. } | Window::Last { before: place, .. } => place.as_deref(),
        Window::Offset { .. } => None,
    }
}

/// A stretch of an order, and the keys whose values differ in it.
pub(super) struct Stretch {
    /// That a row lies in it.
    pub(super) condition: Expr,
    /// The number of the first of these keys.
    pub(super) from: usize,
}

/// What comes behind a place, in stretches one behind the other, each of which an index can be asked
/// for: first the rows that differ from the place in the last key alone, in the end those that differ
/// in the first. One condition with `OR` would make a database pass over all that ties with the place;
/// that costs less than a second statement only where ties are rare.
pub(super) fn behind(dialect: Dialect, keys: &[Key], place: &[Scalar]) -> Vec<Stretch> {
    if let Some(condition) = as_tuple(dialect, keys, place) {
        return vec![Stretch { condition, from: 0 }];
    }
    if keys.iter().any(|key| matches!(key.place, Place::Score)) {
        // No index knows scores, so one pass is best.
        return vec![Stretch { condition: nested(dialect, keys, place), from: 0 }];
    }
    if let (Some(first), Some(value)) = (keys.first(), place.first())
        && first.is_hardly_ever_the_same()
        && let Some(bound) = first.not_before(dialect, value)
    {
        // Here are none without a value; those come behind all others, if they come at all.
        let mut present = keys.to_vec();
        if let Some(first) = present.first_mut() {
            first.optional = false;
        }
        let condition = bound.and(nested(dialect, &present, place));
        let mut stretches = vec![Stretch { condition, from: 0 }];
        if first.optional && !first.missing_first {
            stretches.push(Stretch { condition: first.ordered.clone().is_null(), from: 1 });
        }
        return stretches;
    }
    let mut stretches = Vec::new();
    for (index, (key, value)) in keys.iter().zip(place).enumerate().rev() {
        let ties = keys.iter().zip(place).take(index);
        let ties: Option<Vec<_>> = ties.map(|(key, value)| key.same_as(dialect, value)).collect();
        let Some(ties) = ties else { continue };
        for (condition, missing) in key.strictly_behind(dialect, value) {
            let mut all = ties.clone();
            all.push(condition);
            let from = index + usize::from(missing);
            stretches.push(Stretch { condition: joined(all, true), from });
        }
    }
    stretches
}

/// The same as one condition.
fn nested(dialect: Dialect, keys: &[Key], place: &[Scalar]) -> Expr {
    let mut rest: Option<Expr> = None;
    for (key, value) in keys.iter().zip(place).rev() {
        let behind = key.strictly_behind(dialect, value);
        let mut each: Vec<_> = behind.into_iter().map(|(condition, _)| condition).collect();
        if let (Some(rest), Some(same)) = (rest, key.same_as(dialect, value)) {
            each.push(same.and(rest));
        }
        rest = Some(joined(each, false));
    }
    rest.unwrap_or_else(|| truth(true))
}

/// The same in one comparison, where all keys have values and one direction. SQLite's indexes are asked
/// for the first key of it alone, unless the others are columns and no more.
fn as_tuple(dialect: Dialect, keys: &[Key], place: &[Scalar]) -> Option<Expr> {
    if dialect == Dialect::Sqlite {
        return None;
    }
    let (first, rest) = keys.split_first()?;
    let uniform = |key: &Key| key.descending == first.descending && !key.optional;
    if rest.is_empty() || keys.len() != place.len() || !keys.iter().all(uniform) {
        return None;
    }
    let values = keys.iter().zip(place).map(|(key, value)| key.exactly(dialect, value));
    let values = Expr::tuple(values.collect::<Option<Vec<_>>>()?);
    let columns = Expr::tuple(keys.iter().map(|key| key.ordered.clone()));
    Some(if first.descending { columns.lt(values) } else { columns.gt(values) })
}

impl Key {
    fn operand(&self, dialect: Dialect, value: &Scalar) -> Operand {
        match &self.place {
            Place::Field(source) => source.place_of(dialect, value),
            Place::Score => dialect.operand(value, Form::Integer),
        }
    }

    fn exactly(&self, dialect: Dialect, value: &Scalar) -> Option<Expr> {
        match self.operand(dialect, value) {
            Operand::Exact(value) if matches!(self.place, Place::Field(_)) => Some(value),
            _ => None,
        }
    }

    /// That a row has this value; none where no row can.
    fn same_as(&self, dialect: Dialect, value: &Scalar) -> Option<Expr> {
        if value.is_null() {
            return Some(self.ordered.clone().is_null());
        }
        match self.operand(dialect, value) {
            Operand::Exact(value) => Some(self.ordered.clone().eq(value)),
            _ => None,
        }
    }

    /// The conditions that a row comes behind this value, in their order, and whether it then has
    /// none.
    fn strictly_behind(&self, dialect: Dialect, value: &Scalar) -> Vec<(Expr, bool)> {
        let column = self.ordered.clone();
        if value.is_null() {
            let others = self.missing_first.then(|| (column.is_not_null(), false));
            return others.into_iter().collect();
        }
        let condition = match (self.operand(dialect, value), self.descending) {
            (Operand::Exact(value) | Operand::Above(value), false) => Some(column.gt(value)),
            (Operand::Exact(value), true) => Some(column.lt(value)),
            (Operand::Above(value), true) => Some(column.lte(value)),
            (Operand::Smallest, false) | (Operand::Largest, true) => Some(column.is_not_null()),
            (Operand::Smallest, true) | (Operand::Largest, false) => None,
        };
        let missing = self.optional && !self.missing_first;
        let missing = missing.then(|| (self.ordered.clone().is_null(), true));
        condition.map(|condition| (condition, false)).into_iter().chain(missing).collect()
    }

    /// Whether few rows share a value, as it is with instants and measures.
    fn is_hardly_ever_the_same(&self) -> bool {
        let kind = self.source().map(|source| source.info.kind);
        matches!(kind, Some(ValueKind::Instant | ValueKind::Number))
    }

    /// That a row comes at this value or behind it, which an index can be asked.
    fn not_before(&self, dialect: Dialect, value: &Scalar) -> Option<Expr> {
        let column = self.ordered.clone();
        match self.operand(dialect, value) {
            Operand::Exact(value) if self.descending => Some(column.lte(value)),
            Operand::Exact(value) => Some(column.gte(value)),
            _ => None,
        }
    }

    /// Adds the key to a statement. What the database does anyway is not said, as indexes are only
    /// used for an order that is said as they have it.
    ///
    /// The score is named by the number of its column in a row, counted from 0: any name could be a
    /// column's of the table.
    pub(super) fn add_to(&self, dialect: Dialect, score: usize, select: &mut SelectStatement) {
        let order = if self.descending { Order::Desc } else { Order::Asc };
        let by = match self.place {
            Place::Field(_) => self.ordered.clone(),
            Place::Score => Expr::cust((score + 1).to_string()),
        };
        // What is missing is smallest in SQLite and largest in PostgreSQL.
        let first_anyway = (dialect == Dialect::Sqlite) != self.descending;
        if !self.optional || first_anyway == self.missing_first {
            select.order_by_expr(by, order);
        } else if self.missing_first {
            select.order_by_expr_with_nulls(by, order, NullOrdering::First);
        } else {
            select.order_by_expr_with_nulls(by, order, NullOrdering::Last);
        }
    }

    /// Where the value of the key is kept; none for the score.
    pub(super) fn source(&self) -> Option<&super::context::Source> {
        match &self.place {
            Place::Field(source) => Some(source),
            Place::Score => None,
        }
    }
}
