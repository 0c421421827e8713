//! Fields as columns: the operations that executors need, independent of the field's type.

mod captured;
mod native;
mod scalar_values;
mod values;
mod variant;

use std::cell::Cell;
use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

pub use captured::CapturedColumn;
pub use native::NativeColumn;
pub(crate) use scalar_values::instant_of;
pub use values::ColumnValue;

use super::field_info::FieldInfo;
use super::grouping::{Groups, Sum};
use super::plan::Test;
use super::value::{Scalar, ValueKind};

/// Accesses one field of a row, or a value computed from the row.
pub trait FieldAccess: 'static {
    /// The resource.
    type Row: 'static;
    /// The field's type.
    type Value: 'static;

    /// Calls `take` with the value. It takes a closure, so that computed values can be passed by reference, too.
    fn with<R>(row: &Self::Row, take: impl FnOnce(&Self::Value) -> R) -> R;
}

/// The properties of a column that follow from its Rust type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnType {
    /// The kind of the values, or of the entries of a list.
    pub kind: ValueKind,
    /// If `true`, the values are lists.
    pub list: bool,
    /// If `true`, the value can be missing.
    pub optional: bool,
}

/// One field of all rows.
///
/// Methods with `rows` process a block of rows in one call. `selected` contains the indexes of the rows to
/// process.
pub trait Column<T>: Send + Sync {
    /// Returns the properties that follow from the Rust type, or `None` if only the JSON schema describes it.
    fn column_type(&self) -> Option<ColumnType>;

    /// Prepares a test of the field.
    fn matcher(&self, test: &Test, info: &FieldInfo) -> Box<dyn Matcher<T>>;

    /// Compares two rows. A row without a value comes last in both directions.
    fn order(&self, left: &T, right: &T, descending: bool, info: &FieldInfo) -> Ordering;

    /// Compares a row with a value.
    fn order_to(&self, row: &T, bound: &Scalar, descending: bool, info: &FieldInfo) -> Ordering;

    /// Keeps the selected rows that do not come after the row `worst`, or before it if `reversed`.
    ///
    /// The executor calls this with the last row of the page so far, to discard rows that cannot be part of
    /// the page.
    fn keep(
        &self,
        rows: &[&T],
        selected: &mut Vec<u32>,
        worst: &T,
        descending: bool,
        reversed: bool,
        info: &FieldInfo,
    ) {
        retain_rows(rows, selected, |row| {
            let order = self.order(row, worst, descending, info);
            if reversed { order.is_ge() } else { order.is_le() }
        });
    }

    /// Returns the value of a row, if the field is not a list.
    fn scalar(&self, row: &T, info: &FieldInfo) -> Scalar;

    /// Returns the value as JSON.
    ///
    /// # Errors
    ///
    /// Returns an error if the type cannot be serialized.
    fn json(&self, row: &T) -> Result<Value, serde_json::Error>;

    /// Calls `take` with each string of a row: a single one, or the entries of a list.
    fn texts(&self, row: &T, take: &mut dyn FnMut(&str));

    /// Appends the group of each selected row to `into`.
    fn groups(
        &self,
        rows: &[&T],
        selected: &[u32],
        info: &FieldInfo,
        groups: &mut Groups,
        into: &mut Vec<u32>,
    );

    /// Adds the selected rows to the sums of their groups.
    fn sum(
        &self,
        rows: &[&T],
        selected: &[u32],
        groups: &[u32],
        info: &FieldInfo,
        sums: &mut [Sum],
    );

    /// Updates the extremes of the groups with the selected rows.
    fn extremes(
        &self,
        rows: &[&T],
        selected: &[u32],
        groups: &[u32],
        info: &FieldInfo,
        extremes: &mut [Scalar],
        largest: bool,
    );
}

impl<T> fmt::Debug for dyn Column<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Column").field(&self.column_type()).finish()
    }
}

/// Lists the columns of a nested resource from the perspective of its owner.
///
/// Returns the problems of the nested resource, or `None` if the resource contains itself.
pub type Expand<T> = fn(&mut dyn FnMut(NestedField<T>)) -> Option<&'static [String]>;

/// One column of a nested resource.
#[derive(Debug)]
pub struct NestedField<T: 'static> {
    /// The nested resource's description of the field.
    pub(crate) info: FieldInfo,
    pub(crate) column: Box<dyn Column<T>>,
}

/// Execution priorities of tests. Cheap and selective tests run first.
pub(crate) mod priority {
    pub(crate) const EQUAL: u8 = 3;
    pub(crate) const ONE_OF: u8 = 2;
    pub(crate) const RANGE: u8 = 1;
}

/// Tests rows. Prepared once for each query.
pub trait Matcher<T>: Send + Sync {
    /// Returns `true` if this row passes.
    fn matches(&self, row: &T) -> bool;

    /// Keeps the selected rows that pass.
    fn retain(&self, rows: &[&T], selected: &mut Vec<u32>);

    /// Returns the priority of the test. Selective tests have a high one.
    fn priority(&self) -> u8 {
        0
    }
}

impl<T, F: Fn(&T) -> bool + Send + Sync> Matcher<T> for F {
    fn matches(&self, row: &T) -> bool {
        self(row)
    }

    fn retain(&self, rows: &[&T], selected: &mut Vec<u32>) {
        retain_rows(rows, selected, self);
    }
}

/// Calls `take` with each selected row and the state of its group.
#[inline]
pub(crate) fn each_in_group<T, S>(
    rows: &[&T],
    selected: &[u32],
    groups: &[u32],
    of_groups: &mut [S],
    mut take: impl FnMut(&T, &mut S),
) {
    for (place, group) in selected.iter().zip(groups) {
        if let (Some(row), Some(of_group)) =
            (row_at(rows, *place), of_groups.get_mut(*group as usize))
        {
            take(row, of_group);
        }
    }
}

/// Keeps the selected rows that pass.
///
/// The first loop only reads rows, so that the processor can fetch many of them from memory in parallel. The
/// second loop is branch-free: it writes every row and advances only if the row passed.
#[inline]
pub(crate) fn retain_rows<T>(
    rows: &[&T],
    selected: &mut Vec<u32>,
    mut passes: impl FnMut(&T) -> bool,
) {
    let passed: Vec<bool> = if selected.len() == rows.len() {
        rows.iter().map(|row| passes(row)).collect()
    } else {
        let rows = selected.iter().map(|place| row_at(rows, *place));
        rows.map(|row| row.is_some_and(&mut passes)).collect()
    };
    retain_passed(selected, &passed);
}

/// Keeps the selected rows that passed.
#[inline]
pub(crate) fn retain_passed(selected: &mut Vec<u32>, passed: &[bool]) {
    // Often no row passes: after the first page, few blocks contain a row of the page.
    if !passed.iter().fold(false, |any, passed| any | passed) {
        selected.clear();
        return;
    }
    let mut kept = 0;
    let places = Cell::from_mut(selected.as_mut_slice()).as_slice_of_cells();
    for (place, passed) in places.iter().zip(passed) {
        if let Some(slot) = places.get(kept) {
            slot.set(place.get());
        }
        kept += usize::from(*passed);
    }
    selected.truncate(kept);
}

/// Returns the row with this index.
#[inline]
pub(crate) fn row_at<'a, T>(rows: &[&'a T], place: u32) -> Option<&'a T> {
    rows.get(place as usize).copied()
}
