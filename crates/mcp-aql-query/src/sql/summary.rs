//! Aggregates: one statement for each field in `group_by`.

use std::borrow::Cow;

use sea_query::{Alias, Expr, ExprTrait as _, Func, Query, SelectStatement};

use super::SqlError;
use super::context::{Context, Source, StoredForm};
use super::dialect::{Dialect, Form, number};
use super::stored_value::{group_key, scalar};
use super::value::SqlValue;
use crate::aggregate::{MAX_GROUPS, of_no_rows, too_many_groups};
use crate::plan::{Aggregate, FieldIndex, Function};
use crate::value::Scalar;

/// The groups of an aggregate, with the values of its functions.
pub(super) type GroupValues = Vec<(Scalar, Vec<Scalar>)>;

/// A value computed by the database for each group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    Rows,
    /// The number of rows with a value.
    Values(FieldIndex),
    Sum(FieldIndex),
    Min(FieldIndex),
    Max(FieldIndex),
}

/// The statement for all aggregates with the same `group_by`, or without one.
#[derive(Debug)]
pub(super) struct SummaryStatement {
    group: Option<StoredForm>,
    /// The index of each measure's first column.
    measures: Vec<(Measure, usize)>,
    sources: Vec<(FieldIndex, StoredForm)>,
    columns: usize,
    /// The indexes of the aggregates.
    aggregates: Vec<usize>,
}

/// Returns the number of columns of a sum.
///
/// SQLite fails if a sum exceeds 64 bits. The upper and lower 32 bits of each number are therefore summed
/// separately:
///
/// ```sql
/// SUM("size" >> 32), SUM("size" & 4294967295)
/// ```
const fn width(dialect: Dialect, measure: Measure, form: Option<Form>) -> usize {
    match (dialect, measure, form) {
        (Dialect::Sqlite, Measure::Sum(_), Some(Form::Integer)) => 2,
        _ => 1,
    }
}

const LOW_HALF_MASK: i64 = 0xffff_ffff;

impl SummaryStatement {
    /// Returns the statements for the aggregates of a query, without the conditions shared by all its
    /// statements.
    pub(super) fn all(
        context: &Context<'_>,
        aggregates: &[Aggregate],
    ) -> Result<Vec<(Self, SelectStatement)>, SqlError> {
        let mut groups: Vec<(Option<FieldIndex>, Vec<usize>)> = Vec::new();
        for (number, aggregate) in aggregates.iter().enumerate() {
            match groups.iter_mut().find(|(group, _)| *group == aggregate.group_by) {
                Some((_, numbers)) => numbers.push(number),
                None => groups.push((aggregate.group_by, vec![number])),
            }
        }
        groups
            .into_iter()
            .map(|(group, numbers)| Self::of(context, aggregates, group, numbers))
            .collect()
    }

    fn of(
        context: &Context<'_>,
        all: &[Aggregate],
        group: Option<FieldIndex>,
        aggregates: Vec<usize>,
    ) -> Result<(Self, SelectStatement), SqlError> {
        let dialect = context.dialect();
        let mut select = Query::select();
        let group = group.map(|place| context.source(place)).transpose()?;
        if let Some(source) = &group {
            // Group by the form used in comparisons, so that the database forms the same groups as the
            // in-memory executor.
            let key = match (dialect, source.form) {
                (Dialect::Sqlite, Form::Text | Form::Choice) => source.same(dialect),
                _ => source.shown(dialect),
            };
            select.expr(key);
            select.add_group_by([Expr::cust("1")]);
            select.limit(MAX_GROUPS as u64 + 1);
        }
        let columns = usize::from(group.is_some());
        let group = group.map(|source| source.stored(dialect));
        let mut this =
            Self { group, measures: Vec::new(), sources: Vec::new(), columns, aggregates };
        for place in this.aggregates.clone() {
            let functions = all.get(place).map_or(&[][..], |aggregate| &aggregate.functions);
            for function in functions {
                let needed: &[Measure] = match *function {
                    Function::Count => &[Measure::Rows],
                    Function::Sum(field) => &[Measure::Sum(field)],
                    Function::Avg(field) => &[Measure::Sum(field), Measure::Values(field)],
                    Function::Min(field) => &[Measure::Min(field)],
                    Function::Max(field) => &[Measure::Max(field)],
                };
                for measure in needed {
                    this.add(context, *measure, &mut select)?;
                }
            }
        }
        if this.columns == 0 {
            select.expr(Expr::cust("1"));
        }
        Ok((this, select))
    }

