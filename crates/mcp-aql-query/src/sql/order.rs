//! The order of rows, and the conditions that a row comes after a cursor.

use sea_query::{Expr, ExprTrait as _, NullOrdering, Order, SelectStatement};

use super::SqlError;
use super::condition::joined;
use super::context::{Context, Source, StoredForm};
use super::dialect::{Dialect, Form, Operand, truth};
use super::layout::Columns;
use crate::plan::{Plan, SortBy};
use crate::value::{Scalar, ValueKind};

/// Returns `true` if the database sorts NULL first by default: NULL is smallest in SQLite and largest in PostgreSQL.
fn puts_missing_first(dialect: Dialect, descending: bool) -> bool {
    (dialect == Dialect::Sqlite) != descending
}

/// One sort key, in the direction of the search.
#[derive(Debug, Clone)]
pub(super) struct Key {
    /// The expression to compare.
    ordered: Expr,
    /// The kind of operands for comparisons with the expression.
    place: Place,
    descending: bool,
    /// If `true`, the value can be NULL. Other programs may have stored NULL even if the field is not
    /// optional.
    may_be_null: bool,
    /// If `true`, the field is optional. Every numeric field is, because for example `NaN` is stored as NULL.
    optional: bool,
    /// If `true`, rows without a value come first.
    ///
    /// For an optional field, this is the case if the order is reversed. For other fields, it is the default
    /// of the database, so that the database can use its indexes.
    missing_first: bool,
}

#[derive(Debug, Clone)]
enum Place {
    Field(Box<Source>),
    Score,
    /// The internal row number, after all fields.
    RowNumber,
}

/// Returns the keys of a plan's order. It is reversed if the last rows are requested.
pub(super) fn keys(
    context: &Context<'_>,
    plan: &Plan,
    score: Option<&Expr>,
) -> Result<Vec<Key>, SqlError> {
    let reversed = plan.window.is_from_end();
    let dialect = context.dialect();
    let key = |key: &crate::plan::SortKey| {
        let descending = key.descending != reversed;
        Ok(match key.by {
            SortBy::Field(place) => {
                let source = context.source(place)?;
                let ordered = source.ordered(dialect);
                let optional = source.info.optional || source.info.kind == ValueKind::Number;
                let place = Place::Field(Box::new(source));
                let missing_first =
                    if optional { reversed } else { puts_missing_first(dialect, descending) };
                Key { ordered, place, descending, may_be_null: true, optional, missing_first }
            }
            SortBy::Score => {
                let score = score.cloned().unwrap_or_else(|| super::dialect::number(0));
                Key {
                    ordered: score,
                    place: Place::Score,
                    descending,
                    may_be_null: false,
                    optional: false,
                    missing_first: false,
                }
            }
        })
    };
    let mut keys = plan.sort.iter().map(key).collect::<Result<Vec<_>, SqlError>>()?;
    keys.extend(context.row_number.map(|name| Key {
        ordered: context.column(name),
        place: Place::RowNumber,
        descending: reversed,
        may_be_null: false,
        optional: false,
        missing_first: false,
    }));
    Ok(keys)
}

/// A range of the order, and the keys whose values differ within the range.
pub(super) struct OrderRange {
    /// The condition that a row is in the range.
    pub(super) condition: Expr,
    /// The index of the first key with different values.
    pub(super) from: usize,
}

/// Returns the rows after a cursor, as consecutive ranges for an index.
///
/// The first range contains the rows that differ from the cursor in the last key only, and the last range
/// those that differ in the first key. For example, after the cursor (3, 7) in the order `priority, task_id`:
///
/// ```sql
/// WHERE priority = 3 AND task_id > 7
/// WHERE priority > 3
/// ```
///
/// With a single condition that contains `OR`, a database would scan all rows that tie with the cursor. This
/// is cheaper than a second statement only if ties are rare.
pub(super) fn behind(dialect: Dialect, keys: &[Key], place: &[Scalar]) -> Vec<OrderRange> {
    if let Some(ranges) = as_tuple(dialect, keys, place) {
        return ranges;
    }
    if keys.iter().any(|key| matches!(key.place, Place::Score)) {
        // No index contains scores, so a single pass is best.
        return vec![OrderRange { condition: nested(dialect, keys, place), from: 0 }];
    }
    if let (Some(first), Some(value)) = (keys.first(), place.first())
        && first.is_mostly_unique()
        && let Some(bound) = first.not_before(dialect, value)
    {
        // These ranges exclude rows without a value. Such rows come after all others, in a range of their
        // own.
        let mut present = keys.to_vec();
        if let Some(first) = present.first_mut() {
            first.may_be_null = false;
        }
        let condition = bound.and(nested(dialect, &present, place));
        let mut stretches = vec![OrderRange { condition, from: 0 }];
        if first.comes_before_missing() {
            stretches.push(OrderRange { condition: first.ordered.clone().is_null(), from: 1 });
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
            stretches.push(OrderRange { condition: joined(all, true), from });
        }
    }
    stretches
}

