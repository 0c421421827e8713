//! The same answers computed by hand-written loops over a slice.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::Hash;

use crate::sales::Sale;

/// The number of rows of a page.
pub(crate) const PAGE: usize = 20;

/// Returns how many sales pass, and the numbers of the first ones. The slice is in the order of the numbers.
pub(crate) fn filtered(sales: &[Sale], passes: impl Fn(&Sale) -> bool) -> (u64, Vec<u64>) {
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

/// Returns the sums of the sales that pass, by group.
pub(crate) fn summed<'a, K: Hash + Eq>(
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

/// Returns the numbers of the sales with the largest keys. Ties are broken by the smaller number.
pub(crate) fn top<K: Ord>(sales: &[Sale], key: impl Fn(&Sale) -> K) -> Vec<u64> {
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
