//! Which of the ranked are returned.

use super::copies::Group;
use super::document::Pool;
use super::{RankOptions, RankedHit};

/// The best groups, as many as are wanted.
pub(super) fn choose(pool: &Pool<'_>, groups: Vec<Group>, options: &RankOptions) -> Vec<RankedHit> {
    let mut of_server: Vec<usize> = Vec::new();
    let mut hits = Vec::new();
    for group in groups {
        if hits.len() >= options.max_results {
            break;
        }
        let Some(document) = pool.documents.get(group.document) else { continue };
        if let Some(most) = options.max_per_server {
            if of_server.iter().filter(|server| **server == document.server).count() >= most {
                continue;
            }
            of_server.push(document.server);
        }
        let mut also = document.twins.clone();
        for copy in group.copies.iter().filter_map(|copy| pool.documents.get(*copy)) {
            also.push(copy.candidate);
            also.extend(&copy.twins);
        }
        hits.push(RankedHit { candidate: document.candidate, score: group.score, also });
    }
    hits
}
