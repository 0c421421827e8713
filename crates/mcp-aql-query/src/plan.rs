//! The parsed form of a collection query, the input of all executors.
//!
//! Fields are identified by their index in the resource's [`ResourceSchema`](super::ResourceSchema). Only
//! values come directly from the request, so an executor can use names and operators without checking them.

use std::sync::Arc;

use mcp_aql_core::internal::paging::CursorKey;
use mcp_aql_core::internal::schema::{ReportedFields, Selection};
use serde_json::Value;

use super::cursor;
use super::odd_values::OddValues;
use super::text::TextQuery;
use super::value::Scalar;

pub use mcp_aql_core::internal::schema::FieldIndex;

/// A parsed request for a collection.
///
/// Read it if you answer queries with your own backend. See
/// [`CollectionQuery::build_page`](super::CollectionQuery::build_page) for an example.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Plan {
    /// Search terms.
    pub text: Option<TextQuery>,
    /// Condition on rows.
    pub filter: Option<Filter>,
    /// Sort order. The last key is the identifier, so that no two rows are equal.
    pub sort: Vec<SortKey>,
    /// Fields to include.
    pub selection: Arc<Selection>,
    /// Aggregates over all matching rows.
    pub aggregate: Vec<Aggregate>,
    /// If `true`, rows are included: the request contains no aggregate, or sets `include_items`.
    pub include_items: bool,
    /// Part of the rows to return.
    pub window: PageWindow,
    /// If `true`, the number of matching rows is reported.
    pub include_total_count: bool,
    /// The controls that the reply reports as applied.
    pub(crate) applied: Arc<Applied>,
    /// Encodes cursors for this order.
    pub(crate) seal: Arc<Seal>,
    /// Collects stored values whose type differs from their field's.
    pub(crate) odd: Arc<OddValues>,
}

/// Encodes and decodes the cursors of one query.
#[derive(Debug, Clone)]
pub(crate) struct Seal {
    pub(crate) key: CursorKey,
    /// The resource and the order. A cursor is only accepted for the same ones.
    pub(crate) purpose: String,
}

impl Plan {
    /// Encodes the cursor of a row with these values of the [sort keys](Self::sort).
    pub fn encode_cursor(&self, values: &[Scalar]) -> String {
        self.seal.seal(values)
    }
}

impl Seal {
    /// Encodes the cursor of a row with these values of the sort keys.
    pub(crate) fn seal(&self, values: &[Scalar]) -> String {
        self.key.seal(&self.purpose, &cursor::pack(values))
    }
}

/// A condition on rows.
///
/// A condition is either true or false, even for missing values. In SQL, where a comparison with `NULL` is
/// neither, you may need an additional `IS NOT NULL`. For example, `status = 'open' and not (owner = 'ada')`
/// is:
///
/// ```text
/// All([Field(status, Equals("open")), Not(Field(owner, Equals("ada")))])
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Filter {
    /// True if all conditions hold.
    All(Vec<Filter>),
    /// True if at least one condition holds.
    Any(Vec<Filter>),
    /// True if the condition does not hold.
    Not(Box<Filter>),
    /// True if the field passes a test. A missing value never passes. A list passes if one entry does.
    Field(FieldIndex, Test),
}

/// A test of a value. The operands have the kind of the field.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Test {
    /// The value exists, and a list has entries.
    Exists,
    /// The value equals the operand.
    Equals(Scalar),
    /// The value equals one of the operands.
    AnyOf(Vec<Scalar>),
    /// The value is larger or later.
    Above {
        /// The bound.
        bound: Scalar,
        /// If `true`, the bound itself passes.
        inclusive: bool,
    },
    /// The value is smaller or earlier.
    Below {
        /// The bound.
        bound: Scalar,
        /// If `true`, the bound itself passes.
        inclusive: bool,
    },
    /// The string contains the operand. The comparison is case-sensitive.
    Contains(String),
    /// The string starts with the operand. The comparison is case-sensitive.
    StartsWith(String),
}

