//! Selects the first rows of an order.

use std::borrow::Borrow;
use std::cmp::Ordering;

use super::super::columns::{Column, row_at};
use super::super::field_info::FieldInfo;
use super::super::model::Model;
use super::super::plan::{Plan, SortBy, SortKey};
use super::super::resource::Resource;
use super::super::value::Scalar;

/// The order of a plan, prepared for comparing rows.
pub(super) struct RowOrder<T: 'static> {
    keys: Vec<OrderKey<T>>,
    /// If `true`, the last rows are requested and the order is reversed.
    reversed: bool,
}

struct OrderKey<T: 'static> {
    /// If `None`, scores are compared.
    field: Option<(&'static FieldInfo, &'static dyn Column<T>)>,
    descending: bool,
}

impl<T: Resource> RowOrder<T> {
    pub(super) fn of(plan: &Plan, model: &'static Model<T>) -> Self {
        let key = |key: &SortKey| OrderKey {
            field: match key.by {
                SortBy::Field(place) => model.at(place),
                SortBy::Score => None,
            },
            descending: key.descending,
        };
        Self { keys: plan.sort.iter().map(key).collect(), reversed: plan.window.is_from_end() }
    }

    fn turned(&self, order: Ordering) -> Ordering {
        if self.reversed { order.reverse() } else { order }
    }

    /// Compares two rows with their scores.
    fn compare(&self, left: (&T, u32), right: (&T, u32)) -> Ordering {
        for key in &self.keys {
            let order = match key.field {
                Some((info, column)) => column.order(left.0, right.0, key.descending, info),
                None if key.descending => right.1.cmp(&left.1),
                None => left.1.cmp(&right.1),
            };
            if order.is_ne() {
                return self.turned(order);
            }
        }
        Ordering::Equal
    }

    /// Keeps the selected rows after the cursor `place`, or before it if the last rows are requested.
    pub(super) fn keep_behind(
        &self,
        rows: &[&T],
        selected: &mut Vec<u32>,
        scores: &mut Vec<u32>,
        place: Option<&[Scalar]>,
    ) {
        let Some(place) = place else { return };
        retain(selected, scores, |chosen, score| {
            row_at(rows, chosen).is_some_and(|row| self.compare_to(row, score, place).is_gt())
        });
    }

    fn compare_to(&self, row: &T, score: u32, place: &[Scalar]) -> Ordering {
        for (key, value) in self.keys.iter().zip(place) {
            let order = match key.field {
                Some((info, column)) => column.order_to(row, value, key.descending, info),
                None => {
                    let order = Scalar::Int(score.into()).order(value);
                    if key.descending { order.reverse() } else { order }
                }
            };
            if order.is_ne() {
                return self.turned(order);
            }
        }
        Ordering::Equal
    }

    /// Keeps the selected rows that do not come after the row `worst` by the first key. This cheap check
    /// eliminates most rows.
    pub(super) fn keep_up_to(
        &self,
        worst: Option<&T>,
        rows: &[&T],
        selected: &mut Vec<u32>,
        scores: &mut Vec<u32>,
    ) {
        let Some(worst) = worst else { return };
        let Some(OrderKey { field: Some((info, column)), descending }) = self.keys.first() else {
            return;
        };
        if scores.is_empty() {
            column.keep(rows, selected, worst, *descending, self.reversed, info);
        } else {
            retain(selected, scores, |chosen, _| {
                row_at(rows, chosen).is_some_and(|row| {
                    self.turned(column.order(row, worst, *descending, info)).is_le()
                })
            });
        }
    }

    /// Returns the values of a row's cursor.
    pub(super) fn values(&self, row: &T, score: u32) -> Vec<Scalar> {
        let value = |key: &OrderKey<T>| match key.field {
            Some((info, column)) => column.scalar(row, info),
            None => Scalar::Int(score.into()),
        };
        self.keys.iter().map(value).collect()
    }
}

/// Filters rows, and their scores if there are any.
fn retain(selected: &mut Vec<u32>, scores: &mut Vec<u32>, keep: impl Fn(u32, u32) -> bool) {
    let scored = !scores.is_empty();
    let mut kept = Vec::new();
    let mut index = 0;
    selected.retain(|chosen| {
        let score = scores.get(index).copied().unwrap_or_default();
        index += 1;
        let keep = keep(*chosen, score);
        if keep && scored {
            kept.push(score);
        }
        keep
    });
    *scores = kept;
}

/// The first rows of an order, up to the requested number.
///
/// Rows are collected until there are twice as many as requested. Then they are sorted, and the second half
/// is dropped. A binary heap makes about as many comparisons, but needs an entry type with an order of its
/// own.
pub(super) struct TopRows<'a, R, T: 'static> {
    order: &'a RowOrder<T>,
    wanted: usize,
    /// The rows with their scores.
    rows: Vec<(R, u32)>,
    /// If `true`, the first `wanted` rows are sorted, so that later rows that come after them can be skipped.
    sorted: bool,
}

impl<'a, R: Borrow<T>, T: Resource> TopRows<'a, R, T> {
    pub(super) const fn new(order: &'a RowOrder<T>, wanted: usize) -> Self {
        Self { order, wanted, rows: Vec::new(), sorted: false }
    }

    /// Returns the last of the requested rows so far with its score, after more rows than requested were
    /// found.
    pub(super) fn worst(&self) -> Option<(&T, u32)> {
        let (row, score) = self.rows.get(..self.wanted).filter(|_| self.sorted)?.last()?;
        Some((row.borrow(), *score))
    }

    /// Adds the selected rows of a block, unless they come after all requested ones.
    pub(super) fn offer(&mut self, block: &mut Vec<R>, selected: &[u32], scores: &[u32]) {
        let Some(last) = selected.last() else { return };
        let mut rows = block.drain(..=*last as usize);
        let mut passed = 0;
        for (index, chosen) in selected.iter().enumerate() {
            let Some(row) = rows.nth((chosen - passed) as usize) else { break };
            passed = chosen + 1;
            let score = scores.get(index).copied().unwrap_or_default();
            let is_before = |worst| self.order.compare((row.borrow(), score), worst).is_lt();
            if self.worst().is_none_or(is_before) {
                self.rows.push((row, score));
                if self.rows.len() >= self.wanted.saturating_mul(2) {
                    self.sort();
                    self.sorted = true;
                }
            }
        }
    }

    fn sort(&mut self) {
        let compare = |(left, left_score): &(R, u32), (right, right_score): &(R, u32)| {
            self.order.compare((left.borrow(), *left_score), (right.borrow(), *right_score))
        };
        self.rows.sort_by(compare);
        self.rows.truncate(self.wanted);
    }

    pub(super) fn into_sorted(mut self) -> Vec<(R, u32)> {
        self.sort();
        self.rows
    }
}
