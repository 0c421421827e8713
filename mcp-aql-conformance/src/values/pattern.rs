//! Text that matches a `pattern`.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Class, Hir, HirKind};

/// No text is made that is longer.
const LONGEST: usize = 4_096;
/// How often something is repeated that may be, one after the other, until the text is long enough.
const REPEATS: [u32; 7] = [1, 0, 2, 3, 8, 16, 32];
/// Characters that are taken first where a class lets us choose.
const PLAIN: &str = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_ ";

/// What a pattern may take of our memory, as a rule,
const SMALL: usize = 256 << 10;
/// and so many more than that, `^\w{1,64}$` say.
const LARGE: usize = 4 << 20;
const MOST_LARGE: usize = 4;
/// So many patterns are kept.
const MOST_KEPT: usize = 64;

/// Patterns that were read, for that takes long: `None` where one cannot be.
#[derive(Default)]
struct Kept {
    patterns: HashMap<String, Option<Regex>>,
    large: usize,
}

impl Kept {
    fn compiled(&mut self, pattern: &str) -> Option<Regex> {
        if let Some(known) = self.patterns.get(pattern) {
            return known.clone();
        }
        if self.patterns.len() >= MOST_KEPT {
            *self = Self::default();
        }
        let compile = |limit| {
            RegexBuilder::new(pattern).size_limit(limit).dfa_size_limit(limit.min(SMALL)).build()
        };
        let regex = match compile(SMALL) {
            Err(regex::Error::CompiledTooBig(_)) if self.large < MOST_LARGE => {
                self.large += 1;
                compile(LARGE).ok()
            }
            other => other.ok(),
        };
        self.patterns.insert(pattern.to_owned(), regex.clone());
        regex
    }
}

/// The pattern, unless it cannot be read, or is a very large one.
pub(super) fn compiled(pattern: &str) -> Option<Regex> {
    static KEPT: LazyLock<Mutex<Kept>> = LazyLock::new(Mutex::default);
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).compiled(pattern)
}

/// A text that matches and that `fits`; another `turn` may give another one. None where the pattern is
/// of a kind that cannot be read, or nothing was found.
pub(super) fn matching(pattern: &str, turn: usize, fits: impl Fn(&str) -> bool) -> Option<String> {
    let regex = compiled(pattern)?;
    let hir = regex_syntax::parse(pattern).ok()?;
    REPEATS.into_iter().find_map(|repeats| {
        let mut writer = Writer { text: String::new(), turn, repeats };
        writer.write(&hir)?;
        Some(writer.text).filter(|text| regex.is_match(text) && fits(text))
    })
}

struct Writer {
    text: String,
    turn: usize,
    repeats: u32,
}

impl Writer {
    fn write(&mut self, hir: &Hir) -> Option<()> {
        if self.text.len() > LONGEST {
            return None;
        }
        match hir.kind() {
            // What anchors ask for is looked at when the whole text is there.
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => self.text.push_str(std::str::from_utf8(&literal.0).ok()?),
            HirKind::Class(class) => {
                let chosen = self.choose(class)?;
                self.text.push(chosen);
            }
            HirKind::Repetition(repetition) => {
                let most = repetition.max.unwrap_or(u32::MAX);
                for _ in 0..self.repeats.clamp(repetition.min, most.max(repetition.min)) {
                    self.write(&repetition.sub)?;
                }
            }
            HirKind::Capture(capture) => self.write(&capture.sub)?,
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.write(part))?,
            HirKind::Alternation(ways) => {
                self.write(ways.get(self.turn.checked_rem(ways.len())?)?)?;
            }
        }
        Some(())
    }

    fn choose(&self, class: &Class) -> Option<char> {
        let holds = |wanted: char| match class {
            Class::Unicode(class) => {
                class.iter().any(|range| (range.start()..=range.end()).contains(&wanted))
            }
            Class::Bytes(class) => u8::try_from(wanted).is_ok_and(|wanted| {
                class.iter().any(|range| (range.start()..=range.end()).contains(&wanted))
            }),
        };
        let plain: Vec<_> = PLAIN.chars().filter(|letter| holds(*letter)).collect();
        let at = (self.turn + self.text.len()).checked_rem(plain.len());
        at.and_then(|at| plain.get(at).copied()).or_else(|| match class {
            Class::Unicode(class) => class.iter().next().map(|range| range.start()),
            Class::Bytes(class) => class.iter().next().map(|range| char::from(range.start())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_made_for_common_patterns() {
        for pattern in [
            "^p-[0-9]{1,9}$",
            "^[A-Za-z0-9-]{1,40}$",
            r"^\d{4}-\d{2}$",
            "^(todo|doing)$",
            "^#[0-9a-f]{6}$",
            r"^[^@\s]+@[^@\s]+\.[a-z]{2,}$",
            "^bed_[0-9]+$",
            "ware",
            r"^\p{Lu}\p{Ll}*$",
            r"^(?:[a-z]+\.)*[a-z]+$",
        ] {
            let text = matching(pattern, 0, |_| true).unwrap_or_else(|| panic!("{pattern}"));
            assert!(Regex::new(pattern).unwrap().is_match(&text), "{pattern}: {text}");
        }
    }

    #[test]
    fn patterns_are_read_but_once_and_not_if_they_are_very_large() {
        let mut kept = Kept::default();
        assert!(kept.compiled(r"^\w{1,64}$").is_some_and(|pattern| pattern.is_match("é")));
        for _ in 0..1_000 {
            assert!(kept.compiled(r"^(?:\w{1,100}){1,100}$").is_none());
        }
        // Compiled as a large one once, or not even that.
        assert!(kept.large <= 2 && kept.patterns.len() == 2);
    }

    #[test]
    fn lengths_are_kept_and_turns_differ() {
        let fits = |text: &str| (8..=9).contains(&text.chars().count());
        assert!(matching("^[a-z]+$", 0, fits).is_some_and(|text| text.len() == 8));
        let all: std::collections::BTreeSet<_> =
            (0..5).filter_map(|turn| matching("^t-[0-9]+$", turn, |_| true)).collect();
        assert_eq!(all.len(), 5);
    }

    #[test]
    fn what_cannot_be_met_gives_nothing() {
        assert_eq!(matching("(?=a)b", 0, |_| true), None);
        assert_eq!(matching("^[a-z]+$", 0, |text| text.len() > 1_000), None);
        assert_eq!(matching("a{9999}{9999}", 0, |_| true), None);
        assert_eq!(matching(r"^\b$", 0, |_| true), None);
        assert_eq!(matching("[^\\s\\S]", 0, |_| true), None);
    }
}
