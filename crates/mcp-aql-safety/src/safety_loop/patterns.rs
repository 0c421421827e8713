//! Glob patterns for actions.

use aho_corasick::{AhoCorasick, MatchKind};
use globset::GlobBuilder;
use mcp_aql_text::visible;
use memchr::memmem::Finder;
use regex::Regex;

use super::action::{Action, BAR, RING, normalize_pattern};

/// The compiled patterns of one list.
///
/// `*` matches any characters including spaces and `/`, `?` one character, `[ab]` one of several characters, and
/// `{a,b}` one of the alternatives. Case is ignored.
///
/// A *guard* pattern (`deny`, `requires_approval`) may match a part of an action. It is matched from the start of each
/// word, to the end of the action or of a word:
///
/// ```text
/// drop_*   matches "calling drop_table on users" and "mcp__db__drop_table"
/// rm -rf*  matches "/bin/rm -rf /"
/// ```
///
/// A letter of another alphabet may resemble several ASCII characters. A guard pattern is matched against each reading:
/// `kӏӀl` is read as `kill` and as `k1il`.
///
/// A *pass* pattern (`auto_approve`) must match the whole action. It never passes an action that looks like several
/// commands or is disguised. Note that its `*` matches any characters: `read_*` passes "read_file a and then remove
/// it".
#[derive(Debug, Clone, Default)]
pub(super) struct PatternList {
    exact: Matcher,
    /// The same patterns, for the string of [`Action::ambiguous`].
    ambiguous: Matcher,
}

/// A set of patterns, matched together.
#[derive(Debug, Clone, Default)]
struct Matcher {
    patterns: Vec<Pattern>,
    /// Finds the longest literal part of each pattern. A pattern can only match if its part is found, so most patterns
    /// need no regular expression.
    parts: Option<AhoCorasick>,
    /// For each part, the index of its pattern.
    part_of: Vec<usize>,
    /// The indexes of the patterns without a literal part. They are always tested.
    always: Vec<usize>,
}

#[derive(Debug, Clone)]
struct Pattern {
    /// The source of the pattern, with hidden characters shown as their code points. Agents and people read it, and
    /// someone else may have written the file that contains it.
    written: String,
    /// The literal characters before the first special character.
    head: String,
    /// If `true`, any characters may follow the head. In this case, only the first occurrence of the head is tested:
    /// later ones can match only if the first does.
    open: bool,
    /// If `true`, the pattern starts with `*`.
    starts_anywhere: bool,
    /// All literal parts in order. Searching for them is faster than the regular expression.
    parts: Vec<Finder<'static>>,
    whole: Regex,
    /// The same pattern, followed by any characters that do not continue the last word.
    word_end: Regex,
}

impl PatternList {
    /// Compiles patterns. Invalid ones are added to `problems`.
    pub(super) fn new(patterns: &[String], list: &str, problems: &mut Vec<String>) -> Self {
        let exact = Matcher::new(patterns, |text| text, list, problems);
        // A pattern above the size limit fails in both lists, but is reported once.
        let has_problem = !problems.is_empty();
        let mut others = Vec::new();
        let ambiguous = Matcher::new(patterns, |text| with_stand_ins(&text), list, &mut others);
        if !has_problem {
            problems.append(&mut others);
        }
        Self { exact, ambiguous }
    }

    /// Returns the first guard pattern that matches this action.
    pub(super) fn guards(&self, action: &Action) -> Option<&str> {
        self.exact.find(action.text(), Pattern::is_within).or_else(|| {
            action.ambiguous().and_then(|text| self.ambiguous.find(text, Pattern::is_within))
        })
    }

    /// Returns the first pass pattern that matches this action.
    pub(super) fn passes(&self, action: &Action) -> Option<&str> {
        if action.is_compound() || action.is_disguised() {
            return None;
        }
        self.exact.find(action.text(), Pattern::is_whole)
    }
}

