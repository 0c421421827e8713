//! Renders conditions on rows as SQL.
//!
//! In SQL, a comparison with a missing value is neither true nor false. Directly below `WHERE`, `AND` and
//! `OR` it counts as false. `NOT` is rendered as `IS NOT TRUE`, so that it counts as false there too:
//!
//! ```sql
//! WHERE ("status" = 'open') AND ("owner" = 'ada') IS NOT TRUE
//! ```

use std::cmp::Ordering;

use sea_query::extension::postgres::PgBinOper;
use sea_query::{Alias, CaseStatement, Expr, ExprTrait as _, Query};

use super::SqlError;
use super::context::{Context, Source};
use super::dialect::{Dialect, Form, Operand, function, literal, number, truth};
use crate::plan::{Filter, Test};
use crate::text::TextQuery;
use crate::value::{Scalar, ValueKind};

/// The alias of a list's entries inside a condition.
const ENTRY: &str = "entry";

/// Joins conditions into a balanced tree, because databases limit the depth of expressions.
pub(super) fn joined(mut parts: Vec<Expr>, all: bool) -> Expr {
    while parts.len() > 1 {
        let mut halves = Vec::with_capacity(parts.len().div_ceil(2));
        let mut each = parts.into_iter();
        while let Some(left) = each.next() {
            halves.push(match each.next() {
                Some(right) if all => left.and(right),
                Some(right) => left.or(right),
                None => left,
            });
        }
        parts = halves;
    }
    parts.pop().unwrap_or_else(|| truth(all))
}

/// Returns the condition that a value exists.
fn there(column: Expr) -> Expr {
    column.is_not_null()
}

impl Context<'_> {
    /// Returns the condition of a filter.
    pub(super) fn condition(&self, filter: &Filter) -> Result<Expr, SqlError> {
        let each = |parts: &[Filter]| {
            parts.iter().map(|part| self.condition(part)).collect::<Result<Vec<_>, _>>()
        };
        Ok(match filter {
            Filter::All(parts) => joined(each(parts)?, true),
            Filter::Any(parts) => joined(each(parts)?, false),
            Filter::Not(inner) => self.condition(inner)?.is_not(truth(true)),
            Filter::Field(place, test) => self.test(&self.source(*place)?, test),
        })
    }

    /// Returns a weaker condition: it holds for all rows that the filter accepts, and maybe for others.
    /// Returns `None` if there is no such condition.
    pub(super) fn rough_condition(&self, filter: &Filter) -> Option<Expr> {
        match filter {
            Filter::All(parts) => {
                let parts: Vec<_> =
                    parts.iter().filter_map(|part| self.rough_condition(part)).collect();
                (!parts.is_empty()).then(|| joined(parts, true))
            }
            other => self.condition(other).ok(),
        }
    }

    /// Returns the path of a field that no row can satisfy, because its column cannot contain the operand.
    pub(super) fn unmatched(&self, filter: &Filter) -> Option<String> {
        let (place, test) = match filter {
            Filter::All(parts) | Filter::Any(parts) => {
                return parts.iter().find_map(|part| self.unmatched(part));
            }
            Filter::Not(_) => return None,
            Filter::Field(place, test) => (place, test),
        };
        let operands = match test {
            Test::Equals(operand) => std::slice::from_ref(operand),
            Test::AnyOf(operands) if !operands.is_empty() => operands,
            _ => return None,
        };
        let source = self.source(*place).ok().filter(|source| !source.info.list)?;
        let is_unknown = |operand| source.equal(self.dialect(), operand).is_none();
        operands.iter().all(is_unknown).then(|| source.info.path.clone())
    }

    /// Returns the condition of a test.
    fn test(&self, source: &Source, test: &Test) -> Expr {
        let dialect = self.dialect();
        if source.info.list {
            return entries(dialect, source, test);
        }
        if source.form == Form::Json {
            // Such a field can only be selected, so no other test is possible.
            return match test {
                Test::Exists => exists(dialect, source.column.clone(), "null"),
                _ => truth(false),
            };
        }
        scalar(dialect, source, test)
    }

    /// Returns the condition that one of the terms occurs in one of the fields, and the score of a row.
    pub(super) fn words(&self, text: &TextQuery) -> Result<(Expr, Expr), SqlError> {
        let dialect = self.dialect();
        let unmapped = || SqlError::Unmapped { path: "query".to_owned() };
        let searched = self.table.fields().iter().filter(|field| field.search);
        let columns = searched
            .map(|field| self.mapping.folded.get(&field.path).map(|name| self.column(name)))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(unmapped)?;
        let mut found = Vec::new();
        let mut score: Option<Expr> = None;
        for column in columns {
            for term in text.terms() {
                let whole = dialect.has(column.clone(), term.words());
                let weight = number(term.weight().into());
                let mut counts = CaseStatement::new().case(whole.clone(), weight);
                match term.prefix() {
                    Some(start) => {
                        let begins = dialect.has(column.clone(), start);
                        counts = counts.case(begins.clone(), number(1));
                        // A whole word includes its beginning.
                        found.push(begins);
                    }
                    None => found.push(whole),
                }
                let counts = Expr::Case(Box::new(counts.finally(number(0))));
                score = Some(match score {
                    Some(score) => score.add(counts),
                    None => counts,
                });
            }
        }
        let score = score.unwrap_or_else(|| number(0));
        Ok((joined(found, false), score))
    }
}

