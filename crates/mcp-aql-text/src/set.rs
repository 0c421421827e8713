//! Sets of code points defined by Unicode's data.

use regex_syntax::hir::{Class, HirKind};

/// A set of code points, as sorted ranges.
pub(crate) struct CodePoints(Vec<(char, char)>);

impl CodePoints {
    /// Creates the set of a character class in the syntax of regular expressions.
    pub(crate) fn new(class: &str) -> Self {
        match regex_syntax::parse(class).map(regex_syntax::hir::Hir::into_kind) {
            Ok(HirKind::Class(Class::Unicode(class))) => {
                Self(class.ranges().iter().map(|range| (range.start(), range.end())).collect())
            }
            // The classes of this crate are constants, and each is tested. An invalid class would treat every
            // character as a member, so that no character passes unnoticed.
            _ => Self(vec![('\0', char::MAX)]),
        }
    }

    pub(crate) fn contains(&self, character: char) -> bool {
        let place = self.0.partition_point(|(_, end)| *end < character);
        self.0.get(place).is_some_and(|(start, _)| *start <= character)
    }
}