impl Matcher {
    fn new(
        patterns: &[String],
        form: impl Fn(String) -> String,
        list: &str,
        problems: &mut Vec<String>,
    ) -> Self {
        let mut made = Self::default();
        let mut parts = Vec::new();
        for written in patterns {
            match Pattern::new(written, &form) {
                Ok((pattern, part)) => {
                    let place = made.patterns.len();
                    made.patterns.push(pattern);
                    if part.is_empty() {
                        made.always.push(place);
                    } else {
                        parts.push(part);
                        made.part_of.push(place);
                    }
                }
                Err(problem) => {
                    problems.push(format!("safety loop: `{list}`: pattern `{written}`: {problem}"));
                }
            }
        }
        if !parts.is_empty() {
            match AhoCorasick::builder().match_kind(MatchKind::Standard).build(&parts) {
                Ok(parts) => made.parts = Some(parts),
                Err(error) => problems.push(format!("safety loop: `{list}`: {error}")),
            }
        }
        made
    }

    fn find(&self, text: &str, matches: impl Fn(&Pattern, &str) -> bool) -> Option<&str> {
        let mut candidates = self.always.clone();
        if let Some(parts) = &self.parts {
            for found in parts.find_overlapping_iter(text) {
                candidates.extend(self.part_of.get(found.pattern().as_usize()));
            }
        }
        candidates.sort_unstable();
        candidates.dedup();
        candidates
            .into_iter()
            .filter_map(|place| self.patterns.get(place))
            .find(|pattern| matches(pattern, text))
            .map(|pattern| pattern.written.as_str())
    }
}

impl Pattern {
    /// Compiles a pattern. Also returns its longest literal part.
    fn new(written: &str, form: impl Fn(String) -> String) -> Result<(Self, String), String> {
        let text = form(normalize_pattern(written)?);
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        let parts = plain_parts(&text);
        let head = parts.first().cloned().unwrap_or_default();
        let part = parts.iter().max_by_key(|part| part.len()).cloned().unwrap_or_default();
        let parts = parts.iter().filter(|part| !part.is_empty());
        let open = text.strip_prefix(&*head).is_some_and(|rest| rest.starts_with('*'));
        let pattern = Self {
            written: visible(written).into_owned(),
            open: open && !head.is_empty(),
            starts_anywhere: text.starts_with('*'),
            head,
            parts: parts.map(|part| Finder::new(part).into_owned()).collect(),
            whole: compile(&text)?,
            word_end: compile(&format!("{text}[!0-9a-z_]*"))?,
        };
        Ok((pattern, part))
    }

    /// Returns `true` if `text` contains the literal parts in their order.
    fn has_parts(&self, text: &str) -> bool {
        let mut rest = text.as_bytes();
        self.parts.iter().all(|part| {
            let behind = part.find(rest).and_then(|at| rest.get(at + part.needle().len()..));
            rest = behind.unwrap_or_default();
            behind.is_some()
        })
    }

    /// Returns `true` if the pattern matches `text` as a whole.
    fn is_whole(&self, text: &str) -> bool {
        self.has_parts(text) && self.whole.is_match(text)
    }

    /// Returns `true` if the pattern matches `text`, or a part of it that starts with a word.
    fn is_within(&self, text: &str) -> bool {
        let matches = |text: &str| {
            text.starts_with(&self.head)
                && self.has_parts(text)
                && (self.whole.is_match(text) || self.word_end.is_match(text))
        };
        // A pattern with `*` at its start needs no search for word starts.
        if self.starts_anywhere {
            return matches(text);
        }
        let mut starts = word_starts(text).filter_map(|start| text.get(start..));
        if self.open {
            return starts.find(|text| text.starts_with(&self.head)).is_some_and(matches);
        }
        starts.any(matches)
    }
}

