//! The action that an agent reports, in a normalized form.

use std::collections::BTreeSet;

use hmac_sha256::Hash;
use mcp_aql_core::internal::vocab::hex;
use mcp_aql_protocol::DangerLevel;
use mcp_aql_text::{is_blank, is_hidden, is_inherited_mark, is_mark, lookalike};
use unicode_normalization::UnicodeNormalization as _;

/// The action that an agent is about to take, for scorers and patterns.
///
/// The words of the agent are normalized, so that it cannot disguise an action by writing it differently. This removes
/// differences in case, accents, ligatures, invisible characters, look-alike letters of other alphabets, and white
/// space.
///
/// ```
/// use mcp_aql::safety_loop::Action;
///
/// let action = Action::new("Calling  DROP\u{200b}_Table\non users");
/// assert_eq!(action.text(), "calling drop_table on users");
/// assert!(action.is_compound(), "it has two lines");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    text: String,
    ambiguous: Option<String>,
    compound: bool,
    disguised: bool,
    repeats: u32,
    operation: Option<(String, DangerLevel)>,
}

impl Action {
    /// Normalizes the words of an agent.
    pub fn new(hint: &str) -> Self {
        let NormalizedText { text, ambiguous, disguised } = NormalizedText::new(hint);
        let compound = hint.trim().contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'])
            || text.contains([';', '|', '&', '`', '<', '>'])
            || text.contains("$(");
        Self { text, ambiguous, compound, disguised, repeats: 0, operation: None }
    }

    /// Sets how many times the agent has reported this action before.
    #[must_use]
    pub fn repeated(mut self, times: u32) -> Self {
        self.repeats = times;
        self
    }

    /// Sets the operation of the adapter that the words mention, and its danger level.
    #[must_use]
    pub fn with_operation(mut self, name: impl Into<String>, level: DangerLevel) -> Self {
        self.operation = Some((name.into(), level));
        self
    }

    /// Returns the normalized words.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the words with [`BAR`] and [`RING`] instead of characters that resemble several ASCII characters. `None`
    /// if there are no such characters.
    pub(super) fn ambiguous(&self) -> Option<&str> {
        self.ambiguous.as_deref()
    }

    /// Returns `true` if the words look like several commands, in sequence or nested.
    pub fn is_compound(&self) -> bool {
        self.compound
    }

    /// Returns `true` if words were written to resemble others, with invisible characters or with letters of several
    /// alphabets.
    pub fn is_disguised(&self) -> bool {
        self.disguised
    }

    /// Returns the most dangerous operation of the adapter that the words mention.
    pub fn operation(&self) -> Option<(&str, DangerLevel)> {
        self.operation.as_ref().map(|(name, level)| (name.as_str(), *level))
    }

    /// Returns how many times the agent has recently reported the same action before.
    pub fn repeats(&self) -> u32 {
        self.repeats
    }

    /// Returns a hash that identifies the action, so that an approval applies to this action only. It is computed from
    /// the original words.
    pub(super) fn digest(hint: &str) -> String {
        hex(&Hash::hash(hint.trim().as_bytes()))
    }
}

/// Returns the normalized form of a string, and `true` if the string was disguised.
pub(super) fn normalize(hint: &str) -> (String, bool) {
    let folded = NormalizedText::new(hint);
    (folded.text, folded.disguised)
}

/// Returns the normalized form of a pattern.
///
/// A special character keeps its meaning only if the author wrote it. Some characters are normalized *to* a special
/// character: such a character represents itself if the result is unambiguous, and is an error otherwise.
///
/// Classes need this rule. For example, `[\u{430}-\u{44f}]` (Cyrillic letters) would be normalized to `[a-\u{44f}]`,
/// and that class matches far more than its author wrote.
///
/// # Errors
///
/// Returns a sentence that names the character to write differently.
pub(super) fn normalize_pattern(pattern: &str) -> Result<String, String> {
    let composed: String = pattern.nfc().collect();
    let mut characters = composed.chars();
    let mut normalizer = Normalizer::default();
    while let Some(each) = characters.next() {
        match each {
            '[' => {
                let class = normalize_class(&mut characters)?;
                normalizer.text.push_str(&class);
            }
            '\\' => match characters.next() {
                Some(escaped) => normalizer.add_literal(escaped, |_| true),
                None => normalizer.text.push(each),
            },
            _ if each.is_ascii() => normalizer.add(each),
            _ => {
                let image = image(each);
                if let Some(special) = image.chars().find(|image| "*?[]{}\\".contains(*image)) {
                    return Err(format!(
                        "`{each}` is compared as `{special}`: write `{special}`, or `\\{special}` for \
                         the character itself"
                    ));
                }
                normalizer.add_literal(each, |image| matches!(image, ',' | '/'));
            }
        }
    }
    Ok(normalizer.finish().text)
}