/// One sort key. Rows without a value come last in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortKey {
    /// The value to compare.
    pub by: SortBy,
    /// If `true`, the largest value comes first.
    pub descending: bool,
}

/// The value compared by a sort key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SortBy {
    /// A field.
    Field(FieldIndex),
    /// The score of the row for [`Plan::text`].
    Score,
}

/// One labeled aggregate, for example:
///
/// ```json
/// { "pages_by_author": { "group_by": "author", "sum": "pages" } }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    /// The caller's label.
    pub label: String,
    /// The field whose values form the groups.
    pub group_by: Option<FieldIndex>,
    /// The functions to compute, without duplicates.
    pub functions: Vec<Function>,
}

/// An aggregate function. Only [`Count`](Self::Count) counts rows without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Function {
    /// The number of rows.
    Count,
    /// The sum, or 0 without values.
    Sum(FieldIndex),
    /// The mean, or null without values.
    Avg(FieldIndex),
    /// The smallest or earliest value, or null without values.
    Min(FieldIndex),
    /// The largest or latest value, or null without values.
    Max(FieldIndex),
}

impl Function {
    /// Returns the key of the function in a request.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Sum(_) => "sum",
            Self::Avg(_) => "avg",
            Self::Min(_) => "min",
            Self::Max(_) => "max",
        }
    }

    /// Returns the field, or `None` for [`Count`](Self::Count).
    pub const fn field(self) -> Option<FieldIndex> {
        match self {
            Self::Count => None,
            Self::Sum(field) | Self::Avg(field) | Self::Min(field) | Self::Max(field) => {
                Some(field)
            }
        }
    }
}

/// The part of the ordered rows to return.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PageWindow {
    /// The first rows, or the first ones after a cursor.
    First {
        /// The maximum number of rows.
        count: usize,
        /// The values of [`Plan::sort`] in the cursor.
        after: Option<Vec<Scalar>>,
    },
    /// The last rows, or the last ones before a cursor.
    Last {
        /// The maximum number of rows.
        count: usize,
        /// The values of [`Plan::sort`] in the cursor.
        before: Option<Vec<Scalar>>,
    },
    /// Rows by number. `page` and `page_size` are converted to this form.
    Offset {
        /// The maximum number of rows.
        count: usize,
        /// The number of rows to skip.
        offset: usize,
        /// If `true`, the request used `page`, so the reply reports pages.
        by_page: bool,
    },
}

impl PageWindow {
    /// Returns the maximum number of rows.
    pub const fn count(&self) -> usize {
        match self {
            Self::First { count, .. } | Self::Last { count, .. } | Self::Offset { count, .. } => {
                *count
            }
        }
    }

    /// Returns the number of rows to skip.
    pub(crate) const fn offset(&self) -> usize {
        match self {
            Self::Offset { offset, .. } => *offset,
            Self::First { .. } | Self::Last { .. } => 0,
        }
    }

    /// Returns the values of the cursor after or before which rows are requested.
    pub(crate) fn place(&self) -> Option<&[Scalar]> {
        match self {
            Self::First { after: place, .. } | Self::Last { before: place, .. } => place.as_deref(),
            Self::Offset { .. } => None,
        }
    }

    /// Returns `true` if the last rows are requested. Executors then reverse the order.
    pub(crate) const fn is_from_end(&self) -> bool {
        matches!(self, Self::Last { .. })
    }
}

/// The controls reported as applied (REQ-COL-10), for example:
///
/// ```json
/// { "filter": { "status": "open" }, "sort": [{ "field": "due", "order": "asc" }], "first": 20 }
/// ```
#[derive(Debug, Clone, Default, serde::Serialize)]
pub(crate) struct Applied {
    /// The search terms. A row matches if it contains at least one of them.
    #[serde(rename = "query", skip_serializing_if = "Option::is_none")]
    pub(crate) terms: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) filter: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) sort: Vec<AppliedKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fields: Option<ReportedFields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) first: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) page_size: Option<usize>,
}

/// One sort key.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct AppliedKey {
    pub(crate) field: String,
    pub(crate) order: &'static str,
}
