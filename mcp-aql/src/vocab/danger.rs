use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::SemanticCategory;

/// How much harm an operation can do, from `safe` to `forbidden`.
///
/// ```
/// use mcp_aql::{DangerLevel, SemanticCategory};
///
/// assert!(DangerLevel::Dangerous > DangerLevel::Destructive);
/// assert_eq!(DangerLevel::of_category(SemanticCategory::Delete), DangerLevel::Destructive);
/// assert_eq!("forbidden".parse(), Ok(DangerLevel::Forbidden));
/// ```
///
/// Source: adapter/danger-levels §2.1 (REQ-DNG-01).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DangerLevel {
    /// Changes nothing.
    Safe,
    /// What it does can be undone.
    Reversible,
    /// Data is lost.
    Destructive,
    /// Much is lost, or a safeguard is passed by.
    Dangerous,
    /// Nothing that an agent should do on its own.
    Forbidden,
}

/// How far an adapter is trusted.
///
/// ```
/// use mcp_aql::TrustLevel;
///
/// assert!(TrustLevel::Certified > TrustLevel::Untested);
/// assert_eq!(TrustLevel::default(), TrustLevel::Untested);
/// ```
///
/// Source: adapter/trust-levels §2.1 (REQ-DNG-13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum TrustLevel {
    /// Nobody has looked at it.
    #[default]
    Untested,
    /// A generator made it.
    Generated,
    /// Its tests pass.
    Validated,
    /// Two people other than its author read it.
    CommunityReviewed,
    /// An authority vouches for it.
    Certified,
}

/// A word that is none of the levels.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is no {kind}: write one of {known}")]
pub struct UnknownLevel {
    given: String,
    kind: &'static str,
    known: String,
}

macro_rules! levels {
    ($type:ident, $kind:literal, $($variant:ident = $word:literal),*) => {
        impl $type {
            /// All levels, the lowest first.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The word on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),*
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(self.as_str())
            }
        }

        impl FromStr for $type {
            type Err = UnknownLevel;

            fn from_str(word: &str) -> Result<Self, UnknownLevel> {
                match word {
                    $($word => Ok(Self::$variant),)*
                    _ => Err(UnknownLevel {
                        given: word.to_owned(),
                        kind: $kind,
                        known: [$($word),*].join(", "),
                    }),
                }
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

levels!(
    DangerLevel,
    "danger level",
    Safe = "safe",
    Reversible = "reversible",
    Destructive = "destructive",
    Dangerous = "dangerous",
    Forbidden = "forbidden"
);
levels!(
    TrustLevel,
    "trust level",
    Untested = "untested",
    Generated = "generated",
    Validated = "validated",
    CommunityReviewed = "community_reviewed",
    Certified = "certified"
);

impl DangerLevel {
    /// The number in audits: 0 to 4.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// What an operation of this category is taken for when it says nothing (REQ-DNG-02, choice C-45).
    pub const fn of_category(category: SemanticCategory) -> Self {
        match category {
            SemanticCategory::Read => Self::Safe,
            SemanticCategory::Create | SemanticCategory::Update | SemanticCategory::Execute => {
                Self::Reversible
            }
            SemanticCategory::Delete => Self::Destructive,
        }
    }
}

/// What names give away about an operation that declares no level, the most dangerous first. A `*` at
/// one end stands for any text (REQ-DNG-08, choice C-48).
pub const DANGER_PATTERNS: &[(DangerLevel, &[&str])] = &[
    (
        DangerLevel::Forbidden,
        &["drop_*", "delete_all*", "truncate_*", "reset_*", "destroy_*", "wipe_*", "*_production"],
    ),
    (
        DangerLevel::Dangerous,
        &[
            "force_*",
            "*_permanently",
            "bulk_delete*",
            "override_*",
            "bypass_*",
            "*_without_backup",
            "purge_*",
        ],
    ),
    (DangerLevel::Safe, &["get_*", "list_*", "search_*", "count_*", "check_*", "introspect*"]),
];

/// Whether a name is one that the pattern stands for: `*` at one end, or none.
pub(crate) fn names_match(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => name == pattern,
    }
}

/// The level of an operation that declares none, and the pattern that says so, if one does. A pattern
/// only raises what the category says (REQ-DNG-02, REQ-DNG-08).
pub(crate) fn inferred_danger(
    name: &str,
    category: SemanticCategory,
) -> (DangerLevel, Option<&'static str>) {
    let least = DangerLevel::of_category(category);
    let found = DANGER_PATTERNS.iter().find_map(|(level, patterns)| {
        let pattern = patterns.iter().find(|pattern| names_match(pattern, name))?;
        Some((*level, *pattern))
    });
    match found {
        Some((level, pattern)) if level > least => (level, Some(pattern)),
        _ => (least, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ordered_and_have_the_protocols_words() {
        // REQ-DNG-01, REQ-DNG-13
        let words: Vec<_> = DangerLevel::ALL.iter().map(ToString::to_string).collect();
        assert_eq!(words, ["safe", "reversible", "destructive", "dangerous", "forbidden"]);
        for (number, level) in DangerLevel::ALL.iter().enumerate() {
            assert_eq!(usize::from(level.number()), number);
            assert_eq!(level.as_str().parse(), Ok(*level));
        }
        assert!(TrustLevel::ALL.is_sorted());
        let error = "trusted".parse::<TrustLevel>().unwrap_err();
        assert!(error.to_string().contains("community_reviewed"), "{error}");
    }

    #[test]
    fn names_raise_what_the_category_says_and_never_lower_it() {
        // REQ-DNG-02, REQ-DNG-08
        use SemanticCategory::{Create, Delete, Execute, Read, Update};
        for (name, category, level, pattern) in [
            ("list_tasks", Read, DangerLevel::Safe, None),
            ("create_task", Create, DangerLevel::Reversible, None),
            ("check_in", Create, DangerLevel::Reversible, None),
            ("get_rid_of_task", Delete, DangerLevel::Destructive, None),
            ("purge_cache", Execute, DangerLevel::Dangerous, Some("purge_*")),
            ("reset_password", Update, DangerLevel::Forbidden, Some("reset_*")),
            ("delete_all_tasks", Delete, DangerLevel::Forbidden, Some("delete_all*")),
            ("force_wipe_production", Execute, DangerLevel::Forbidden, Some("*_production")),
            ("drop_in_readings", Read, DangerLevel::Forbidden, Some("drop_*")),
        ] {
            assert_eq!(inferred_danger(name, category), (level, pattern), "{name}");
        }
    }
}
