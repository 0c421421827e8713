//! Determines where and how a resource's fields are stored in a table.

use std::collections::HashMap;
use std::fmt;

use chrono::{DateTime, Utc};
use sea_query::{Alias, CaseStatement, Expr, ExprTrait as _, TableRef};

use super::SqlError;
use super::column_type::SqlType;
use super::dialect::{Dialect, Form, Operand, Storage};
use crate::capture::widened;
use crate::field_info::FieldInfo;
use crate::model::ResourceSchema;
use crate::plan::FieldIndex;
use crate::value::Scalar;

/// An expression written by the author of the adapter.
pub(super) type Expression = Box<dyn Fn(&Now) -> Expr + Send + Sync>;

/// The author's description of a table.
pub(super) struct Mapping {
    pub(super) dialect: Dialect,
    pub(super) schema: Option<String>,
    pub(super) table: String,
    pub(super) columns: HashMap<String, String>,
    pub(super) folded: HashMap<String, String>,
    pub(super) storage: HashMap<String, Storage>,
    pub(super) types: HashMap<String, SqlType>,
    pub(super) expressions: HashMap<String, Expression>,
    pub(super) scope: Vec<Expression>,
}

impl fmt::Debug for Mapping {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Mapping")
            .field("dialect", &self.dialect)
            .field("table", &self.table)
            .field("columns", &self.columns)
            .field("folded", &self.folded)
            .field("storage", &self.storage)
            .field("types", &self.types)
            .finish_non_exhaustive()
    }
}

/// The time of a query, for expressions that depend on it. All statements of a query see the same time.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    pub(super) dialect: Dialect,
    pub(super) instant: DateTime<Utc>,
}

impl Now {
    /// Returns the instant.
    pub fn instant(&self) -> DateTime<Utc> {
        self.instant
    }

    /// Returns the time as a parameter, to be compared with a column of this storage format.
    ///
    /// Compare a column of [`Storage::Text`] without the end of its value: `rtrim(created_at, 'Z0.')`.
    pub fn to_expr(&self, storage: Storage) -> Expr {
        let form = Form::of(crate::ValueKind::Instant, false, storage);
        self.operand(&Scalar::Instant(self.instant), form)
    }

    /// Returns the current date in UTC as a parameter, to be compared with a column of this storage format.
    pub fn today(&self, storage: Storage) -> Expr {
        let form = Form::of(crate::ValueKind::Date, false, storage);
        self.operand(&Scalar::Date(self.instant.date_naive()), form)
    }

    fn operand(&self, value: &Scalar, form: Form) -> Expr {
        match self.dialect.operand(value, form) {
            Operand::Exact(value) | Operand::Above(value) => value,
            Operand::Smallest | Operand::Largest => Expr::null(),
        }
    }
}

/// A table at the time of one query.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) mapping: &'a Mapping,
    pub(super) table: &'static ResourceSchema,
    pub(super) now: Now,
    /// The column with the internal row number, if several rows may have no identifier.
    pub(super) row_number: Option<&'static str>,
}

/// The storage of a field.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) info: &'static FieldInfo,
    pub(super) column: Expr,
    pub(super) form: Form,
    /// If `true`, the field is a part of a JSON document.
    pub(super) inside: bool,
    /// The column itself, if its type differs from the default for the field.
    pub(super) typed: Option<(Expr, SqlType)>,
}

/// The form of a field in the rows of a result.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredForm {
    pub(super) info: &'static FieldInfo,
    pub(super) form: Form,
    pub(super) dialect: Dialect,
}

impl Source {
    /// Returns the form of the field in the rows of a result.
    pub(super) const fn stored(&self, dialect: Dialect) -> StoredForm {
        StoredForm { info: self.info, form: self.form, dialect }
    }

