//! Computes the same results with hand-written loops over a slice, as the baseline of the queries.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::Hash;

use super::sales::Sale;

/// Number of rows on a page.
pub(super) const PAGE: usize = 20;

/// Returns the number of sales that pass the filter, and the ids of the first page. `sales` must be sorted by id.
pub(super) fn filtered(sales: &[Sale], passes: impl Fn(&Sale) -> bool) -> (u64, Vec<u64>) {
    let mut count = 0;
    let mut first = Vec::with_capacity(PAGE);
    for sale in sales {
        if passes(sale) {
            count += 1;
            if first.len() < PAGE {
                first.push(sale.sale_id);
            }
        }
    }
    (count, first)
}

/// Returns the sums of the sales that pass the filter, by group.
pub(super) fn summed<'a, K: Hash + Eq>(
    sales: &'a [Sale],
    passes: impl Fn(&Sale) -> bool,
    key: impl Fn(&'a Sale) -> K,
) -> HashMap<K, i64> {
    let mut sums = HashMap::new();
    for sale in sales {
        if passes(sale) {
            *sums.entry(key(sale)).or_default() += sale.cents;
        }
    }
    sums
}

/// Returns the ids of the sales with the largest keys. If keys are equal, the smaller id comes first.
pub(super) fn top<K: Ord>(sales: &[Sale], key: impl Fn(&Sale) -> K) -> Vec<u64> {
    let mut heap = BinaryHeap::with_capacity(PAGE + 1);
    for sale in sales {
        let entry = Reverse((key(sale), Reverse(sale.sale_id)));
        if heap.len() < PAGE {
            heap.push(entry);
        } else if let Some(mut worst) = heap.peek_mut()
            && entry < *worst
        {
            *worst = entry;
        }
    }
    heap.into_sorted_vec().into_iter().map(|Reverse((_, Reverse(number)))| number).collect()
}
