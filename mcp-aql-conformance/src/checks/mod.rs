//! All checks, by area. The name of a check is `area.what`; the area is the report's category.

mod aggregates;
mod batch;
mod collections;
mod confirmation;
mod creates;
mod danger;
mod deletes;
mod encoding;
mod errors;
mod fields;
mod introspection;
mod lifecycle;
mod limits;
mod modes;
mod pagination;
mod parameters;
mod quotas;
mod relationships;
mod robustness;
mod routing;
mod safety_loop;
mod sessions;
mod shapes;
mod tools;
mod updates;
mod wire;

use std::fmt;

use futures_util::future::BoxFuture;

use crate::call::Exchange;
use crate::cases::Cases;
use crate::config::Settings;
use crate::run::Run;
use crate::runner::Whole;

/// How much a requirement asks for, and so what a finding is: a failure, or a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keyword {
    /// A finding is a failure.
    Must,
    /// A finding is a warning.
    Should,
}

impl Keyword {
    /// In capitals, as the protocol has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
        }
    }
}

/// One check: [`checks`](crate::checks) gives all of them.
pub struct Check {
    /// `area.what`.
    pub id: &'static str,
    /// What holds where it passes, in one sentence.
    pub title: &'static str,
    /// The requirements it is about.
    pub requirements: &'static [&'static str],
    /// What a finding means.
    pub keyword: Keyword,
    /// The level of conformance that it belongs to, 1 or 2.
    pub level: u8,
    pub(crate) body: Body,
}

impl Check {
    /// The area: what stands before the dot.
    pub fn category(&self) -> &'static str {
        self.id.split('.').next().unwrap_or(self.id)
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Check").field(&self.id).finish()
    }
}

type Active = for<'a> fn(&'a Run, &'a Cases) -> BoxFuture<'a, ()>;

/// When and on what a check works.
pub(crate) enum Body {
    /// On what was learned, without a call.
    Learned(fn(&Run, &Cases)),
    /// With calls that change nothing. Many at once.
    Reads(Active),
    /// With calls that change what the check itself has created. Many at once, after the former.
    Changes(Active),
    /// On connections of its own, one after the other, after all others.
    Alone(Active),
    /// On every call that any check made.
    Every(fn(&Run, &Exchange, &Cases)),
    /// On what was seen of all messages, at the end.
    Seen(fn(&Run, &Cases)),
    /// On all modes together, after everything else.
    Modes(fn(&Whole, &Settings, &Cases)),
}

/// A MUST of level 1.
const fn of_level_1(
    id: &'static str,
    title: &'static str,
    requirements: &'static [&'static str],
    body: Body,
) -> Check {
    Check { id, title, requirements, keyword: Keyword::Must, level: 1, body }
}

/// A MUST of level 2.
const fn of_level_2(
    id: &'static str,
    title: &'static str,
    requirements: &'static [&'static str],
    body: Body,
) -> Check {
    Check { level: 2, ..of_level_1(id, title, requirements, body) }
}

/// A SHOULD of level 2.
const fn should_of_level_2(
    id: &'static str,
    title: &'static str,
    requirements: &'static [&'static str],
    body: Body,
) -> Check {
    should(of_level_2(id, title, requirements, body))
}

/// The same as a SHOULD.
const fn should(check: Check) -> Check {
    Check { keyword: Keyword::Should, ..check }
}

/// Makes a function of an async one, as the table holds it.
macro_rules! later {
    ($function:path) => {
        |run, cases| Box::pin($function(run, cases))
    };
}
pub(crate) use later;

/// All checks, in the order in which they are reported.
///
/// ```
/// let check = mcp_aql_conformance::checks().next().unwrap();
/// assert_eq!((check.id, check.category()), ("wire.only_messages", "wire"));
/// assert_eq!((check.keyword.as_str(), check.level), ("MUST", 1));
/// assert_eq!(check.requirements, ["REQ-MCP-09"]);
/// ```
pub fn all() -> impl Iterator<Item = &'static Check> {
    [
        wire::CHECKS,
        tools::CHECKS,
        introspection::CHECKS,
        routing::CHECKS,
        parameters::CHECKS,
        errors::CHECKS,
        shapes::CHECKS,
        encoding::CHECKS,
        limits::CHECKS,
        collections::CHECKS,
        pagination::CHECKS,
        fields::CHECKS,
        aggregates::CHECKS,
        relationships::CHECKS,
        batch::CHECKS,
        creates::CHECKS,
        updates::CHECKS,
        deletes::CHECKS,
        danger::CHECKS,
        confirmation::CHECKS,
        lifecycle::CHECKS,
        safety_loop::CHECKS,
        quotas::CHECKS,
        sessions::CHECKS,
        robustness::CHECKS,
        modes::CHECKS,
    ]
    .into_iter()
    .flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_say_their_area() {
        let mut names = BTreeSet::new();
        for check in all() {
            assert!(names.insert(check.id), "{} is there twice", check.id);
            let (area, what) = check.id.split_once('.').expect("area.what");
            let is_word = |word: &str| {
                !word.is_empty()
                    && word.bytes().all(|byte| {
                        byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'
                    })
            };
            assert!(is_word(area) && is_word(what), "{}", check.id);
            assert!(!check.requirements.is_empty(), "{} is about nothing", check.id);
            assert!((1..=2).contains(&check.level), "{}", check.id);
        }
    }
}