    /// Returns the expression that orders rows by the field.
    pub(super) fn ordered(&self, dialect: Dialect) -> Expr {
        match &self.typed {
            Some((column, kind)) if kind.is_ordered(self.form) => return column.clone(),
            _ if self.form != Form::Choice => {
                return dialect.ordered(self.column.clone(), self.form);
            }
            _ => {}
        }
        // The names and their number belong to the type. They are therefore part of the statement, not
        // parameters.
        let mut rank = CaseStatement::new();
        for (place, name) in (0..).zip(&self.info.choices) {
            let same = dialect.same(self.column.clone(), self.form);
            let is = same.eq(super::dialect::literal(name));
            rank = rank.case(is, super::dialect::number(place));
        }
        if self.info.choices.is_empty() {
            return dialect.same(self.column.clone(), self.form);
        }
        // Unknown names rank after the known ones.
        let unknown = i64::try_from(self.info.choices.len()).unwrap_or(i64::MAX);
        let there = self.column.clone().is_not_null();
        rank = rank.case(there, super::dialect::number(unknown));
        Expr::Case(Box::new(rank))
    }

    /// Returns the expression for comparisons of equality.
    pub(super) fn same(&self, dialect: Dialect) -> Expr {
        match &self.typed {
            Some((column, kind)) if kind.is_compared(self.form) => column.clone(),
            // SQLite compares a key with `COLLATE NOCASE` without case, and a reference to it. The comparison must
            // agree with it.
            None if (self.info.id || self.info.reference)
                && self.form == Form::Text
                && !self.inside =>
            {
                self.column.clone()
            }
            _ => dialect.same(self.column.clone(), self.form),
        }
    }

    /// Returns the operand of a comparison for [equality](Self::same), or `None` if the column cannot contain
    /// the value.
    pub(super) fn equal(&self, dialect: Dialect, value: &Scalar) -> Option<Expr> {
        match &self.typed {
            Some((_, kind)) if kind.is_compared(self.form) => {
                kind.equal(value, self.info, self.form)
            }
            Some((_, kind)) if self.form == Form::Text && kind.is_converted() => match value {
                Scalar::Text(text) if dialect.holds(text) && kind.holds(text) => {
                    Some(kind.canonical(Expr::val(text.as_ref())))
                }
                _ => None,
            },
            _ => match self.operand(dialect, value) {
                Operand::Exact(value) => Some(value),
                _ => None,
            },
        }
    }

    /// Returns the expression for the list of selected columns.
    pub(super) fn shown(&self, dialect: Dialect) -> Expr {
        match (&self.typed, self.is_allowed(dialect)) {
            // The conversion of an instant would change any other value.
            (Some((stored, SqlType::Datetime)), Some(is_allowed)) => {
                let shown = CaseStatement::new().case(is_allowed, self.column.clone());
                Expr::Case(Box::new(shown.finally(stored.clone())))
            }
            _ => dialect.shown(self.column.clone(), self.form),
        }
    }

    /// Returns the operand of a comparison with the field's [order](Self::ordered).
    pub(super) fn place_of(&self, dialect: Dialect, value: &Scalar) -> Operand {
        match value {
            Scalar::Stored(value) if self.form == Form::Choice => self.place_of(dialect, value),
            Scalar::Text(name) if self.form == Form::Choice && !self.info.choices.is_empty() => {
                let rank = i64::try_from(self.info.rank(name)).unwrap_or(i64::MAX);
                Operand::Exact(Expr::val(rank))
            }
            Scalar::Stored(_) => dialect.operand(value, self.form),
            _ => self.operand(dialect, value),
        }
    }

    /// Converts a value into an operand to compare with the field.
    pub(super) fn operand(&self, dialect: Dialect, value: &Scalar) -> Operand {
        // A cursor of the in-memory executor contains a number as shown.
        let operand = dialect.operand(&self.rounded(value, self.inside), self.form);
        match &self.typed {
            Some((_, kind)) => kind.operand(operand, self.form),
            None => operand,
        }
    }

