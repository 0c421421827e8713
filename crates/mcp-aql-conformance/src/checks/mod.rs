//! The table of all checks, one module per area. The id of a check is `area.rule`, and reports are grouped by area.
//!
//! To add a check, you write an entry in the table `CHECKS` of its area, and its function or the calls and the rule of
//! [`planned`]. The phase in the entry depends on the calls: you use `Reads` if they change nothing, `Changes` if they
//! change items created by the check, and `Alone` only if other checks must not run at the same time.

mod aggregates;
mod batch;
mod calls;
mod collections;
mod confirmation;
mod creates;
mod danger;
mod danger_levels;
mod data;
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
mod planned;
mod quotas;
mod refusals;
mod relationships;
mod robustness;
mod routing;
mod safety_loop;
mod sessions;
mod shapes;
mod stated_changes;
mod tools;
mod updates;
mod wire;

use std::fmt;

use futures_util::future::BoxFuture;

use crate::call::Exchange;
use crate::cases::{Cases, Hints};
use crate::config::Exclusion;
use crate::run::{Run, RunResults};
use crate::settings::Settings;

/// The requirement level of a check. It decides whether a finding is a failure or a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keyword {
    /// A finding is a failure.
    Must,
    /// A finding is a warning.
    Should,
}

impl Keyword {
    /// Returns the keyword in capitals, as in RFC 2119.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
        }
    }
}

/// A check. You get a list of all checks from [`checks`](crate::checks).
pub struct Check {
    /// Unique id of the form `area.rule`, for example `wire.only_messages`. You select a check by its id.
    pub id: &'static str,
    /// The checked rule in one sentence.
    pub title: &'static str,
    /// Ids of the covered requirements. You can also select checks by these ids.
    pub requirements: &'static [&'static str],
    /// The requirement level. It decides whether a finding is a failure or a warning.
    pub keyword: Keyword,
    /// The conformance level of the check, 1 or 2.
    pub level: u8,
    pub(crate) hints: Hints,
    pub(crate) body: Body,
}

impl Check {
    /// Returns the area of the check, the part of its id before the dot. You can select all checks of an area.
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

/// The function of a check. The variant is the phase in which it runs, and determines its input.
pub(crate) enum Body {
    /// Examines the learned adapter without calls.
    Learned(fn(&Run, &Cases)),
    /// Makes calls that change nothing. Runs concurrently with other checks.
    Reads(Active),
    /// Makes calls that change items created by the check. Runs concurrently with other checks of this kind, after all
    /// checks that only read.
    Changes(Active),
    /// Runs alone on connections of its own, after all others.
    Alone(Active),
    /// Runs for every exchange of all checks.
    Every(fn(&Run, &Exchange, &Cases)),
    /// Examines the statistics of all messages at the end of a mode.
    Seen(fn(&Run, &Cases)),
    /// Compares all modes at the end of the run.
    Modes(fn(&RunResults, &Settings, &Cases)),
}

/// Defines the table of an area's checks.
///
/// An entry has the keyword, the level, the id, the phase with the function, the covered requirements, and the title.
/// Then follow what findings expect, unless that depends on the case, and the suggestion for the author of an adapter:
///
/// ```text
/// Must 1 "tools.unique" => Learned(names::unique), ["REQ-MCP-19"],
///     "Names of tools are unique",
///     expected: "a unique name",
///     fix: "register each tool once";
/// ```
///
/// Instead of a function, a check may have calls and a rule for their replies, see [`planned`].
///
/// `Calls` and `Messages` are the phases `Reads` and `Alone` for checks whose cases are data. Their function also gets
/// the id of the check.
macro_rules! checks {
    ($(
        $keyword:ident $level:literal $id:literal => $phase:ident $how:tt,
            [$($requirement:literal),+], $title:literal
            $(, expected: $expected:literal)? $(, fix: $fix:expr)?;
    )+) => {
        &[$($crate::checks::Check {
            id: $id,
            title: $title,
            requirements: &[$($requirement),+],
            keyword: $crate::checks::Keyword::$keyword,
            level: $level,
            hints: $crate::cases::Hints {
                expected: $crate::checks::hint!($($expected)?),
                fix: $crate::checks::hint!($($fix)?),
            },
            body: $crate::checks::body!($phase $how, $id),
        }),+]
    };
}
use checks;

/// Returns an optional hint, or an empty string without one.
macro_rules! hint {
    () => {
        ""
    };
    ($hint:expr) => {
        $hint
    };
}
use hint;

/// Builds the body of a check. Async functions are wrapped to return a boxed future.
macro_rules! body {
    ($phase:ident { calls: $plan:expr, rule: $rule:expr $(,)? }, $id:literal) => {
        $crate::checks::Body::$phase(|run, cases| {
            let plan: $crate::checks::planned::CallPlan = $plan;
            Box::pin(async move {
                let calls = plan(run, cases);
                $crate::checks::planned::judge(run, calls, $rule, cases).await;
            })
        })
    };
    (Learned { values: $values:expr, form: $form:expr $(,)? }, $id:literal) => {
        $crate::checks::Body::Learned(|run, cases| {
            $crate::checks::planned::check_forms(run, $values, &$form, cases);
        })
    };
    ($phase:ident { async calls: $plan:expr, rule: $rule:expr $(,)? }, $id:literal) => {
        $crate::checks::Body::$phase(|run, cases| {
            Box::pin(async move {
                let calls = $plan(run, cases).await;
                $crate::checks::planned::judge(run, calls, $rule, cases).await;
            })
        })
    };
    (Calls ($function:path), $id:literal) => {
        $crate::checks::Body::Reads(|run, cases| Box::pin($function(run, $id, cases)))
    };
    (Messages ($function:path), $id:literal) => {
        $crate::checks::Body::Alone(|run, cases| Box::pin($function(run, $id, cases)))
    };
    (Reads ($function:path), $id:literal) => {
        $crate::checks::Body::Reads(|run, cases| Box::pin($function(run, cases)))
    };
    (Changes ($function:path), $id:literal) => {
        $crate::checks::Body::Changes(|run, cases| Box::pin($function(run, cases)))
    };
    (Alone ($function:path), $id:literal) => {
        $crate::checks::Body::Alone(|run, cases| Box::pin($function(run, cases)))
    };
    ($phase:ident ($function:path), $id:literal) => {
        $crate::checks::Body::$phase($function)
    };
}
use body;

/// Returns all checks in the order of the report.
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

/// Returns the selected checks up to the requested level.
pub(crate) fn selected(settings: &Settings) -> impl Iterator<Item = &'static Check> {
    all().filter(|check| {
        check.level <= settings.level && settings.selection.contains(check.id, check.requirements)
    })
}