fn compile(glob: &str) -> Result<Regex, String> {
    let glob = GlobBuilder::new(glob)
        .literal_separator(false)
        .backslash_escape(true)
        .build()
        .map_err(|error| error.kind().to_string())?;
    let regex = of_characters(glob.regex()).ok_or_else(|| "it cannot be read".to_owned())?;
    Regex::new(&regex).map_err(|_| "it is too large".to_owned())
}

/// Converts a regular expression of `globset` from bytes to characters. Without this, `?` would match one byte, and
/// `[é]` any byte of `é`.
fn of_characters(regex: &str) -> Option<String> {
    let mut rest = regex.strip_prefix("(?-u)").unwrap_or(regex).as_bytes();
    let mut characters = Vec::with_capacity(rest.len());
    loop {
        match rest {
            [] => return String::from_utf8(characters).ok(),
            // A byte of a non-ASCII character is written as `\xNN`.
            [b'\\', b'x', high, low, behind @ ..] => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).ok()?;
                characters.push(u8::from_str_radix(digits, 16).ok()?);
                rest = behind;
            }
            [b'\\', escaped, behind @ ..] => {
                characters.extend([b'\\', *escaped]);
                rest = behind;
            }
            [byte, behind @ ..] => {
                characters.push(*byte);
                rest = behind;
            }
        }
    }
}

/// Adds the stand-ins of ambiguous characters to the ASCII characters that they can represent.
fn with_stand_ins(glob: &str) -> String {
    let mut text = String::with_capacity(glob.len() * 2);
    let mut characters = glob.chars();
    while let Some(each) = characters.next() {
        match each {
            '\\' => {
                text.push(each);
                text.extend(characters.next());
            }
            '[' => {
                let rest = characters.as_str();
                skip_class(&mut characters);
                let class = rest.strip_suffix(characters.as_str()).unwrap_or(rest);
                text.push('[');
                text.push_str(class);
            }
            'i' | 'l' | '1' | '|' => text.extend(['[', each, BAR, ']']),
            'o' | '0' => text.extend(['[', each, RING, ']']),
            _ => text.push(each),
        }
    }
    text
}

/// Returns the literal parts of a pattern in order, starting at its beginning. Characters in brackets are left out,
/// because only one of the alternatives must occur.
///
/// ```text
/// rm -rf* → ["rm -rf", ""]
/// ```
fn plain_parts(glob: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0_usize;
    let mut characters = glob.chars();
    while let Some(each) = characters.next() {
        match each {
            // An escape can represent any character, so it ends the part and the escaped character is left out.
            '\\' => {
                characters.next();
                parts.push(String::new());
            }
            '[' => {
                skip_class(&mut characters);
                parts.push(String::new());
            }
            '{' => {
                depth += 1;
                parts.push(String::new());
            }
            '}' => {
                depth = depth.saturating_sub(1);
                parts.push(String::new());
            }
            ']' => parts.push(String::new()),
            '*' | '?' => parts.push(String::new()),
            // `**` with a `/` next to it can match nothing, so the `/` is not a required part.
            '/' => parts.push(String::new()),
            _ if depth == 0 => {
                if let Some(part) = parts.last_mut() {
                    part.push(each);
                }
            }
            _ => {}
        }
    }
    parts
}

/// Skips a character class up to its `]`. A `]` at the start belongs to the class.
fn skip_class(characters: &mut std::str::Chars<'_>) {
    let (mut place, mut negated) = (0, false);
    for each in characters {
        match each {
            '!' | '^' if place == 0 && !negated => negated = true,
            ']' if place > 0 => return,
            _ => place += 1,
        }
    }
}

