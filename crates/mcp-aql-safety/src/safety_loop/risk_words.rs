//! The words by which the risk of an action is scored.

use Word::{All, Change, Danger, Production, Remove, Safe, Secret, Wreck};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Word {
    Safe,
    Change,
    Remove,
    Danger,
    Wreck,
    /// A word that means everything, such as `all`.
    All,
    Production,
    Secret,
}

/// The known words in alphabetical order, for a binary search.
pub(super) const WORDS: &[(&str, Word)] = &[
    ("abort", Remove),
    ("add", Change),
    ("all", All),
    ("analyse", Safe),
    ("analyze", Safe),
    ("apikey", Secret),
    ("append", Change),
    ("apply", Change),
    ("build", Change),
    ("bypass", Danger),
    ("call", Safe),
    ("cancel", Remove),
    ("change", Change),
    ("charge", Danger),
    ("check", Safe),
    ("clear", Remove),
    ("commit", Change),
    ("compare", Safe),
    ("copy", Change),
    ("count", Safe),
    ("create", Change),
    ("credential", Secret),
    ("deactivate", Remove),
    ("decrypt", Danger),
    ("delete", Remove),
    ("deploy", Danger),
    ("describe", Safe),
    ("destroy", Wreck),
    ("disable", Danger),
    ("discard", Remove),
    ("download", Change),
    ("drop", Remove),
    ("edit", Change),
    ("encrypt", Danger),
    ("entire", All),
    ("erase", Remove),
    ("every", All),
    ("everything", All),
    ("execute", Change),
    ("exfiltrate", Wreck),
    ("explain", Safe),
    ("export", Change),
    ("fetch", Safe),
    ("find", Safe),
    ("force", Danger),
    ("get", Safe),
    ("grant", Danger),
    ("halt", Danger),
    ("id_rsa", Secret),
    ("import", Change),
    ("insert", Change),
    ("inspect", Safe),
    ("install", Change),
    ("keychain", Secret),
    ("kill", Remove),
    ("list", Safe),
    ("look", Safe),
    ("merge", Change),
    ("mkfs", Wreck),
    ("move", Change),
    ("open", Safe),
    ("override", Danger),
    ("overwrite", Remove),
    ("passwd", Secret),
    ("password", Secret),
    ("patch", Change),
    ("pay", Danger),
    ("plan", Safe),
    ("post", Change),
    ("prod", Production),
    ("production", Production),
    ("prune", Remove),
    ("publish", Danger),
    ("purchase", Danger),
    ("purge", Danger),
    ("push", Change),
    ("put", Change),
    ("query", Safe),
    ("read", Safe),
    ("reboot", Danger),
    ("refund", Danger),
    ("remove", Remove),
    ("rename", Change),
    ("replace", Change),
    ("reset", Remove),
    ("restart", Change),
    ("revert", Remove),
    ("review", Safe),
    ("revoke", Remove),
    ("rm", Remove),
    ("rmdir", Remove),
    ("rollback", Remove),
    ("run", Change),
    ("save", Change),
    ("search", Safe),
    ("secret", Secret),
    ("select", Safe),
    ("send", Change),
    ("set", Change),
    ("show", Safe),
    ("shred", Wreck),
    ("shutdown", Danger),
    ("start", Change),
    ("stop", Change),
    ("sudo", Danger),
    ("summarise", Safe),
    ("summarize", Safe),
    ("terminate", Remove),
    ("test", Change),
    ("think", Safe),
    ("transfer", Danger),
    ("truncate", Wreck),
    ("uninstall", Remove),
    ("unlink", Remove),
    ("update", Change),
    ("upload", Change),
    ("validate", Safe),
    ("view", Safe),
    ("wipe", Wreck),
    ("write", Change),
];

/// Objects that lose their data when they are dropped.
pub(super) const STRUCTURES: &[&str] = &[
    "table",
    "tables",
    "database",
    "databases",
    "db",
    "schema",
    "schemas",
    "collection",
    "collections",
    "index",
    "view",
    "keyspace",
    "partition",
    "column",
];

impl Word {
    pub(super) const fn score(self) -> u8 {
        match self {
            Safe => 10,
            Change => 25,
            Remove => 50,
            Danger => 75,
            Wreck => 95,
            All | Production | Secret => 0,
        }
    }
}

pub(super) fn known(word: &str) -> Option<Word> {
    WORDS
        .binary_search_by_key(&word, |(known, _)| known)
        .ok()
        .and_then(|place| WORDS.get(place))
        .map(|(_, kind)| *kind)
}

/// Returns the kind of a word. Inflected forms such as `deletes`, `deleting` and `dropping` have the kind of their base
/// form.
pub(super) fn kind_of(word: &str) -> Option<Word> {
    if let Some(kind) = known(word) {
        return Some(kind);
    }
    if let Some(stem) = word.strip_suffix("ing") {
        let doubled = || {
            let mut letters = stem.chars().rev();
            let (last, before) = (letters.next()?, letters.next()?);
            (last == before).then(|| stem.strip_suffix(last)).flatten().and_then(known)
        };
        let mut longer = String::with_capacity(stem.len() + 1);
        longer.push_str(stem);
        longer.push('e');
        return known(stem).or_else(|| known(&longer)).or_else(doubled);
    }
    let stem = word.strip_suffix('s')?;
    known(stem).or_else(|| stem.strip_suffix('e').and_then(known))
}