/// Returns the comparable form of the class after a `[`.
///
/// The characters and ranges of the class stay as they are, and their comparable forms are added. The original
/// characters match no more than the author wrote: in a normalized string, such a character only appears instead of the
/// same letter in the other case. Forms of several characters become alternatives of the class.
///
/// A class without a `]` is returned unchanged.
fn normalize_class(characters: &mut std::str::Chars<'_>) -> Result<String, String> {
    let rest = characters.as_str();
    let body = rest.strip_prefix(['!', '^']).unwrap_or(rest);
    // A `]` at the start belongs to the class.
    let first = body.chars().next().map_or(0, char::len_utf8);
    let Some(length) = body.get(first..).and_then(|behind| behind.find(']')) else {
        *characters = "".chars();
        return Ok(format!("[{rest}"));
    };
    let (body, behind) = body.split_at(first + length);
    let written = rest.strip_suffix(behind).unwrap_or(rest);
    let is_negated = rest.starts_with(['!', '^']);
    let (mut images, mut longer) = (BTreeSet::new(), BTreeSet::new());
    let (ranges, ends_with_dash) = ranges(body);
    for (low, high) in ranges {
        for each in low..=high {
            let image = image(each);
            let mut parts = image.chars();
            match (parts.next(), parts.next()) {
                (None, _) => {}
                (Some(']'), None) if each != ']' => {
                    return Err(format!(
                        "`{each}` is compared as `]`: write it outside of brackets"
                    ));
                }
                (Some(image), None) if (low..=high).contains(&image) => {}
                (Some(image), None) => {
                    images.insert(image);
                }
                (Some(_), Some(_)) if is_negated => {
                    return Err(format!(
                        "`{each}` is compared as `{image}`, which brackets with `!` cannot exclude: leave \
                         it out of them"
                    ));
                }
                (Some(_), Some(_)) => {
                    longer.insert(image);
                }
            }
        }
    }
    // A `-` at the end is a character of the class.
    let has_dash = images.remove(&'-') || ends_with_dash;
    let start = if ends_with_dash { written.strip_suffix('-') } else { None };
    let mut class = format!("[{}", start.unwrap_or(written));
    class.extend(images);
    class.push_str(if has_dash { "-]" } else { "]" });
    *characters = behind.get(1..).unwrap_or_default().chars();
    Ok(alternatives(class, longer))
}

/// Adds alternatives of several characters to a class.
fn alternatives(class: String, longer: BTreeSet<String>) -> String {
    if longer.is_empty() {
        return class;
    }
    let mut alternatives = format!("{{{class}");
    for image in longer {
        alternatives.push(',');
        for each in image.chars() {
            if !each.is_alphanumeric() {
                alternatives.push('\\');
            }
            alternatives.push(each);
        }
    }
    alternatives.push('}');
    alternatives
}

/// Returns the characters and ranges of a class, and `true` if it ends with a literal `-`.
fn ranges(body: &str) -> (Vec<(char, char)>, bool) {
    let mut ranges: Vec<(char, char)> = Vec::new();
    let mut in_range = false;
    for each in body.chars() {
        match ranges.last_mut() {
            Some(range) if in_range => {
                range.1 = each;
                in_range = false;
            }
            Some(_) if each == '-' => in_range = true,
            _ => ranges.push((each, each)),
        }
    }
    (ranges, in_range)
}

/// Returns the comparable form of a single character. It is empty for a character that normalization removes.
fn image(character: char) -> String {
    let mut normalizer = Normalizer { text: "-".to_owned(), ..Normalizer::default() };
    character.to_string().nfc().for_each(|each| normalizer.add(each));
    normalizer.text.split_off(1)
}