    fn add(
        &mut self,
        context: &Context<'_>,
        measure: Measure,
        select: &mut SelectStatement,
    ) -> Result<(), SqlError> {
        if self.measures.iter().any(|(known, _)| *known == measure) {
            return Ok(());
        }
        let dialect = context.dialect();
        let field = match measure {
            Measure::Rows => None,
            Measure::Values(field)
            | Measure::Sum(field)
            | Measure::Min(field)
            | Measure::Max(field) => Some(field),
        };
        let source = field.map(|field| context.source(field)).transpose()?;
        let form = source.as_ref().map(|source| source.form);
        match (measure, &source) {
            (Measure::Rows, _) | (_, None) => {
                select.expr(Func::count(Expr::cust("*")));
            }
            (Measure::Values(_), Some(source)) => {
                select.expr(Func::count(source.if_allowed(dialect, source.column.clone())));
            }
            (Measure::Sum(_), Some(source)) => {
                for sum in sums(dialect, source) {
                    select.expr(sum);
                }
            }
            (Measure::Min(_), Some(source)) => {
                let least = source.if_allowed(dialect, source.ordered(dialect));
                let least = Expr::from(Func::min(least));
                select.expr(dialect.shown(least, source.form));
            }
            (Measure::Max(_), Some(source)) => {
                let largest = source.if_allowed(dialect, source.ordered(dialect));
                let largest = Expr::from(Func::max(largest));
                select.expr(dialect.shown(largest, source.form));
            }
        }
        self.measures.push((measure, self.columns));
        self.columns += width(dialect, measure, form);
        if let (Some(field), Some(source)) = (field, source) {
            self.sources.push((field, source.stored(dialect)));
        }
        Ok(())
    }

    /// Returns the groups of each aggregate with the values of their functions. The number is the index of the
    /// aggregate in the query.
    ///
    /// # Errors
    ///
    /// Returns an error if there are more than [`MAX_GROUPS`] groups, or a column contains an unexpected type.
    pub(super) fn read(
        &self,
        dialect: Dialect,
        all: &[Aggregate],
        rows: &[Vec<SqlValue>],
    ) -> Result<Vec<(usize, GroupValues)>, SqlError> {
        let mut results = Vec::with_capacity(self.aggregates.len());
        for place in &self.aggregates {
            let Some(aggregate) = all.get(*place) else { continue };
            if self.group.is_some() && rows.len() > MAX_GROUPS {
                return Err(too_many_groups(&aggregate.label).into());
            }
            let mut groups = Vec::with_capacity(rows.len());
            for row in rows {
                let key = match &self.group {
                    Some(stored) => group_key(*stored, row.first())?,
                    None => Scalar::Null,
                };
                let values = aggregate.functions.iter().map(|each| self.value(dialect, *each, row));
                groups.push((key, values.collect::<Result<Vec<_>, _>>()?));
            }
            results.push((*place, groups));
        }
        Ok(results)
    }

    fn stored(&self, field: FieldIndex) -> Option<StoredForm> {
        self.sources.iter().find(|(known, _)| *known == field).map(|(_, stored)| *stored)
    }

