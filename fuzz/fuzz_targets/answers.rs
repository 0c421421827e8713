//! Parses bytes as a query of the aggregator and as responses of its servers. The results must be sanitized, within the
//! limits, and ranked in the same order every time.
//!
//! An input has this form, with `<FF>` for a form feed:
//!
//! ```text
//! query
//! path of the list in each response, or an empty line
//! response of the first server<FF>response of the second server
//! ```
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_aql_aggregator::fuzzing;
use mcp_aql_aggregator::rank::{Candidate, RankOptions, rank};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.splitn(3, '\n');
    let query = parts.next().unwrap_or_default();
    let path = parts.next().filter(|path| !path.is_empty());
    let answers: Vec<_> = parts
        .next()
        .unwrap_or_default()
        .split('\u{c}')
        .map(|answer| fuzzing::items(answer, path))
        .collect();

    let (most_items, most_chars) = fuzzing::LIMITS;
    let mut candidates = Vec::new();
    for (server, items) in answers.iter().enumerate() {
        assert!(items.len() <= most_items, "{items:?}");
        for (position, content) in items.iter().enumerate() {
            assert!(fuzzing::is_clean(content), "{content:?}");
            assert!(
                !content.trim().is_empty() && content.chars().count() <= most_chars,
                "{content:?}"
            );
            candidates.push(Candidate { server, call: 0, position, content });
        }
    }

    let options = RankOptions::default();
    let ranked = rank(query, &candidates, &options);
    let scores: Vec<_> = ranked.hits.iter().map(|hit| hit.score).collect();
    assert!(
        scores.iter().all(|score| (0.0..=1.0).contains(score) && !score.is_sign_negative()),
        "{scores:?}"
    );
    assert!(scores.is_sorted_by(|before, after| before >= after), "{scores:?}");
    assert!(ranked.hits.len() <= ranked.distinct && ranked.distinct <= candidates.len());
    let mut shown: Vec<_> = ranked
        .hits
        .iter()
        .flat_map(|hit| hit.also.iter().copied().chain([hit.candidate]))
        .collect();
    shown.sort_unstable();
    assert!(shown.is_sorted_by(|before, after| before < after), "one is shown twice: {shown:?}");
    assert!(shown.last().is_none_or(|last| *last < candidates.len()));

    let again = rank(query, &candidates, &options);
    let order = |ranked: &mcp_aql_aggregator::rank::Ranked| -> Vec<_> {
        ranked
            .hits
            .iter()
            .map(|hit| (hit.candidate, hit.score.to_bits(), hit.also.clone()))
            .collect()
    };
    assert_eq!(order(&ranked), order(&again));
});