/// A normalized string.
pub(super) struct NormalizedText {
    text: String,
    /// The same string with [`BAR`] and [`RING`] instead of characters of other alphabets that resemble several ASCII
    /// characters. `None` if there are no such characters.
    ambiguous: Option<String>,
    disguised: bool,
}

/// Replaces characters that can be read as `i`, `l`, `1` or `|`.
///
/// A control character is safe here: normalized strings contain none, and patterns are matched byte by byte.
pub(super) const BAR: char = '\u{1}';
/// Replaces characters that can be read as `o` or `0`. See [`BAR`].
pub(super) const RING: char = '\u{2}';

impl NormalizedText {
    fn new(hint: &str) -> Self {
        let mut folded = Normalizer::default();
        for character in hint.nfc() {
            folded.add(character);
        }
        folded.finish()
    }
}

/// The state of a normalization.
#[derive(Default)]
struct Normalizer {
    text: String,
    ambiguous: Option<String>,
    disguised: bool,
    /// If `true`, the current word has ASCII letters.
    plain: bool,
    /// If `true`, the current word has letters that only look like ASCII.
    alike: bool,
    previous_hidden: bool,
}

impl Normalizer {
    fn add(&mut self, character: char) {
        if is_blank(character) || (character.is_control() && !is_swallowed(character)) {
            self.end_word();
            if !self.is_spaced() {
                self.push(" ", None);
            }
            self.previous_hidden = false;
            return;
        }
        let alike = lookalike(character);
        // A look-alike letter can be newer than the Unicode version of the table of hidden characters, so it is not
        // removed.
        if alike.is_none() && self.is_removed(character) {
            // A hidden character between letters splits a word that looks whole.
            self.previous_hidden = !self.is_spaced();
            return;
        }
        let lower;
        let mut buffer = [0; 4];
        let text: &str = match &alike {
            Some(alike) => &alike.text,
            None if character.is_ascii() => character.to_ascii_lowercase().encode_utf8(&mut buffer),
            None => {
                lower = character.to_lowercase().collect::<String>();
                &lower
            }
        };
        let is_alike = alike.as_ref().is_some_and(|alike| alike.is_disguise);
        let is_ascii_word = text.starts_with(|first: char| first.is_ascii_alphanumeric());
        self.disguised |= self.previous_hidden && is_ascii_word;
        self.previous_hidden = false;
        if !text.starts_with(|first: char| first.is_alphanumeric() || first == '_') {
            self.end_word();
        }
        self.plain |= text.starts_with(|first: char| first.is_ascii_alphabetic()) && !is_alike;
        self.alike |= is_alike;
        let stand_in = match text {
            "i" | "l" | "1" | "|" => Some(BAR),
            "o" | "0" => Some(RING),
            _ => None,
        };
        self.push(text, stand_in.filter(|_| !character.is_ascii()));
    }

    /// Adds a character of a pattern. Each special character of its comparable form is escaped with a backslash.
    fn add_literal(&mut self, character: char, is_escaped: impl Fn(char) -> bool) {
        let start = self.text.len();
        self.add(character);
        for image in self.text.split_off(start).chars() {
            if is_escaped(image) {
                self.text.push('\\');
            }
            self.text.push(image);
        }
    }

    /// Returns `true` if a character is omitted: an invisible character, a mark on an ASCII letter, or a mark that
    /// belongs to no particular script.
    fn is_removed(&self, character: char) -> bool {
        if is_mark(character) {
            let is_on_ascii = self.text.chars().next_back().is_none_or(|last| last.is_ascii());
            return is_on_ascii || is_inherited_mark(character) || is_hidden(character);
        }
        is_hidden(character)
    }

    fn is_spaced(&self) -> bool {
        self.text.is_empty() || self.text.ends_with(' ')
    }

    fn end_word(&mut self) {
        self.disguised |= self.plain && self.alike;
        (self.plain, self.alike) = (false, false);
    }

    fn push(&mut self, text: &str, stand_in: Option<char>) {
        if let Some(stand_in) = stand_in {
            self.ambiguous.get_or_insert_with(|| self.text.clone()).push(stand_in);
        } else if let Some(ambiguous) = &mut self.ambiguous {
            ambiguous.push_str(text);
        }
        self.text.push_str(text);
    }

