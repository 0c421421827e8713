//! Finds operations similar to each other.

use super::vocabulary::Posting;

/// Maximum number of neighbors of an operation.
const MAX_NEIGHBORS: usize = 20;
/// Words in a larger share of the operations are ignored: they say little about similarity, and
/// take long to compare.
const MAX_SHARE: f64 = 0.125;
/// Similarities are rounded to this fraction of 1, so that they do not depend on the order of the
/// operations.
const PRECISION: f64 = 1_000_000.0;

/// For each operation, the most similar ones by the words of all fields. Each has its share of the
/// sum of similarities.
#[derive(Debug, Clone)]
pub(super) struct Neighbors(Vec<Vec<(usize, f64)>>);

impl Neighbors {
    /// Compares all operations. `terms` has the postings and the rarity of each term.
    pub(super) fn new<'p>(
        terms: impl Iterator<Item = (&'p [Posting], f64)>,
        operations: usize,
    ) -> Self {
        let most = (operations as f64 * MAX_SHARE).max(MAX_NEIGHBORS as f64);
        let terms: Vec<_> = terms.filter(|(postings, _)| postings.len() as f64 <= most).collect();
        let mut terms_of = vec![Vec::new(); operations];
        let mut lengths = vec![0.0_f64; operations];
        for (term, (postings, rarity)) in terms.iter().enumerate() {
            for posting in *postings {
                let weight = rarity * posting.saturated();
                if let (Some(found), Some(length)) =
                    (terms_of.get_mut(posting.operation), lengths.get_mut(posting.operation))
                {
                    found.push((term, weight));
                    *length += weight * weight;
                }
            }
        }
        let of = |(operation, own): (usize, &Vec<(usize, f64)>)| {
            let mut products = vec![0.0; operations];
            for (term, weight) in own {
                let Some((postings, rarity)) = terms.get(*term) else { continue };
                for posting in *postings {
                    if let Some(product) = products.get_mut(posting.operation) {
                        *product += weight * rarity * posting.saturated();
                    }
                }
            }
            nearest(operation, &products, &lengths)
        };
        Self(terms_of.iter().enumerate().map(of).collect())
    }

    /// Returns for each operation the mean of its neighbors' scores, weighted by their shares.
    pub(super) fn means<'n>(&'n self, scores: &'n [f64]) -> impl Iterator<Item = f64> + 'n {
        let score = |operation: &usize| scores.get(*operation).copied().unwrap_or_default();
        self.0.iter().map(move |neighbors| {
            neighbors.iter().map(|(operation, share)| share * score(operation)).sum()
        })
    }
}

/// Returns the operations with the largest cosines, without those that tie with an operation beyond
/// the maximum. Otherwise the result would depend on the order of the operations.
fn nearest(operation: usize, products: &[f64], lengths: &[f64]) -> Vec<(usize, f64)> {
    let own = lengths.get(operation).copied().unwrap_or_default();
    let mut found: Vec<(usize, f64)> = products
        .iter()
        .zip(lengths)
        .enumerate()
        .filter(|(other, (product, _))| *other != operation && **product > 0.0)
        .map(|(other, (product, length))| (other, product / (own * length).sqrt()))
        .map(|(other, cosine)| (other, (cosine * PRECISION).round() / PRECISION))
        .collect();
    found.sort_unstable_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    if let Some((_, beyond)) = found.get(MAX_NEIGHBORS).copied() {
        found.truncate(MAX_NEIGHBORS);
        found.retain(|(_, cosine)| *cosine > beyond);
    }
    // The sum is at least 1, so that an operation without really similar ones takes little from
    // them.
    let sum = found.iter().map(|(_, cosine)| cosine).sum::<f64>().max(1.0);
    found.into_iter().map(|(other, cosine)| (other, cosine / sum)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the neighbors of operations that each contain some of the terms.
    fn neighbors(operations: &[&[usize]]) -> Vec<Vec<usize>> {
        let mut postings = vec![Vec::new(); 8];
        for (operation, terms) in operations.iter().enumerate() {
            for term in *terms {
                postings[*term].push(Posting { operation, frequency: 1.0 });
            }
        }
        let terms = postings.iter().map(|postings| (postings.as_slice(), 1.0));
        let Neighbors(all) = Neighbors::new(terms, operations.len());
        all.iter().map(|found| found.iter().map(|(operation, _)| *operation).collect()).collect()
    }

    #[test]
    fn operations_with_more_common_words_are_nearer() {
        let found = neighbors(&[&[0, 1, 2], &[0, 5, 6], &[0, 1, 7], &[3], &[]]);
        assert_eq!(found, [vec![2, 1], vec![0, 2], vec![0, 1], vec![], vec![]]);
    }

    #[test]
    fn ties_beyond_the_maximum_are_no_neighbors() {
        let mut operations: Vec<&[usize]> = vec![&[0, 1]; 2];
        operations.extend([&[0_usize] as &[_]; 17]);
        assert!(neighbors(&operations).iter().all(|found| found.len() == operations.len() - 1));
        let postings: Vec<_> =
            (0..30).map(|operation| Posting { operation, frequency: 1.0 }).collect();
        let many = (0..200).map(|operation| [Posting { operation, frequency: 1.0 }]);
        let many: Vec<_> = many.collect();
        let terms = many.iter().map(|own| (own.as_slice(), 1.0));
        let Neighbors(all) =
            Neighbors::new(terms.chain([(postings.get(..25).unwrap_or_default(), 1.0)]), 200);
        assert!(all.iter().all(Vec::is_empty), "{all:?}");
    }

    #[test]
    fn the_mean_of_neighbors_is_weighted_by_similarity() {
        let neighbors = Neighbors(vec![vec![(1, 0.75), (2, 0.25)], vec![], vec![(0, 1.0)]]);
        let means: Vec<_> = neighbors.means(&[4.0, 8.0, 0.0]).collect();
        assert_eq!(means, [6.0, 0.0, 4.0]);
    }
}