/// Returns the same rows as one condition.
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

/// Returns the same rows as one tuple comparison, followed by the rows without a value. Returns `None` if a
/// key is optional or the directions differ.
///
/// SQLite is excluded, because it uses an index for the first key only, unless the others are plain columns.
fn as_tuple(dialect: Dialect, keys: &[Key], place: &[Scalar]) -> Option<Vec<OrderRange>> {
    if dialect == Dialect::Sqlite {
        return None;
    }
    let (first, rest) = keys.split_first()?;
    let uniform = |key: &Key| key.descending == first.descending && !key.optional;
    if rest.is_empty() || keys.len() != place.len() || !keys.iter().all(uniform) {
        return None;
    }
    // Rows without a value of a later key, other than the identifier, would come between the others.
    if first.comes_before_missing() && keys.len() > 2 {
        return None;
    }
    let values = keys.iter().zip(place).map(|(key, value)| key.exactly(dialect, value));
    let values = Expr::tuple(values.collect::<Option<Vec<_>>>()?);
    let columns = Expr::tuple(keys.iter().map(|key| key.ordered.clone()));
    let condition = if first.descending { columns.lt(values) } else { columns.gt(values) };
    let mut ranges = vec![OrderRange { condition, from: 0 }];
    if first.comes_before_missing() {
        ranges.push(OrderRange { condition: first.ordered.clone().is_null(), from: 1 });
    }
    Some(ranges)
}

impl Key {
    /// Returns `true` if rows without a value may come after rows with a value.
    const fn comes_before_missing(&self) -> bool {
        self.may_be_null && !self.missing_first
    }

    fn operand(&self, dialect: Dialect, value: &Scalar) -> Operand {
        match &self.place {
            Place::Field(source) => source.place_of(dialect, value),
            Place::Score | Place::RowNumber => dialect.operand(value, Form::Integer),
        }
    }

    fn exactly(&self, dialect: Dialect, value: &Scalar) -> Option<Expr> {
        match self.operand(dialect, value) {
            Operand::Exact(value) if matches!(self.place, Place::Field(_)) => Some(value),
            _ => None,
        }
    }

    /// Returns the condition that a row has this value, or `None` if no row can have it.
    fn same_as(&self, dialect: Dialect, value: &Scalar) -> Option<Expr> {
        if value.is_null() {
            return Some(self.ordered.clone().is_null());
        }
        match self.operand(dialect, value) {
            Operand::Exact(value) => Some(self.ordered.clone().eq(value)),
            _ => None,
        }
    }

    /// Returns the conditions that a row comes after this value, in order. The boolean is `true` if such rows
    /// have no value.
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
        let missing = self.comes_before_missing().then(|| (self.ordered.clone().is_null(), true));
        condition.map(|condition| (condition, false)).into_iter().chain(missing).collect()
    }

    /// Returns `true` if few rows share a value, as with instants and measurements.
    fn is_mostly_unique(&self) -> bool {
        match &self.place {
            Place::Field(source) => {
                matches!(source.info.kind, ValueKind::Instant | ValueKind::Number)
            }
            Place::Score | Place::RowNumber => false,
        }
    }

    /// Returns the condition that a row comes at this value or after it, in a form for indexes.
    fn not_before(&self, dialect: Dialect, value: &Scalar) -> Option<Expr> {
        let column = self.ordered.clone();
        match self.operand(dialect, value) {
            Operand::Exact(value) if self.descending => Some(column.lte(value)),
            Operand::Exact(value) => Some(column.gte(value)),
            _ => None,
        }
    }

    /// Adds the key to a statement.
    ///
    /// Defaults of the database are omitted, because an index is only used if the order is written exactly as
    /// in the index. The score is referenced by its column number, because any name could be the name of a
    /// column. `score` is counted from 0.
    pub(super) fn add_to(&self, dialect: Dialect, score: usize, select: &mut SelectStatement) {
        let order = if self.descending { Order::Desc } else { Order::Asc };
        let by = match self.place {
            Place::Field(_) | Place::RowNumber => self.ordered.clone(),
            Place::Score => Expr::cust((score + 1).to_string()),
        };
        let first_anyway = puts_missing_first(dialect, self.descending);
        if !self.optional || first_anyway == self.missing_first {
            select.order_by_expr(by, order);
        } else if self.missing_first {
            select.order_by_expr_with_nulls(by, order, NullOrdering::First);
        } else {
            select.order_by_expr_with_nulls(by, order, NullOrdering::Last);
        }
    }

    /// Adds the key to the columns of a statement. Returns its index and the form of its field, or `None` for
    /// the score.
    pub(super) fn add_column(
        &self,
        context: &Context<'_>,
        columns: &mut Columns,
    ) -> Option<(usize, Option<StoredForm>)> {
        match &self.place {
            Place::Field(source) => {
                let stored = source.stored(context.dialect());
                Some((columns.add_sorted(context, source), Some(stored)))
            }
            Place::RowNumber => Some((columns.push(self.ordered.clone()), None)),
            Place::Score => None,
        }
    }
}