/// Returns the condition that a document exists and is neither a JSON null nor an empty list.
fn exists(dialect: Dialect, document: Expr, empty: &'static str) -> Expr {
    let kind = match dialect {
        Dialect::Sqlite => "json_type",
        Dialect::Postgres => "jsonb_typeof",
    };
    Expr::from(function(kind).arg(dialect.document(document))).ne(literal(empty))
}

impl Dialect {
    /// Returns the document in a column, or `NULL` if the column does not contain valid JSON. In SQLite,
    /// invalid JSON would make the statement fail.
    pub(super) fn document(self, column: Expr) -> Expr {
        if self == Self::Postgres {
            return column;
        }
        let is_valid = Expr::from(function("json_valid").arg(column.clone()));
        Expr::Case(Box::new(CaseStatement::new().case(is_valid, column)))
    }
}

/// Returns the document if it is a list. Other documents have no entries.
fn list(dialect: Dialect, document: Expr) -> Expr {
    match dialect {
        Dialect::Sqlite => dialect.document(document),
        Dialect::Postgres => {
            let kind = Expr::from(function("jsonb_typeof").arg(document.clone()));
            Expr::Case(Box::new(CaseStatement::new().case(kind.eq(literal("array")), document)))
        }
    }
}

/// Returns the condition that an entry of a list passes a test.
fn entries(dialect: Dialect, source: &Source, test: &Test) -> Expr {
    let document = source.column.clone();
    let form = Form::in_json(source.info.kind);
    match (dialect, test) {
        (_, Test::Exists) => {
            let length = match dialect {
                Dialect::Sqlite => "json_array_length",
                Dialect::Postgres => "jsonb_array_length",
            };
            return Expr::from(function(length).arg(list(dialect, document))).gt(number(0));
        }
        // PostgreSQL's indexes support containment.
        (Dialect::Postgres, Test::Equals(value)) => return contains(dialect, source, value),
        (Dialect::Postgres, Test::AnyOf(values)) => {
            let each = values.iter().map(|value| contains(dialect, source, value)).collect();
            return joined(each, false);
        }
        _ => {}
    }
    let (unpack, entry) = match dialect {
        Dialect::Sqlite => ("json_each", "value"),
        Dialect::Postgres => ("jsonb_array_elements_text", "value"),
    };
    let value = Expr::col((Alias::new(ENTRY), Alias::new(entry)));
    let column = dialect.read_text(value, form);
    let entry = Source { info: source.info, column, form, inside: true, typed: None };
    let select = Query::select()
        .expr(number(1))
        .from_function(function(unpack).arg(list(dialect, document)), Alias::new(ENTRY))
        .and_where(scalar(dialect, &entry, test))
        .to_owned();
    Expr::exists(select)
}

/// Returns the condition that a list contains this entry, by the comparison of PostgreSQL's `jsonb`.
fn contains(dialect: Dialect, source: &Source, value: &Scalar) -> Expr {
    let text = match source.rounded(value, true) {
        Scalar::Text(text) if !dialect.holds(&text) => None,
        // The number is too large for the list's numbers. In JSON it would become null.
        Scalar::Float(value) if !value.is_finite() => None,
        value => serde_json::to_string(&[value]).ok(),
    };
    let Some(text) = text else { return truth(false) };
    let json = Expr::val(text).cast_as(Alias::new("jsonb"));
    let typed = source.typed.as_ref();
    match typed.and_then(|(column, kind)| kind.contains(column, json.clone())) {
        Some(contains) => contains,
        None => source.column.clone().binary(PgBinOper::Contains, json),
    }
}

