//! Selects the first rows of an order.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::super::columns::{Column, row_at};
use super::super::field_info::FieldInfo;
use super::super::model::Model;
use super::super::plan::{Plan, SortBy, Window};
use super::super::resource::Resource;
use super::super::value::Scalar;

/// The order of a plan, prepared for comparing rows.
pub(super) struct Order<T: 'static> {
    keys: Vec<OrderKey<T>>,
    /// Whether the last rows are wanted, so that the order is reversed.
    reversed: bool,
}

struct OrderKey<T: 'static> {
    /// `None` compares scores.
    field: Option<(&'static FieldInfo, &'static dyn Column<T>)>,
    descending: bool,
}

impl<T: Resource> Order<T> {
    pub(super) fn of(plan: &Plan, model: &'static Model<T>) -> Self {
        let key = |key: &super::super::plan::SortKey| OrderKey {
            field: match key.by {
                SortBy::Field(place) => model.at(place),
                SortBy::Score => None,
            },
            descending: key.descending,
        };
        Self {
            keys: plan.sort.iter().map(key).collect(),
            reversed: matches!(plan.window, Window::Last { .. }),
        }
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

    /// Keeps the selected rows after a place, or before it if the last rows are wanted.
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

    /// Keeps the selected rows that do not come after this one by the first key. This eliminates
    /// most rows.
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

    /// The values of a row's cursor.
    pub(super) fn values(&self, row: &T, score: u32) -> Vec<Scalar> {
        let value = |key: &OrderKey<T>| match key.field {
            Some((info, column)) => column.scalar(row, info),
            None => Scalar::Int(score.into()),
        };
        self.keys.iter().map(value).collect()
    }
}

/// Filters rows and their scores, if there are any.
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

/// The first rows of an order, up to the wanted number.
pub(super) struct TopRows<'a, R, T: 'static> {
    order: &'a Order<T>,
    wanted: usize,
    heap: BinaryHeap<HeapEntry<'a, R, T>>,
}

struct HeapEntry<'a, R, T: 'static> {
    row: R,
    score: u32,
    order: &'a Order<T>,
}

impl<R: std::borrow::Borrow<T>, T: Resource> Ord for HeapEntry<'_, R, T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order.compare((self.row.borrow(), self.score), (other.row.borrow(), other.score))
    }
}

impl<R: std::borrow::Borrow<T>, T: Resource> PartialOrd for HeapEntry<'_, R, T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<R: std::borrow::Borrow<T>, T: Resource> PartialEq for HeapEntry<'_, R, T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<R: std::borrow::Borrow<T>, T: Resource> Eq for HeapEntry<'_, R, T> {}

impl<'a, R: std::borrow::Borrow<T>, T: Resource> TopRows<'a, R, T> {
    pub(super) fn new(order: &'a Order<T>, wanted: usize) -> Self {
        Self { order, wanted, heap: BinaryHeap::new() }
    }

    /// The last of the kept rows, once the wanted number is reached.
    pub(super) fn worst(&self) -> Option<&T> {
        self.heap.peek().filter(|_| self.heap.len() >= self.wanted).map(|entry| entry.row.borrow())
    }

    /// Adds the selected rows of a block that are among the first.
    pub(super) fn offer(&mut self, block: &mut Vec<R>, selected: &[u32], scores: &[u32]) {
        let Some(last) = selected.last() else { return };
        let mut rows = block.drain(..=*last as usize);
        let mut passed = 0;
        for (index, chosen) in selected.iter().enumerate() {
            let Some(row) = rows.nth((chosen - passed) as usize) else { break };
            passed = chosen + 1;
            let score = scores.get(index).copied().unwrap_or_default();
            if self.takes(row.borrow(), score) {
                self.push(row, score);
            }
        }
    }

    fn takes(&self, row: &T, score: u32) -> bool {
        self.heap.len() < self.wanted
            || self.heap.peek().is_some_and(|worst| {
                self.order.compare((row, score), (worst.row.borrow(), worst.score)).is_lt()
            })
    }

    fn push(&mut self, row: R, score: u32) {
        let entry = HeapEntry { row, score, order: self.order };
        if self.heap.len() < self.wanted {
            self.heap.push(entry);
        } else if let Some(mut worst) = self.heap.peek_mut() {
            *worst = entry;
        }
    }

    pub(super) fn into_sorted(self) -> Vec<(R, u32)> {
        self.heap.into_sorted_vec().into_iter().map(|entry| (entry.row, entry.score)).collect()
    }
}
