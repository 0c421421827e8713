//! Parses and groups the reasons why a level is not granted.

use super::alike::merge_alike;
use super::value_text::line;
use super::{Report, show};

/// Prefix of the reason of an untested check, before the cause.
pub(super) const NOT_TESTED: &str = "was not tested";
/// Prefix of the reason of a check tested in part, before the cause.
pub(super) const IN_PART: &str = "was tested in part";
const KINDS: [&str; 2] = [NOT_TESTED, IN_PART];

/// The reason why a check or a level could not be tested, in its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Obstacle<'a> {
    /// Level that the obstacle concerns, or `None` for all levels.
    pub(super) level: Option<u8>,
    /// Check that the obstacle concerns, if any.
    pub(super) check: Option<&'a str>,
    /// Reason, without the name of the check.
    pub(super) reason: &'a str,
}

/// An obstacle to the next level with all checks that it concerns.
#[derive(Debug, PartialEq)]
pub(super) struct ObstacleGroup {
    /// Reason shared by the checks.
    pub(super) what: String,
    /// Ids of the checks.
    pub(super) checks: Vec<String>,
}

impl<'a> Obstacle<'a> {
    /// Splits an obstacle of a report into its parts.
    ///
    /// ```text
    /// level 1: shapes.union failed  →  level 1, check `shapes.union`, reason `failed`
    /// ```
    pub(super) fn parse(text: &'a str) -> Self {
        let split = text.strip_prefix("level ").and_then(|rest| {
            let (level, rest) = rest.split_once(": ")?;
            Some((level.parse().ok()?, rest))
        });
        let (level, rest) = match split {
            Some((level, rest)) => (Some(level), rest),
            None => (None, text),
        };
        let is_check = |word: &&str| {
            let is_word = |part: &str| {
                !part.is_empty()
                    && part.bytes().all(|each| {
                        each.is_ascii_lowercase() || each == b'_' || each.is_ascii_digit()
                    })
            };
            word.split_once('.').is_some_and(|(area, rule)| is_word(area) && is_word(rule))
        };
        match rest.split_once(' ').filter(|(word, _)| level.is_some() && is_check(word)) {
            Some((check, reason)) => Self { level, check: Some(check), reason },
            None => Self { level, check: None, reason: rest },
        }
    }

    /// Returns the key of the obstacle in a baseline: the check with the kind of the reason, or else the reason.
    pub(super) fn key(&self) -> String {
        match self.check {
            Some(check) => match KINDS.iter().find(|kind| self.is_of(kind)) {
                Some(kind) => format!("{check} {kind}"),
                None => check.to_owned(),
            },
            None => self.reason.to_owned(),
        }
    }

    fn is_of(&self, kind: &str) -> bool {
        self.reason.strip_prefix(kind).is_some_and(|rest| rest.starts_with(": "))
    }

    /// Returns `true` if this entry of a baseline accepts the obstacle.
    ///
    /// An entry for an untested check also accepts a check tested in part.
    pub(super) fn is_accepted_as(&self, accepted: &str) -> bool {
        accepted == self.key()
            || self.check.is_some_and(|check| {
                self.is_of(IN_PART) && accepted == format!("{check} {NOT_TESTED}")
            })
    }

    /// Describes the kind of the reason in the words of reports.
    fn kind(&self) -> String {
        for (kind, said) in [(NOT_TESTED, "not exercised"), (IN_PART, "exercised in part")] {
            if let Some(why) = self.reason.strip_prefix(kind).filter(|_| self.is_of(kind)) {
                return format!("{said}{}", line(why));
            }
        }
        line(self.reason)
    }
}

impl Report {
    /// Returns the next requested level above the achieved one.
    pub(super) fn next_level(&self) -> Option<u8> {
        (self.conformance_level < self.requested_level && !self.is_subset())
            .then_some(self.conformance_level + 1)
    }

    /// Returns the obstacles to the next level, grouped by kind. Failures come first.
    pub(super) fn missing(&self) -> Vec<ObstacleGroup> {
        let next = self.next_level().filter(|_| self.is_reached());
        let Some(next) = next else { return Vec::new() };
        let mut missing: Vec<ObstacleGroup> = Vec::new();
        let obstacles = self.obstacles.iter().map(|text| Obstacle::parse(text));
        for obstacle in obstacles.filter(|it| it.level.is_none_or(|level| level == next)) {
            let (what, check) = (obstacle.kind(), obstacle.check.map(line));
            match missing.iter_mut().find(|missing| missing.what == what) {
                Some(missing) => missing.checks.extend(check),
                None => missing.push(ObstacleGroup { what, checks: check.into_iter().collect() }),
            }
        }
        missing.sort_by_key(|missing| missing.what != show::FAILED);
        let merge =
            |first: &mut Vec<String>, other: Vec<String>| (*first != other).then_some(other);
        let missing = missing.into_iter().map(|it| (it.what, it.checks));
        let missing = merge_alike(missing, merge).into_iter();
        missing.map(|(what, checks)| ObstacleGroup { what, checks }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn baselines_accept_obstacles_of_their_kind() {
        let accepts = |accepted: &str, text: &str| Obstacle::parse(text).is_accepted_as(accepted);
        let (untested, in_part) =
            ("level 2: a.b was not tested: x: y", "level 2: a.b was tested in part: z");
        assert_eq!(Obstacle::parse(untested).key(), "a.b was not tested");
        assert_eq!(Obstacle::parse(in_part).key(), "a.b was tested in part");
        assert_eq!(Obstacle::parse("level 1: a.b blocks 2 checks").key(), "a.b");
        assert!(accepts("a.b was not tested", untested));
        assert!(accepts("a.b was not tested", in_part));
        assert!(accepts("a.b was tested in part", in_part));
        assert!(!accepts("a.b was tested in part", untested));
        assert!(!accepts("a.b", untested) && !accepts("a.bc was not tested", untested));
        assert!(accepts("only one endpoint mode", "level 2: only one endpoint mode"));
    }

    #[test]
    fn obstacles_are_split_into_their_parts() {
        for (text, level, check, reason) in [
            ("level 1: shapes.union failed", Some(1), Some("shapes.union"), "failed"),
            ("level 2: a.b was not tested: x: y", Some(2), Some("a.b"), "was not tested: x: y"),
            ("level 2: only one endpoint mode", Some(2), None, "only one endpoint mode"),
            ("single mode: it died", None, None, "single mode: it died"),
            ("level x: y", None, None, "level x: y"),
        ] {
            assert_eq!(Obstacle::parse(text), Obstacle { level, check, reason }, "{text}");
        }
    }
}
