//! Generates the results of fictional servers.

use mcp_aql_bench::random::Random;

/// The search query. Every result contains some of its words.
pub const QUERY: &str =
    "refund cancelled ferry booking passenger weather notice timetable connection pool";

/// Function words, most frequent first.
const COMMON: &[&str] = &[
    "the", "of", "and", "to", "a", "in", "is", "that", "it", "for", "was", "on", "with", "as",
    "by", "at", "from", "this", "are", "which", "be", "or", "an", "when", "not", "has", "its",
    "can",
];
/// Syllables and endings of artificial words. The endings are English, so that stemming has the
/// usual work to do.
const SYLLABLES: &[&str] = &[
    "ban", "cor", "del", "fin", "gar", "hol", "jun", "kel", "lor", "mir", "nov", "pel", "ras",
    "sel", "tor", "vin", "wal", "zan", "bro", "cre", "dro", "fla", "gri", "pla", "sto", "tra",
];
const ENDINGS: &[&str] =
    &["", "", "", "s", "ed", "ing", "er", "ation", "ly", "ness", "ment", "able"];

/// Generates results of about `bytes` bytes each. One in twenty copies an earlier result exactly.
/// Another one in twenty is a copy in which about one word in twenty is changed.
pub fn results(count: usize, bytes: usize) -> Vec<String> {
    let mut random = Random::new(count as u64);
    let mut results: Vec<String> = Vec::with_capacity(count);
    for at in 0..count {
        let earlier = results.get(random.below(at.max(1))).cloned();
        let text = match (earlier, at % 20) {
            (Some(text), 9) => text,
            (Some(text), 19) => changed(&text, &mut random),
            _ => text(bytes, &mut random),
        };
        results.push(text);
    }
    // Make one result the best by far. The first hit of every engine can then be checked.
    if let Some(best) = results.get_mut(count / 2) {
        *best = [QUERY; 12].join(". ");
        best.push_str(". ");
        best.push_str(&text(bytes.saturating_sub(best.len()), &mut random));
    }
    results
}

fn text(bytes: usize, random: &mut Random) -> String {
    let asked: Vec<&str> = QUERY.split(' ').collect();
    let own = random.below(asked.len());
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        match random.below(40) {
            0 => text.push_str(asked.get(own).copied().unwrap_or_default()),
            1 => text.push_str(asked.get(random.below(asked.len())).copied().unwrap_or_default()),
            2..=17 => {
                text.push_str(COMMON.get(few(COMMON.len(), random)).copied().unwrap_or_default())
            }
            _ => word(&mut text, random),
        }
        text.push_str(if random.below(12) == 0 { ". " } else { " " });
    }
    text
}

/// Appends one of about 200,000 words. Frequent words are more likely.
fn word(text: &mut String, random: &mut Random) {
    for _ in 0..2 {
        text.push_str(SYLLABLES.get(few(SYLLABLES.len(), random)).copied().unwrap_or_default());
    }
    if random.below(3) == 0 {
        text.push_str(random.pick(SYLLABLES).unwrap_or_default());
    }
    text.push_str(random.pick(ENDINGS).unwrap_or_default());
}

/// Returns an integer below `bound`. Small ones are more likely.
fn few(bound: usize, random: &mut Random) -> usize {
    (random.fraction().powi(2) * bound as f64) as usize
}

fn changed(text: &str, random: &mut Random) -> String {
    let words = text.split(' ').map(|word| if random.below(20) == 0 { "changed" } else { word });
    words.collect::<Vec<_>>().join(" ")
}