    fn finish(mut self) -> NormalizedText {
        self.end_word();
        for text in [Some(&mut self.text), self.ambiguous.as_mut()].into_iter().flatten() {
            if text.ends_with(' ') {
                text.pop();
            }
        }
        let Self { text, ambiguous, disguised, .. } = self;
        NormalizedText { text, ambiguous, disguised }
    }
}

/// Returns `true` if a terminal ignores this control character. Other control characters end a word.
fn is_swallowed(character: char) -> bool {
    matches!(character, '\u{0}'..='\u{8}' | '\u{e}'..='\u{1b}' | '\u{7f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_the_same_is_the_same() {
        // REQ-AUT-08
        for (hint, shows) in [
            ("drop_table users", "as it is"),
            ("  Drop_Table\t\n users ", "case and white space"),
            ("dr\u{200b}op_ta\u{ad}ble users", "invisible characters"),
            ("d\u{336}rop_table users", "marks put on top"),
            ("ｄｒｏｐ＿ｔａｂｌｅ　ｕｓｅｒｓ", "full-width forms"),
            ("drоp_tаble usеrs", "Cyrillic letters"),
            ("𝐝𝐫𝐨𝐩_table users", "mathematical letters"),
            ("drop_table\u{1b} users", "a control character"),
            ("drôp_täblé ụsers", "accents in one character with their letter"),
            ("drop_table\u{2800}users", "a pattern of Braille that is blank"),
            ("d\u{1d173}rop\u{1bca0}_ta\u{fff0}ble\u{e0fff} users", "ignorable format controls"),
            ("d\u{5b0}rop_t\u{93f}able users", "marks of other scripts on ASCII letters"),
            ("ꓒꓣꓳꓑ_ꓔꓮꓐꓡꓰ ꓴꓢꓰꓣꓢ", "Lisu letters"),
            ("ᎠᏒoᏢ_table users", "Cherokee letters"),
            ("dr\u{2c9f}p_table users", "a Coptic letter"),
        ] {
            assert_eq!(Action::new(hint).text(), "drop_table users", "{shows}");
        }
        assert_eq!(Action::new("rm\u{a0}\u{2014}rf").text(), "rm -rf");
        assert_eq!(Action::new("con\u{fb01}gure ½").text(), "configure 1/2");
        assert_eq!(Action::new("ガ 각 Й").text(), "ガ 각 й", "what is another letter elsewhere");
    }

    /// Tests every ignorable code point between the letters of a word.
    #[test]
    fn characters_without_a_glyph_part_no_word() {
        // REQ-AUT-08
        for character in ('\0'..=char::MAX).filter(|it| mcp_aql_text::is_ignorable(*it)) {
            let action = Action::new(&format!("dr{character}op"));
            assert_eq!(action.text(), "drop", "U+{:04X}", u32::from(character));
            assert!(action.is_disguised(), "U+{:04X}", u32::from(character));
        }
    }

    #[test]
    fn composed_and_decomposed_letters_are_the_same() {
        for (one, other) in [("й", "и\u{306}"), ("ガ", "カ\u{3099}"), ("café", "cafe\u{301}")]
        {
            assert_eq!(Action::new(one), Action::new(other), "{one}");
        }
    }

    #[test]
    fn disguises_are_noticed_and_other_alphabets_are_none() {
        for (hint, disguised) in [
            ("drop_table", false),
            ("drоp_table", true),
            ("dr\u{200b}op", true),
            ("прочитать файл", false),
            ("διάβασε το αρχείο", false),
            ("read привет.txt", false),
            ("naïve café", false),
            ("「read」 ｆｉｌｅ", false),
        ] {
            assert_eq!(Action::new(hint).is_disguised(), disguised, "{hint}");
        }
    }

    #[test]
    fn several_commands_are_noticed() {
        for (hint, compound) in [
            ("read_file notes.txt", false),
            ("read_file a; rm b", true),
            ("read_file a && rm b", true),
            ("read_file a\nrm b", true),
            ("read_file $(rm b)", true),
            ("read_file a；rm b", true),
            ("\nread_file a\n", false),
        ] {
            assert_eq!(Action::new(hint).is_compound(), compound, "{hint:?}");
        }
    }

    #[test]
    fn an_approval_is_of_the_very_words() {
        assert_eq!(Action::digest(" a b"), Action::digest("a b "));
        assert_ne!(Action::digest("a b"), Action::digest("a  b"));
    }
}