    fn column<'a>(
        &self,
        measure: Measure,
        row: &'a [SqlValue],
        offset: usize,
    ) -> Option<&'a SqlValue> {
        let (_, column) = self.measures.iter().find(|(known, _)| *known == measure)?;
        row.get(column + offset)
    }

    fn count(&self, measure: Measure, row: &[SqlValue]) -> Result<i64, SqlError> {
        match self.column(measure, row, 0) {
            Some(SqlValue::Int(count)) => Ok(*count),
            other => Err(unexpected("count(*)", "a whole number", other)),
        }
    }

    /// Returns the value of a function. It equals the result of the in-memory executor.
    fn value(
        &self,
        dialect: Dialect,
        function: Function,
        row: &[SqlValue],
    ) -> Result<Scalar, SqlError> {
        let extreme = |measure, field| match self.stored(field) {
            Some(stored) => scalar(stored, self.column(measure, row, 0)),
            None => Ok(Scalar::Null),
        };
        match function {
            Function::Count => Ok(Scalar::Int(self.count(Measure::Rows, row)?.into())),
            Function::Sum(field) => {
                Ok(self.sum(dialect, field, row)?.unwrap_or_else(|| of_no_rows(function)))
            }
            Function::Avg(field) => {
                let count = self.count(Measure::Values(field), row)?;
                #[expect(clippy::cast_precision_loss, reason = "a mean has a fraction")]
                let mean = match self.sum(dialect, field, row)? {
                    Some(Scalar::Int(sum)) if count > 0 => sum as f64 / count as f64,
                    Some(Scalar::Float(sum)) if count > 0 => sum / count as f64,
                    _ => return Ok(Scalar::Null),
                };
                Ok(Scalar::Float(mean + 0.0))
            }
            Function::Min(field) => extreme(Measure::Min(field), field),
            Function::Max(field) => extreme(Measure::Max(field), field),
        }
    }

    /// Returns the sum of a field, or `None` if no row has a value.
    fn sum(
        &self,
        dialect: Dialect,
        field: FieldIndex,
        row: &[SqlValue],
    ) -> Result<Option<Scalar>, SqlError> {
        let Some(stored) = self.stored(field) else { return Ok(None) };
        let column = |offset| self.column(Measure::Sum(field), row, offset);
        let path = &stored.info.path;
        if stored.form != Form::Integer {
            #[expect(clippy::cast_precision_loss, reason = "so the field holds it")]
            return match column(0) {
                Some(SqlValue::Null) => Ok(None),
                Some(SqlValue::Float(sum)) => Ok(Some(Scalar::Float(*sum + 0.0))),
                Some(SqlValue::Int(sum)) => Ok(Some(Scalar::Float(*sum as f64))),
                other => Err(unexpected(path, "a number", other)),
            };
        }
        match (dialect, column(0)) {
            (_, Some(SqlValue::Null)) => Ok(None),
            (Dialect::Sqlite, Some(SqlValue::Int(high))) => match column(1) {
                Some(SqlValue::Int(low)) => {
                    Ok(Some(Scalar::Int((i128::from(*high) << 32) + i128::from(*low))))
                }
                other => Err(unexpected(path, "a whole number", other)),
            },
            (Dialect::Postgres, Some(SqlValue::Text(sum))) => match sum.parse() {
                Ok(sum) => Ok(Some(Scalar::Int(sum))),
                Err(_) => Err(unexpected(path, "a whole number", column(0))),
            },
            (_, other) => Err(unexpected(path, "a whole number", other)),
        }
    }
}

/// Returns the columns of a sum.
fn sums(dialect: Dialect, source: &Source) -> Vec<Expr> {
    let column = source.if_allowed(dialect, source.column.clone());
    let sum = |of: Expr| Expr::from(Func::sum(of));
    match (dialect, source.form) {
        (Dialect::Sqlite, Form::Integer) => {
            vec![
                sum(column.clone().right_shift(number(32))),
                sum(column.bit_and(number(LOW_HALF_MASK))),
            ]
        }
        (Dialect::Postgres, Form::Integer) => {
            // Read the sum as a string, because it may exceed `bigint`.
            let whole = column.cast_as(Alias::new("bigint"));
            vec![sum(whole).cast_as(Alias::new("text"))]
        }
        (_, _) => vec![sum(source.as_double(dialect))],
    }
}

fn unexpected(path: &str, expected: &'static str, found: Option<&SqlValue>) -> SqlError {
    let path = Cow::from(path).into_owned();
    SqlError::Column { path, expected, found: found.map_or("no column", SqlValue::kind) }
}
