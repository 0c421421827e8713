//! A parsed collection query, the input of both executors. Fields are identified by their index in
//! the resource's [`ResourceSchema`](super::ResourceSchema). Only values come directly from the request.

use std::sync::Arc;

use mcp_aql_core::internal::paging::CursorKey;
use mcp_aql_core::internal::schema::Selection;

use super::applied::Applied;
use super::cursor;
use super::odd_values::OddValues;
use super::text::TextQuery;
use super::value::Scalar;

pub use mcp_aql_core::internal::schema::FieldIndex;

/// A parsed request for a collection.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Plan {
    /// The search terms.
    pub text: Option<TextQuery>,
    /// The condition on rows.
    pub filter: Option<Filter>,
    /// The sort order. The last key is the identifier, so that no two rows are equal.
    pub sort: Vec<SortKey>,
    /// The fields to include.
    pub selection: Arc<Selection>,
    /// The aggregates over all matching rows.
    pub aggregate: Vec<Aggregate>,
    /// Whether rows are included: no aggregate is requested, or `include_items` is set.
    pub include_items: bool,
    /// The part of the rows to return.
    pub window: PageWindow,
    /// Whether to report the number of matching rows.
    pub include_total_count: bool,
    /// The controls that the reply reports as applied.
    pub(crate) applied: Arc<Applied>,
    /// Encodes cursors for this order.
    pub(crate) seal: Arc<Seal>,
    /// The values in the rows that have another type than their field.
    pub(crate) odd: Arc<OddValues>,
}

/// Encodes and decodes the cursors of one query.
#[derive(Debug, Clone)]
pub(crate) struct Seal {
    pub(crate) key: CursorKey,
    /// The resource and the order to which a cursor is bound.
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

/// A condition on rows. It is either true or false, even for missing values.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Filter {
    /// All conditions hold.
    All(Vec<Filter>),
    /// At least one condition holds.
    Any(Vec<Filter>),
    /// The condition does not hold.
    Not(Box<Filter>),
    /// The field passes a test. A missing value never passes. A list passes if one entry does.
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
        /// Whether the bound itself passes.
        inclusive: bool,
    },
    /// The value is smaller or earlier.
    Below {
        /// The bound.
        bound: Scalar,
        /// Whether the bound itself passes.
        inclusive: bool,
    },
    /// The text contains the operand, case-sensitively.
    Contains(String),
    /// The text starts with the operand, case-sensitively.
    StartsWith(String),
}

/// One sort key. Rows without a value come last in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortKey {
    /// The value to compare.
    pub by: SortBy,
    /// Whether the largest value comes first.
    pub descending: bool,
}

/// The value that a sort key compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SortBy {
    /// A field.
    Field(FieldIndex),
    /// The score of the row for [`Plan::text`].
    Score,
}

/// One labelled aggregate.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    /// The caller's label.
    pub label: String,
    /// The field whose values form the groups.
    pub group_by: Option<FieldIndex>,
    /// The functions to compute, without duplicates.
    pub functions: Vec<Function>,
}

/// An aggregate function. Rows without a value count only for [`Count`](Self::Count).
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
    /// The key of the function in a request.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Sum(_) => "sum",
            Self::Avg(_) => "avg",
            Self::Min(_) => "min",
            Self::Max(_) => "max",
        }
    }

    /// The field, except for [`Count`](Self::Count).
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
    /// The first rows, or those after a place.
    First {
        /// The maximum number of rows.
        count: usize,
        /// The values of [`Plan::sort`] at the place.
        after: Option<Vec<Scalar>>,
    },
    /// The last rows, or those before a place.
    Last {
        /// The maximum number of rows.
        count: usize,
        /// The values of [`Plan::sort`] at the place.
        before: Option<Vec<Scalar>>,
    },
    /// Rows by number; `page` and `page_size` are converted to this form.
    Offset {
        /// The maximum number of rows.
        count: usize,
        /// The number of rows to skip.
        offset: usize,
        /// Whether the request used `page`, so that the reply reports pages.
        by_page: bool,
    },
}

impl PageWindow {
    /// The maximum number of rows.
    pub const fn count(&self) -> usize {
        match self {
            Self::First { count, .. } | Self::Last { count, .. } | Self::Offset { count, .. } => {
                *count
            }
        }
    }

    /// The number of rows to skip.
    pub(crate) const fn offset(&self) -> usize {
        match self {
            Self::Offset { offset, .. } => *offset,
            Self::First { .. } | Self::Last { .. } => 0,
        }
    }

    /// The place after which, or before which, rows are wanted.
    pub(crate) fn place(&self) -> Option<&[Scalar]> {
        match self {
            Self::First { after: place, .. } | Self::Last { before: place, .. } => place.as_deref(),
            Self::Offset { .. } => None,
        }
    }

    /// Whether the last rows are wanted, so that executors reverse the order.
    pub(crate) const fn is_from_end(&self) -> bool {
        matches!(self, Self::Last { .. })
    }
}