    /// Rounds a value to the precision of the field. A column stores a 32-bit number exactly, a JSON document its
    /// decimal form.
    pub(super) fn rounded(&self, value: &Scalar, inside: bool) -> Scalar {
        match value {
            #[expect(clippy::cast_possible_truncation, reason = "the field has 32 bits")]
            Scalar::Float(value) if self.info.single => {
                let single = *value as f32;
                Scalar::Float(if inside { widened(single) } else { single.into() })
            }
            value => value.clone(),
        }
    }
}

impl<'a> Context<'a> {
    pub(super) fn dialect(&self) -> Dialect {
        self.mapping.dialect
    }

    /// Returns the table reference for `FROM`.
    pub(super) fn from(&self) -> TableRef {
        match &self.mapping.schema {
            Some(schema) => (Alias::new(schema), Alias::new(&self.mapping.table)).into(),
            None => Alias::new(&self.mapping.table).into(),
        }
    }

    /// Returns a column of the table.
    pub(super) fn column(&self, name: &str) -> Expr {
        Expr::col((Alias::new(&self.mapping.table), Alias::new(name)))
    }

    /// Returns the storage form of a field's values.
    pub(super) fn form(&self, info: &FieldInfo) -> Form {
        let storage = self.mapping.storage.get(&info.path).copied();
        Form::of(info.kind, info.list, storage.unwrap_or(self.dialect().storage()))
    }

    /// Returns the storage of the field with this index.
    pub(super) fn source(&self, place: FieldIndex) -> Result<Source, SqlError> {
        let unmapped = |path: &str| SqlError::Unmapped { path: path.to_owned() };
        let info = self.table.field(place).ok_or_else(|| unmapped("?"))?;
        self.source_of(info).ok_or_else(|| unmapped(&info.path))
    }

    pub(super) fn source_of(&self, info: &'static FieldInfo) -> Option<Source> {
        let path = info.path.as_str();
        if let Some(column) = self.own(path) {
            return Some(self.source_in(info, column));
        }
        if info.computed {
            return None;
        }
        if !path.contains('.') {
            return Some(self.source_in(info, self.column(path)));
        }
        // The field is a part of the innermost document around it.
        let names: Vec<_> = path.split('.').collect();
        for depth in (1..names.len()).rev() {
            let (outer, inner) = names.split_at(depth);
            let outer = outer.join(".");
            let document = match self.own(&outer) {
                Some(column) => column,
                None if depth == 1 => self.column(&outer),
                None => continue,
            };
            let form = if info.list { Form::Json } else { Form::in_json(info.kind) };
            let column = self.dialect().in_json(document, inner, form);
            return Some(Source { info, column, form, inside: true, typed: None });
        }
        None
    }

    /// Returns the storage of a field in a column of its own.
    fn source_in(&self, info: &'static FieldInfo, column: Expr) -> Source {
        let typed = self.mapping.types.get(&info.path).map(|kind| (column.clone(), kind.clone()));
        let column = match &typed {
            Some((_, kind)) => kind.read(column),
            None => column,
        };
        Source { info, column, form: self.form(info), inside: false, typed }
    }

    /// Returns the author's expression for a path.
    fn own(&self, path: &str) -> Option<Expr> {
        if let Some(expression) = self.mapping.expressions.get(path) {
            return Some(expression(&self.now));
        }
        self.mapping.columns.get(path).map(|name| self.column(name))
    }

    /// Returns the author's conditions.
    pub(super) fn scope(&self) -> impl Iterator<Item = Expr> + use<'a> {
        let now = self.now;
        self.mapping.scope.iter().map(move |condition| condition(&now))
    }
}

impl Mapping {
    /// Returns `true` if a member of the row has no column itself, but its own members have one each.
    pub(super) fn is_spread(&self, member: &str) -> bool {
        let inside =
            |path: &String| path.strip_prefix(member).is_some_and(|rest| rest.starts_with('.'));
        !self.columns.contains_key(member)
            && !self.expressions.contains_key(member)
            && (self.columns.keys().any(inside) || self.expressions.keys().any(inside))
    }
}