/// Returns the positions at which words start: after a character other than letters, digits and `_`, and after `__`,
/// the separator between the names of servers and tools.
fn word_starts(text: &str) -> impl Iterator<Item = usize> + '_ {
    let mut before = [' ', ' '];
    text.char_indices().filter_map(move |(place, each)| {
        let [second, last] = before;
        before = [last, each];
        let starts = !(last.is_alphanumeric() || last == '_') || (last == '_' && second == '_');
        (starts && each != ' ').then_some(place)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(patterns: &[&str]) -> PatternList {
        let patterns: Vec<_> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        let mut problems = Vec::new();
        let list = PatternList::new(&patterns, "deny", &mut problems);
        assert_eq!(problems, Vec::<String>::new());
        list
    }

    #[test]
    fn guards_find_their_patterns_from_every_word_on() {
        // REQ-AUT-08, REQ-GATE-11
        let guards = list(&[
            "drop_*",
            "delete_all*",
            "rm -rf*",
            "*force*",
            "git push*",
            "kill_{all,every}_job",
            "wipe",
            "*_production",
            "[xy]z_*",
            "/etc/*",
            "[]q]uit",
            "[!]{]eep_{a]b,c}d",
        ]);
        for (hint, pattern) in [
            ("drop_table", Some("drop_*")),
            ("calling drop_table on users", Some("drop_*")),
            ("Calling DROP_TABLE on users", Some("drop_*")),
            ("mcp__db__drop_table users", Some("drop_*")),
            ("raindrop_count", None),
            ("executing shell command: rm  -rf /", Some("rm -rf*")),
            ("/bin/rm -rf x/y", Some("rm -rf*")),
            ("\"rm -rf\" it", Some("rm -rf*")),
            ("farm -rf", None),
            ("use the force", Some("*force*")),
            ("run git push origin main", Some("git push*")),
            ("then kill_every_job now", Some("kill_{all,every}_job")),
            ("kill_some_job", None),
            ("wipe the disk", Some("wipe")),
            ("wiped nothing", None),
            ("deploy to shop_production today", Some("*_production")),
            ("call yz_now", Some("[xy]z_*")),
            ("read /etc/passwd", Some("/etc/*")),
            ("]uit", Some("[]q]uit")),
            ("quit", Some("[]q]uit")),
            ("keep_a]bd", Some("[!]{]eep_{a]b,c}d")),
            ("keep_cd", Some("[!]{]eep_{a]b,c}d")),
            ("{eep_cd", None),
            ("list_tasks", None),
            ("", None),
        ] {
            assert_eq!(guards.guards(&Action::new(hint)), pattern, "{hint}");
        }
    }

    #[test]
    fn characters_that_look_like_several_are_read_as_each() {
        // REQ-AUT-08
        let guards = list(&["kill*", "io_[01]0*", "100%", "git\\_log", "use the force"]);
        for (hint, pattern) in [
            ("k\u{4cf}\u{4c0}\u{399} it", Some("kill*")),
            ("k\u{456}ll", Some("kill*")),
            ("\u{399}\u{3bf}_1\u{41e} x", Some("io_[01]0*")),
            ("\u{4cf}\u{3bf}\u{43e}%", Some("100%")),
            ("g\u{4cf}t_\u{4cf}og", Some("git\\_log")),
            ("use the f\u{3bf}rce", Some("use the force")),
            ("kull \u{43e}", None),
            ("ki11 \u{43e}", None),
        ] {
            assert_eq!(guards.guards(&Action::new(hint)), pattern, "{hint}");
        }
    }

    #[test]
    fn special_characters_stand_for_characters_of_any_script() {
        // REQ-AUT-08, REQ-AUT-09
        for (pattern, hint, matches) in [
            ("run ?", "run \u{6f22}", true),
            ("run ?", "run \u{1f600}", true),
            ("run ?", "run \u{6f22}\u{5b57}", false),
            ("run ??", "run \u{6f22}\u{5b57}", true),
            ("run ???", "run \u{6f22}", false),
            ("run [\u{6f22}\u{5b57}]", "run \u{5b57}", true),
            // Both characters start with the same two bytes.
            ("run [\u{6f22}\u{5b57}]", "run \u{5b56}", false),
            ("run [\u{4e00}-\u{9fff}]!", "run \u{6f22}!", true),
            ("run [\u{4e00}-\u{9fff}]!", "run \u{3042}!", false),
            ("run [!\u{6f22}]", "run \u{5b57}", true),
            ("run [!\u{6f22}]", "run \u{6f22}", false),
            ("run {\u{6f22},\u{5b57}?}", "run \u{5b57}\u{6f22}", true),
            ("run \\\\x41", "run \\x41", true),
            ("run \\\\x41", "run a", false),
        ] {
            let (patterns, action) = (list(&[pattern]), Action::new(hint));
            let found = patterns.exact.find(action.text(), Pattern::is_whole);
            assert_eq!(found.is_some(), matches, "{pattern} in {hint}");
        }
    }

    #[test]
    fn a_class_matches_the_comparable_forms_of_its_characters_and_nothing_else() {
        // REQ-AUT-08, REQ-AUT-09
        for (pattern, matched, others) in [
            // Some of these Cyrillic letters look like ASCII letters, and others do not.
            ("run [а-я]", "а г о я ы bl", "d l z q"),
            ("run [А-Я]", "а Г О я", "d z q"),
            ("run [!а-в]", "г z 1", "а б в a"),
            ("run [ﬁx]", "ﬁ fi x", "f i"),
            ("run [гд-е]", "г д е e", "ж f"),
            ("run [α-ω]", "α β λ", "d q"),
            ("run [A-Z]", "a z M", "1 _ [ ы"),
            ("run [+-A]", "+ 7 @ a", "b _ ["),
            ("run [xА+--]", "x a + , -", "b 1"),
            ("run [a–z]", "a z -", "b m"),
            ("run [аб-]", "a б -", "b"),
            ("run [–]", "- –", "a"),
            ("run [！a]", "! a", "b"),
            ("run [\u{4e00}-\u{9fff}]", "漢", "a あ"),
            ("run \\А", "a", "b"),
            ("run \\＊", "*", "a"),
            ("run {а，б,в}", "a,б в", "a б"),
        ] {
            let patterns = list(&[pattern]);
            let is_match = |text: &str| {
                let action = Action::new(&format!("run {text}"));
                patterns.exact.find(action.text(), Pattern::is_whole).is_some()
            };
            for text in matched.split(' ') {
                assert!(is_match(text), "{pattern} in {text}");
            }
            for text in others.split(' ') {
                assert!(!is_match(text), "{pattern} in {text}");
            }
        }
    }

    #[test]
    fn a_character_that_is_compared_as_a_special_one_is_a_problem() {
        // REQ-AUT-09, REQ-AUT-17
        for (pattern, problem) in [
            ("run ＊", "`＊` is compared as `*`: write `*`, or `\\*` for the character itself"),
            ("run ？", "`？` is compared as `?`"),
            ("run ［a-z]", "`［` is compared as `[`"),
            ("run [a］]", "`］` is compared as `]`: write it outside of brackets"),
            ("run [!а-я]", "`ы` is compared as `bl`, which brackets with `!` cannot exclude"),
        ] {
            let mut problems = Vec::new();
            PatternList::new(&[pattern.to_owned()], "auto_approve", &mut problems);
            assert_eq!(problems.len(), 1, "{pattern}: {problems:?}");
            assert!(problems[0].contains(problem), "{problems:?}");
        }
    }

    /// Compares ranges with their definition: a range is the set of its characters.
    #[test]
    fn a_range_is_the_set_of_its_characters() {
        // REQ-AUT-08, REQ-AUT-09
        let mut count = 0;
        for low in ('\u{370}'..='\u{58f}').step_by(5) {
            let Some(high) = char::from_u32(u32::from(low) + 7) else { continue };
            let Ok(folded) = normalize_pattern(&format!("[{low}-{high}]")) else { continue };
            let whole = compile(&folded).unwrap();
            let images: Vec<_> =
                (low..=high).map(|each| Action::new(&each.to_string()).text().to_owned()).collect();
            for text in ('!'..='\u{58f}').map(|each| Action::new(&each.to_string())) {
                let text = text.text();
                if text.chars().count() == 1 {
                    // A lower-case letter represents the upper-case letter with the same comparable form.
                    let is_in_range = text.chars().all(|each| (low..=high).contains(&each));
                    assert_eq!(
                        whole.is_match(text),
                        is_in_range || images.iter().any(|image| image == text),
                        "[{low}-{high}] in {text}"
                    );
                    count += 1;
                }
            }
        }
        assert!(count > 10_000, "{count}");
    }

    /// Replaces a letter of a pattern by every code point that resembles it.
    #[test]
    fn no_lookalike_of_any_script_evades_a_guard() {
        // REQ-AUT-08
        let guards = list(&["abcdefghijklmnopqrstuvwxyz0*"]);
        let word = "abcdefghijklmnopqrstuvwxyz0";
        let mut count = 0;
        for character in '\u{80}'..=char::MAX {
            let Some(alike) = mcp_aql_text::lookalike(character) else { continue };
            let Some(place) = word.find(&*alike.text) else { continue };
            let mut hint = word.to_owned();
            hint.replace_range(place..place + alike.text.len(), character.encode_utf8(&mut [0; 4]));
            assert!(guards.guards(&Action::new(&hint)).is_some(), "{hint}");
            count += 1;
        }
        assert!(count > 2_000, "{count}");
    }

    #[test]
    fn passes_match_the_whole_of_one_plain_action() {
        // REQ-AUT-09
        let passes = list(&["read_*", "list_*"]);
        for (hint, passed) in [
            ("read_file notes.txt", true),
            ("LIST_TASKS", true),
            ("then read_file notes.txt", false),
            ("read_file a && rm -rf /", false),
            ("read_file a\nrm -rf /", false),
            ("read_f\u{200b}ile a", false),
        ] {
            assert_eq!(passes.passes(&Action::new(hint)).is_some(), passed, "{hint}");
        }
    }

    #[test]
    fn a_pattern_is_reported_without_hidden_characters() {
        // REQ-AUT-08
        let guards = list(&["drop\u{1b}_*", "wipe\u{202e}_*", "kill\n*"]);
        for (hint, shown) in [
            ("drop_x", "drop<U+001B>_*"),
            ("wipe_x", "wipe<U+202E>_*"),
            ("kill x", "kill<U+000A>*"),
        ] {
            assert_eq!(guards.guards(&Action::new(hint)), Some(shown), "{hint}");
        }
    }

    /// Compares random patterns with a search from every start.
    #[test]
    fn the_first_start_of_an_open_pattern_stands_for_all() {
        // REQ-AUT-08
        let mut found = 0;
        for pattern in ["ab*", "ab*c", "a*b c", "b *a", "a b*b*c", "a**c"] {
            let (pattern, _) = Pattern::new(pattern, |text| text).unwrap();
            assert!(pattern.open);
            let mut all = vec![String::new()];
            for _ in 0..7 {
                let longer =
                    all.iter().flat_map(|text| ["a", "b", "c", " "].map(|it| text.clone() + it));
                all = longer.collect();
                for text in &all {
                    let every = word_starts(text).any(|start| {
                        pattern.whole.is_match(text.split_at(start).1)
                            || pattern.word_end.is_match(text.split_at(start).1)
                    });
                    assert_eq!(pattern.is_within(text), every, "{} in {text:?}", pattern.written);
                    found += usize::from(every);
                }
            }
        }
        assert!(found > 1_000);
    }

    #[test]
    fn what_is_no_pattern_is_told() {
        // REQ-AUT-17
        let mut problems = Vec::new();
        let patterns = ["a[b", "{a", "", "fine*"].map(str::to_owned);
        PatternList::new(&patterns, "auto_approve", &mut problems);
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems[0].contains("`auto_approve`: pattern `a[b`"), "{problems:?}");
    }
}
