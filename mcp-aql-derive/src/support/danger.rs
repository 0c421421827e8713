//! How dangerous an operation is. The runtime's `DangerLevel` and its list of names are the same; a
//! test in `tests/` holds them equal.

use super::category::Category;
use super::names;

/// How much harm an operation can do, the least first (adapter/danger-levels §2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(crate) enum DangerLevel {
    Safe,
    Reversible,
    Destructive,
    Dangerous,
    Forbidden,
}

/// What an operation of a category is taken for when it says nothing (REQ-DNG-02).
const DEFAULTS: [(Category, DangerLevel); 5] = [
    (Category::Create, DangerLevel::Reversible),
    (Category::Read, DangerLevel::Safe),
    (Category::Update, DangerLevel::Reversible),
    (Category::Delete, DangerLevel::Destructive),
    (Category::Execute, DangerLevel::Reversible),
];

/// What names give away, the most dangerous first; `*` stands for any text at one end (REQ-DNG-08).
const DANGER_PATTERNS: &[(DangerLevel, &[&str])] = &[
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

impl DangerLevel {
    pub(crate) const ALL: [Self; 5] =
        [Self::Safe, Self::Reversible, Self::Destructive, Self::Dangerous, Self::Forbidden];

    /// The word on the wire.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Reversible => "reversible",
            Self::Destructive => "destructive",
            Self::Dangerous => "dangerous",
            Self::Forbidden => "forbidden",
        }
    }

    /// The variant of the runtime's `DangerLevel`.
    pub(crate) const fn variant(self) -> &'static str {
        match self {
            Self::Safe => "Safe",
            Self::Reversible => "Reversible",
            Self::Destructive => "Destructive",
            Self::Dangerous => "Dangerous",
            Self::Forbidden => "Forbidden",
        }
    }

    /// The level of this name, or what to write instead.
    pub(crate) fn from_name(name: &str) -> Result<Self, String> {
        let words = Self::ALL.map(Self::as_str);
        Self::ALL.into_iter().find(|level| level.as_str() == name).ok_or_else(|| {
            let hint = match names::nearest(&name.to_ascii_lowercase(), words) {
                Some(near) => {
                    let others = words.into_iter().filter(|word| *word != near);
                    format!("did you mean `{near}`? The others are {}", names::all_of(others))
                }
                None => format!("write {}", names::one_of(words)),
            };
            format!("unknown danger level `{name}`: {hint}")
        })
    }

    /// What an operation of this category is taken for when it says nothing.
    pub(crate) fn of_category(category: Category) -> Self {
        let found = DEFAULTS.into_iter().find(|(known, _)| *known == category);
        found.map_or(Self::Reversible, |(_, level)| level)
    }

    /// The level that a name raises its category's to, and the pattern that says so.
    pub(crate) fn raised_by_name(
        operation: &str,
        category: Category,
    ) -> Option<(Self, &'static str)> {
        let (level, pattern) = DANGER_PATTERNS.iter().find_map(|(level, patterns)| {
            let pattern = patterns.iter().find(|pattern| matches(pattern, operation))?;
            Some((*level, *pattern))
        })?;
        (level > Self::of_category(category)).then_some((level, pattern))
    }
}

fn matches(pattern: &str, name: &str) -> bool {
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
    fn unknown_words_are_answered_with_all_levels() {
        assert_eq!(DangerLevel::from_name("dangerous"), Ok(DangerLevel::Dangerous));
        for (name, message) in [
            (
                "Destructiv",
                "unknown danger level `Destructiv`: did you mean `destructive`? The others are `safe`, `reversible`, `dangerous` and `forbidden`",
            ),
            (
                "high",
                "unknown danger level `high`: write `safe`, `reversible`, `destructive`, `dangerous` or `forbidden`",
            ),
        ] {
            assert_eq!(DangerLevel::from_name(name), Err(message.to_owned()));
        }
    }

    #[test]
    fn names_raise_what_the_category_says_and_never_lower_it() {
        for (name, category, raised) in [
            ("list_tasks", Category::Read, None),
            ("check_in", Category::Create, None),
            ("get_rid_of_task", Category::Delete, None),
            ("purge_cache", Category::Execute, Some((DangerLevel::Dangerous, "purge_*"))),
            ("purge", Category::Delete, None),
            ("delete_all", Category::Delete, Some((DangerLevel::Forbidden, "delete_all*"))),
            (
                "force_wipe_production",
                Category::Execute,
                Some((DangerLevel::Forbidden, "*_production")),
            ),
            ("drop_in_readings", Category::Read, Some((DangerLevel::Forbidden, "drop_*"))),
        ] {
            assert_eq!(DangerLevel::raised_by_name(name, category), raised, "{name}");
        }
    }
}
