//! Results of servers that do not exist.

use crate::random::Random;

/// What is asked. A result has some of these words, since it was found by them.
pub const QUERY: &str =
    "refund cancelled ferry booking passenger weather notice timetable connection pool";

/// Words that hold sentences together, more often the earlier they stand here.
const COMMON: &[&str] = &[
    "the", "of", "and", "to", "a", "in", "is", "that", "it", "for", "was", "on", "with", "as",
    "by", "at", "from", "this", "are", "which", "be", "or", "an", "when", "not", "has", "its",
    "can",
];
/// Beginnings and ends of words that no language has; the ends are English, so that they are stemmed.
const SYLLABLES: &[&str] = &[
    "ban", "cor", "del", "fin", "gar", "hol", "jun", "kel", "lor", "mir", "nov", "pel", "ras",
    "sel", "tor", "vin", "wal", "zan", "bro", "cre", "dro", "fla", "gri", "pla", "sto", "tra",
];
const ENDINGS: &[&str] =
    &["", "", "", "s", "ed", "ing", "er", "ation", "ly", "ness", "ment", "able"];

/// Results with about so many bytes each; one in twenty is a copy of one before, and one in twenty is
/// such a copy with one word in twenty changed.
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
    // One answers better than all others, so that whoever ranks can be checked.
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

/// One of some 200,000, the frequent ones often.
fn word(text: &mut String, random: &mut Random) {
    for _ in 0..2 {
        text.push_str(SYLLABLES.get(few(SYLLABLES.len(), random)).copied().unwrap_or_default());
    }
    if random.below(3) == 0 {
        text.push_str(SYLLABLES.get(random.below(SYLLABLES.len())).copied().unwrap_or_default());
    }
    text.push_str(ENDINGS.get(random.below(ENDINGS.len())).copied().unwrap_or_default());
}

/// Less than this, small numbers more often.
fn few(bound: usize, random: &mut Random) -> usize {
    (random.fraction().powi(2) * bound as f64) as usize
}

fn changed(text: &str, random: &mut Random) -> String {
    let words = text.split(' ').map(|word| if random.below(20) == 0 { "changed" } else { word });
    words.collect::<Vec<_>>().join(" ")
}