/// Returns the checks that run in each mode.
///
/// Selected checks may only observe the calls of others. In that case every check of the requested level runs, but the
/// report only contains the selected ones.
pub(crate) fn running(settings: &Settings) -> Vec<&'static Check> {
    let in_modes = |check: &&Check| !matches!(check.body, Body::Modes(_));
    let wanted: Vec<_> = selected(settings).filter(in_modes).collect();
    let observes = |check: &&Check| matches!(check.body, Body::Every(_) | Body::Seen(_));
    match !wanted.is_empty() && wanted.iter().all(observes) {
        true => all().filter(in_modes).filter(|check| check.level <= settings.level).collect(),
        false => wanted,
    }
}

impl Check {
    /// Returns the reason if the configuration excludes the check.
    pub(crate) fn left_out(&self, settings: &Settings) -> Option<String> {
        let named = |left_out: &&Exclusion| left_out.check.as_deref() == Some(self.id);
        settings.file.skip.iter().find(named).map(|left_out| left_out.reason.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn checks_that_observe_run_together_with_others() {
        let running = |settings: Settings| running(&settings).len();
        let all = running(Settings::default());
        assert_eq!(running(Settings::default().check("wire.is_error")), all);
        assert_eq!(running(Settings::default().check("introspection.bad_query")), 1);
    }

    #[test]
    fn ids_are_unique_and_start_with_their_area() {
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
            assert!(!check.requirements.is_empty(), "{} has no requirement", check.id);
            assert!((1..=2).contains(&check.level), "{}", check.id);
        }
    }

    #[test]
    fn selects_by_category_id_and_requirement() {
        let ids =
            |settings: Settings| -> Vec<_> { selected(&settings).map(|check| check.id).collect() };
        assert_eq!(ids(Settings::default()).len(), all().count());
        assert_eq!(
            ids(Settings::default().check("introspection.bad_query")),
            ["introspection.bad_query"]
        );
        let of_requirement = ids(Settings::default().requirement("REQ-INT-28"));
        assert!(of_requirement.contains(&"introspection.bad_query"), "{of_requirement:?}");
        let both = ids(Settings::default().category("wire").check("introspection.bad_query"));
        assert!(both.len() > 1 && both.last() == Some(&"introspection.bad_query"), "{both:?}");
        assert!(ids(Settings::default().check("no.such")).is_empty());
        // The level still limits the selection.
        let second = all().find(|check| check.level == 2).map_or("", |check| check.id);
        assert!(ids(Settings::default().level(1).check(second)).is_empty());
    }
}
