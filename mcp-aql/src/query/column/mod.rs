//! Fields as columns: what the executors do with a field without knowing its type.

mod captured;
mod native;
mod nested;
mod probe;
mod values;
mod variant;

use std::cell::Cell;
use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

pub use captured::Captured;
pub use native::Native;
pub(crate) use nested::expand;
pub use nested::{Expand, NestedAccess, NestedField};
pub use probe::{ComputedProbe, Fallback, NoComputed, NoOrder, OrderProbe, Probe, is_ordered};
pub use values::ColumnValue;
pub(crate) use values::instant_of;

use super::memory::{Groups, Sum};
use super::model::FieldInfo;
use super::plan::Test;
use super::value::{Scalar, ValueKind};

/// The way to one field of a row, or to what a method computes of it.
pub trait Access: 'static {
    /// The resource.
    type Row: 'static;
    /// The field's type.
    type Value: 'static;

    /// Hands the value to `take`.
    fn with<R>(row: &Self::Row, take: impl FnOnce(&Self::Value) -> R) -> R;
}

/// What a column's type tells before anything is described.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnType {
    /// The kind of its values, or of the entries of a list.
    pub kind: ValueKind,
    /// It is a list of them.
    pub list: bool,
    /// A row may have none.
    pub optional: bool,
}

/// One field of all rows.
pub trait Column<T>: Send + Sync {
    /// What the Rust type tells; `None` where only its JSON schema does.
    fn column_type(&self) -> Option<ColumnType>;

    /// A test that is ready to run.
    fn matcher(&self, test: &Test, info: &FieldInfo) -> Box<dyn Matcher<T>>;

    /// The order of two rows. One without a value comes last, whatever the direction.
    fn order(&self, left: &T, right: &T, descending: bool, info: &FieldInfo) -> Ordering;

    /// The order of a row and a value.
    fn order_to(&self, row: &T, bound: &Scalar, descending: bool, info: &FieldInfo) -> Ordering;

    /// Leaves of the selected rows those that do not come behind this one, or before it in the order
    /// turned around.
    fn keep(
        &self,
        rows: &[&T],
        selected: &mut Vec<u32>,
        worst: &T,
        descending: bool,
        reversed: bool,
        info: &FieldInfo,
    );

    /// The value of a row that is no list.
    fn scalar(&self, row: &T, info: &FieldInfo) -> Scalar;

    /// The value as JSON.
    ///
    /// # Errors
    /// When the type cannot be serialized.
    fn json(&self, row: &T) -> Result<Value, serde_json::Error>;

    /// Each text of a row: one, or the entries of a list.
    fn texts(&self, row: &T, take: &mut dyn FnMut(&str));

    /// The group of each selected row, added to `into`.
    fn groups(
        &self,
        rows: &[&T],
        selected: &[u32],
        info: &FieldInfo,
        groups: &mut Groups,
        into: &mut Vec<u32>,
    );

    /// Adds the selected rows to their groups' sums.
    fn sum(
        &self,
        rows: &[&T],
        selected: &[u32],
        groups: &[u32],
        info: &FieldInfo,
        sums: &mut [Sum],
    );

    /// Lowers or raises each group's extreme to what the selected rows hold.
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

/// What to run first: what leaves few rows and costs little.
pub(crate) mod haste {
    pub(crate) const EQUAL: u8 = 3;
    pub(crate) const ONE_OF: u8 = 2;
    pub(crate) const RANGE: u8 = 1;
}

/// A test of rows.
pub trait Matcher<T>: Send + Sync {
    /// Whether this row passes.
    fn matches(&self, row: &T) -> bool;

    /// Leaves of the selected rows those that pass.
    fn retain(&self, rows: &[&T], selected: &mut Vec<u32>);

    /// How much sooner than others it should run; tests that leave few rows come first.
    fn haste(&self) -> u8 {
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

/// Hands each selected row to `take` with what its group has.
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

/// Leaves of the selected rows those that pass.
///
/// The first loop does nothing but look at rows, so that as many as possible are fetched from memory at
/// a time; the second writes every row and moves on behind those that pass, so that there is nothing for
/// the processor to guess.
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

/// Leaves of the selected rows those that passed.
#[inline]
pub(crate) fn retain_passed(selected: &mut Vec<u32>, passed: &[bool]) {
    // Often none does: behind the first page few blocks have a row for it.
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

/// The row of this number.
#[inline]
pub(crate) fn row_at<'a, T>(rows: &[&'a T], place: u32) -> Option<&'a T> {
    rows.get(place as usize).copied()
}
