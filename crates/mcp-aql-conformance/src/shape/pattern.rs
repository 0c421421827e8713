//! Generates strings that match a `pattern`.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::sync::lock;

/// Maximum length of a generated string, in bytes.
const MAX_TEXT_BYTES: usize = 4_096;
/// Counts tried in order for an unbounded repetition.
const REPEATS: [u32; 7] = [1, 0, 2, 3, 8, 16, 32];
/// Preferred characters of a class.
const PLAIN: &str = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_ ";

/// Memory limit of an ordinary compiled pattern, in bytes.
const PATTERN_BYTES: usize = 256 << 10;
/// Memory limit of a large compiled pattern such as `^\w{1,64}$`, in bytes.
const LARGE_PATTERN_BYTES: usize = 4 << 20;
const MAX_LARGE_PATTERNS: usize = 4;
/// Maximum number of cached patterns.
const MAX_CACHED_PATTERNS: usize = 64;

/// A cache of compiled patterns. Invalid patterns are stored as `None`.
#[derive(Default)]
struct PatternCache {
    patterns: HashMap<String, Option<Regex>>,
    large: usize,
}

impl PatternCache {
    fn compiled(&mut self, pattern: &str) -> Option<Regex> {
        if let Some(known) = self.patterns.get(pattern) {
            return known.clone();
        }
        if self.patterns.len() >= MAX_CACHED_PATTERNS {
            *self = Self::default();
        }
        let compile = |limit| {
            RegexBuilder::new(pattern)
                .size_limit(limit)
                .dfa_size_limit(limit.min(PATTERN_BYTES))
                .build()
        };
        let regex = match compile(PATTERN_BYTES) {
            Err(regex::Error::CompiledTooBig(_)) if self.large < MAX_LARGE_PATTERNS => {
                self.large += 1;
                compile(LARGE_PATTERN_BYTES).ok()
            }
            other => other.ok(),
        };
        self.patterns.insert(pattern.to_owned(), regex.clone());
        regex
    }
}

/// Compiles a pattern. Returns `None` if it is invalid or too large.
pub(super) fn compiled(pattern: &str) -> Option<Regex> {
    static KEPT: LazyLock<Mutex<PatternCache>> = LazyLock::new(Mutex::default);
    lock(&KEPT).compiled(pattern)
}

/// Generates a string that matches the pattern and is accepted by `fits`. Another `turn` may give another string.
///
/// Returns `None` if the pattern is unsupported or no such string was found.
///
/// ```text
/// ^[a-z]{3}-\d+$  →  abc-4
/// ```
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
        if self.text.len() > MAX_TEXT_BYTES {
            return None;
        }
        match hir.kind() {
            // Anchors are checked on the complete string.
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
    fn generates_texts_for_common_patterns() {
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
    fn caches_patterns_and_rejects_very_large_ones() {
        let mut kept = PatternCache::default();
        assert!(kept.compiled(r"^\w{1,64}$").is_some_and(|pattern| pattern.is_match("é")));
        for _ in 0..1_000 {
            assert!(kept.compiled(r"^(?:\w{1,100}){1,100}$").is_none());
        }
        // The large pattern was compiled at most once.
        assert!(kept.large <= 2 && kept.patterns.len() == 2);
    }

    #[test]
    fn respects_lengths_and_varies_by_turn() {
        let fits = |text: &str| (8..=9).contains(&text.chars().count());
        assert!(matching("^[a-z]+$", 0, fits).is_some_and(|text| text.len() == 8));
        let all: std::collections::BTreeSet<_> =
            (0..5).filter_map(|turn| matching("^t-[0-9]+$", turn, |_| true)).collect();
        assert_eq!(all.len(), 5);
    }

    #[test]
    fn unsatisfiable_patterns_give_none() {
        assert_eq!(matching("(?=a)b", 0, |_| true), None);
        assert_eq!(matching("^[a-z]+$", 0, |text| text.len() > 1_000), None);
        assert_eq!(matching("a{9999}{9999}", 0, |_| true), None);
        assert_eq!(matching(r"^\b$", 0, |_| true), None);
        assert_eq!(matching("[^\\s\\S]", 0, |_| true), None);
    }
}
