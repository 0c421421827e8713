//! A collection query that was understood: what both executors work from. Fields are named by their
//! place in the resource's [`Table`](super::Table); nothing in here is of a request's making but values.

use std::sync::Arc;

use super::answer::Applied;
use super::cursor;
use super::select::Selection;
use super::text::TextQuery;
use super::value::Scalar;
use crate::paging::CursorKey;

/// The place of a field in its resource's table.
pub type FieldIndex = usize;

/// What a request asks of a collection.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Plan {
    /// The words to look for.
    pub text: Option<TextQuery>,
    /// What rows must satisfy.
    pub filter: Option<Filter>,
    /// The order of the rows. The last key is the identifier, so that no two rows are equal.
    pub sort: Vec<SortKey>,
    /// What is shown of each row.
    pub selection: Arc<Selection>,
    /// What is computed of all rows that match.
    pub aggregate: Vec<Aggregate>,
    /// Rows are wanted: there is no summary, or `include_items` is on.
    pub items: bool,
    /// Which of the rows.
    pub window: Window,
    /// Tell how many rows match.
    pub count: bool,
    /// What the reply says was applied.
    pub(crate) applied: Arc<Applied>,
    /// Makes cursors of this order.
    pub(crate) seal: Arc<Seal>,
}

/// Makes cursors, and reads those that it made.
#[derive(Debug, Clone)]
pub(crate) struct Seal {
    pub(crate) key: CursorKey,
    /// The resource and the order that a cursor is a place in.
    pub(crate) purpose: String,
}

impl Plan {
    /// The cursor of a row with these values of the [sort keys](Self::sort).
    pub fn seal(&self, values: &[Scalar]) -> String {
        self.seal.seal(values)
    }
}

impl Seal {
    /// The cursor of a row with these values of the sort keys.
    pub(crate) fn seal(&self, values: &[Scalar]) -> String {
        self.key.seal(&self.purpose, &cursor::pack(values))
    }
}

/// A condition on rows. It holds or it does not, also where a value is missing: nothing is unknown.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Filter {
    /// All of them hold.
    All(Vec<Filter>),
    /// One of them holds, or more.
    Any(Vec<Filter>),
    /// It does not hold.
    Not(Box<Filter>),
    /// A field passes a test; one without a value passes none. Of a list, one entry must pass.
    Field(FieldIndex, Test),
}

/// A test of a value. Its operands are of the field's kind.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Test {
    /// There is a value, and a list has entries.
    Exists,
    /// The same.
    Equals(Scalar),
    /// The same as one of these.
    AnyOf(Vec<Scalar>),
    /// Larger or later.
    Above {
        /// The bound.
        bound: Scalar,
        /// The bound itself passes too.
        inclusive: bool,
    },
    /// Smaller or earlier.
    Below {
        /// The bound.
        bound: Scalar,
        /// The bound itself passes too.
        inclusive: bool,
    },
    /// This text is part of it, in the same case.
    Contains(String),
    /// It begins with this text, in the same case.
    StartsWith(String),
}

/// One key of an order. Rows without a value come last, whatever the direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortKey {
    /// What is compared.
    pub by: SortBy,
    /// The largest comes first.
    pub descending: bool,
}

/// What a key of an order compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SortBy {
    /// A field.
    Field(FieldIndex),
    /// How well the row answers [`Plan::text`].
    Score,
}

/// One labelled computation.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    /// The caller's name for it.
    pub label: String,
    /// Once for each value of this field.
    pub group_by: Option<FieldIndex>,
    /// What is computed, each at most once.
    pub functions: Vec<Function>,
}

/// What an aggregate computes. Rows without a value count for none but [`Count`](Self::Count).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Function {
    /// How many rows.
    Count,
    /// The sum; 0 where there are no values.
    Sum(FieldIndex),
    /// The mean; null where there are no values.
    Avg(FieldIndex),
    /// The smallest or earliest; null where there are no values.
    Min(FieldIndex),
    /// The largest or latest; null where there are no values.
    Max(FieldIndex),
}

impl Function {
    /// Its key in a request.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Sum(_) => "sum",
            Self::Avg(_) => "avg",
            Self::Min(_) => "min",
            Self::Max(_) => "max",
        }
    }

    /// The field, unless rows are counted.
    pub const fn field(self) -> Option<FieldIndex> {
        match self {
            Self::Count => None,
            Self::Sum(field) | Self::Avg(field) | Self::Min(field) | Self::Max(field) => {
                Some(field)
            }
        }
    }
}

/// Which rows of an order.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Window {
    /// The first ones, or those behind a place.
    First {
        /// How many at most.
        count: usize,
        /// The values of [`Plan::sort`] behind which they come.
        after: Option<Vec<Scalar>>,
    },
    /// The last ones, or those before a place.
    Last {
        /// How many at most.
        count: usize,
        /// The values of [`Plan::sort`] before which they come.
        before: Option<Vec<Scalar>>,
    },
    /// By number; `page` and `page_size` come to the same.
    Offset {
        /// How many at most.
        count: usize,
        /// How many are passed over.
        offset: usize,
        /// The request said `page`: the reply tells pages.
        by_page: bool,
    },
}

impl Window {
    /// How many rows at most.
    pub const fn count(&self) -> usize {
        match self {
            Self::First { count, .. } | Self::Last { count, .. } | Self::Offset { count, .. } => {
                *count
            }
        }
    }
}