/// Returns the condition of a test of one value.
fn scalar(dialect: Dialect, source: &Source, test: &Test) -> Expr {
    if let Some(condition) = source.float_test(dialect, test) {
        return condition;
    }
    let exact = |value: &Scalar| source.equal(dialect, value);
    let text = source.form == Form::Text || source.form == Form::Choice;
    match test {
        Test::Exists => there(source.column.clone()),
        Test::Equals(value) => match exact(value) {
            Some(value) => source.same(dialect).eq(value),
            None => truth(false),
        },
        Test::AnyOf(values) => {
            let values: Vec<_> = values.iter().filter_map(exact).collect();
            if values.is_empty() {
                return truth(false);
            }
            source.same(dialect).is_in(values)
        }
        Test::Above { bound, inclusive } if source.info.kind == ValueKind::Choice => {
            ranked(dialect, source, bound, Ordering::Greater, *inclusive)
        }
        Test::Below { bound, inclusive } if source.info.kind == ValueKind::Choice => {
            ranked(dialect, source, bound, Ordering::Less, *inclusive)
        }
        Test::Above { bound, inclusive } => {
            let column = source.ordered(dialect);
            let above = match source.operand(dialect, bound) {
                Operand::Exact(value) if *inclusive => column.gte(value),
                Operand::Exact(value) | Operand::Above(value) => column.gt(value),
                Operand::Smallest => there(column),
                Operand::Largest => return truth(false),
            };
            only_allowed(dialect, source, above)
        }
        Test::Below { bound, inclusive } => {
            let column = source.ordered(dialect);
            let below = match source.operand(dialect, bound) {
                Operand::Exact(value) if !*inclusive => column.lt(value),
                Operand::Exact(value) | Operand::Above(value) => column.lte(value),
                Operand::Smallest => return truth(false),
                Operand::Largest => there(column),
            };
            only_allowed(dialect, source, below)
        }
        Test::Contains(part) if text && dialect.holds(part) => {
            dialect.has(source.column.clone(), part)
        }
        Test::StartsWith(start) if text && dialect.holds(start) => {
            starts_with(&source.as_text(dialect), start)
        }
        Test::Contains(_) | Test::StartsWith(_) => truth(false),
    }
}

/// Restricts a condition on the order of a value to values that the field's type allows. The database can
/// still use an index.
fn only_allowed(dialect: Dialect, source: &Source, condition: Expr) -> Expr {
    match source.is_allowed(dialect) {
        Some(is_allowed) => condition.and(is_allowed),
        None => condition,
    }
}

/// Returns the condition that a choice ranks before or after another one, as a list of names.
fn ranked(
    dialect: Dialect,
    source: &Source,
    bound: &Scalar,
    wanted: Ordering,
    inclusive: bool,
) -> Expr {
    let Scalar::Text(bound) = bound else { return truth(false) };
    let rank = source.info.rank(bound);
    let names = source.info.choices.iter().enumerate().filter(|(place, _)| {
        let order = place.cmp(&rank);
        order == wanted || (inclusive && order.is_eq())
    });
    let names: Vec<_> = names.map(|(_, name)| literal(name)).collect();
    if names.is_empty() {
        return truth(false);
    }
    source.same(dialect).is_in(names)
}

/// Returns the condition that a string starts with a prefix. It is a range, because an index can find a
/// range.
///
/// ```sql
/// "title" >= 'Em' AND "title" < 'En'
/// ```
fn starts_with(text: &Expr, start: &str) -> Expr {
    if start.is_empty() {
        return there(text.clone());
    }
    let from = text.clone().gte(Expr::val(start));
    match behind(start) {
        Some(end) => from.and(text.clone().lt(Expr::val(end))),
        None => from,
    }
}

/// Returns the smallest string, by bytes, after all strings with this prefix.
fn behind(start: &str) -> Option<String> {
    let mut text = start.to_owned();
    while let Some(last) = text.pop() {
        if let Some(next) = (last..=char::MAX).nth(1) {
            text.push(next);
            return Some(text);
        }
    }
    None
}

impl Source {
    /// Returns a string or choice with a collation for comparisons by bytes.
    fn as_text(&self, dialect: Dialect) -> Expr {
        dialect.ordered(self.column.clone(), Form::Text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::behind;

    proptest! {
        #[test]
        fn a_prefix_is_a_range(start in "\\PC{1,3}|[\u{10fffe}\u{10ffff}\u{d7ff}z]{1,3}", text: String) {
            let inside = |text: &str| {
                text >= start.as_str() && behind(&start).is_none_or(|end| text < end.as_str())
            };
            prop_assert_eq!(inside(&text), text.starts_with(&start));
            let longer = format!("{start}{text}");
            prop_assert!(inside(&longer));
            prop_assert!(inside(&start));
        }
    }
}
