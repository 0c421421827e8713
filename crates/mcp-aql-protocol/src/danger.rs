//! Danger levels: how much harm an operation can do, and the level that its category and name imply.

use crate::SemanticCategory;
use crate::level::levels;

/// How much harm an operation can do, from `safe` to `forbidden`.
///
/// ```
/// use mcp_aql_protocol::{DangerLevel, SemanticCategory};
///
/// assert!(DangerLevel::Dangerous > DangerLevel::Destructive);
/// assert_eq!(DangerLevel::of_category(SemanticCategory::Delete), DangerLevel::Destructive);
/// assert_eq!("forbidden".parse(), Ok(DangerLevel::Forbidden));
/// ```
///
/// Source: adapter/danger-levels §2.1 (REQ-DNG-01).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DangerLevel {
    /// The operation changes nothing.
    Safe,
    /// The operation can be undone.
    Reversible,
    /// The operation loses data.
    Destructive,
    /// The operation loses much data or bypasses a safeguard.
    Dangerous,
    /// An agent must not perform the operation on its own.
    Forbidden,
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

impl DangerLevel {
    /// Returns the number of the level in audit entries, from 0 (`safe`) to 4 (`forbidden`).
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Returns the level of an operation that declares none, from its category alone (REQ-DNG-02, choice C-45).
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

impl DangerLevel {
    /// Returns the level of an operation that declares none, from its name and category.
    ///
    /// The second value is the name pattern that raised the level above the level of the category. It is `None` if no
    /// pattern did. A pattern never lowers the level (REQ-DNG-02, REQ-DNG-08).
    ///
    /// ```
    /// use mcp_aql_protocol::{DangerLevel, SemanticCategory};
    ///
    /// let (level, pattern) = DangerLevel::inferred("purge_cache", SemanticCategory::Execute);
    /// assert_eq!((level, pattern), (DangerLevel::Dangerous, Some("purge_*")));
    /// ```
    pub fn inferred(name: &str, category: SemanticCategory) -> (Self, Option<&'static str>) {
        let default = Self::of_category(category);
        let found = DANGER_PATTERNS.iter().find_map(|(level, patterns)| {
            let pattern = patterns.iter().find(|pattern| pattern_matches(pattern, name))?;
            Some((*level, *pattern))
        });
        match found {
            Some((level, pattern)) if level > default => (level, Some(pattern)),
            _ => (default, None),
        }
    }
}

/// Name patterns that imply a level for an operation that declares none, from the most dangerous level down.
/// A `*` at either end matches any string (REQ-DNG-08, choice C-48).
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

/// Returns `true` if a name matches a pattern of [`DANGER_PATTERNS`]. A pattern has at most one `*`, at either end.
///
/// ```
/// use mcp_aql_protocol::pattern_matches;
///
/// assert!(pattern_matches("drop_*", "drop_table"));
/// assert!(pattern_matches("*_production", "restart_production"));
/// assert!(!pattern_matches("drop_*", "undrop_table"));
/// ```
pub fn pattern_matches(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ordered_and_have_the_protocols_words() {
        // REQ-DNG-01
        let words: Vec<_> = DangerLevel::ALL.iter().map(ToString::to_string).collect();
        assert_eq!(words, ["safe", "reversible", "destructive", "dangerous", "forbidden"]);
        for (number, level) in DangerLevel::ALL.iter().enumerate() {
            assert_eq!(usize::from(level.number()), number);
            assert_eq!(level.as_str().parse(), Ok(*level));
        }
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
            assert_eq!(DangerLevel::inferred(name, category), (level, pattern), "{name}");
        }
    }
}
