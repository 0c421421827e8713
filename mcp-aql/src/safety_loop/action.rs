use sha2::{Digest as _, Sha256};
use unicode_normalization::char::decompose_compatible;

use crate::vocab::DangerLevel;

/// What an agent is about to do, as scorers and patterns read it: its own words, made comparable.
///
/// Case, accents, ligatures, invisible characters, look-alike letters of other alphabets and the kind
/// and number of spaces make no difference.
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
    compound: bool,
    disguised: bool,
    repeats: u32,
    operation: Option<(String, DangerLevel)>,
}

impl Action {
    /// The action that these words tell of.
    pub fn new(hint: &str) -> Self {
        let (text, disguised) = fold(hint);
        let compound = hint.trim().contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'])
            || text.contains([';', '|', '&', '`', '<', '>'])
            || text.contains("$(");
        Self { text, compound, disguised, repeats: 0, operation: None }
    }

    /// Says how often the agent has reported this lately.
    #[must_use]
    pub fn repeated(mut self, times: u32) -> Self {
        self.repeats = times;
        self
    }

    /// Says that the words name one of the adapter's own operations, and how dangerous it is.
    #[must_use]
    pub fn of_operation(mut self, name: impl Into<String>, level: DangerLevel) -> Self {
        self.operation = Some((name.into(), level));
        self
    }

    /// The words, made comparable.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it looks like several commands, one after the other or one inside the other.
    pub fn is_compound(&self) -> bool {
        self.compound
    }

    /// Whether words were written so that they look like others: with invisible characters or with
    /// letters of several alphabets.
    pub fn is_disguised(&self) -> bool {
        self.disguised
    }

    /// The most dangerous of the adapter's own operations that the words name.
    pub fn operation(&self) -> Option<(&str, DangerLevel)> {
        self.operation.as_ref().map(|(name, level)| (name.as_str(), *level))
    }

    /// How often the agent has reported the same lately, before now.
    pub fn repeats(&self) -> u32 {
        self.repeats
    }

    /// What tells this action from others: what is approved is this one and no other. Taken of the
    /// words as they came.
    pub(super) fn digest(hint: &str) -> String {
        hex(&Sha256::digest(hint.trim().as_bytes()))
    }
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The comparable form, and whether something in it was hidden.
pub(super) fn fold(hint: &str) -> (String, bool) {
    let mut text = String::with_capacity(hint.len());
    let mut disguised = false;
    // Of the word that is being read: letters that are ASCII, and letters that only look so.
    let (mut plain, mut alike) = (false, false);
    let mut spaced = true;
    let mut previous_hidden = false;
    for each in hint.chars() {
        if is_blank(each) || (each.is_control() && !is_hidden(each)) {
            disguised |= plain && alike;
            (plain, alike) = (false, false);
            if !spaced {
                text.push(' ');
            }
            (spaced, previous_hidden) = (true, false);
            continue;
        }
        if is_hidden(each) {
            // One between letters parts a word that reads as one.
            previous_hidden = !spaced;
            continue;
        }
        let (folded, is_alike) = look(each);
        disguised |= previous_hidden && folded.is_ascii_alphanumeric();
        previous_hidden = false;
        if !folded.is_alphanumeric() && folded != '_' {
            disguised |= plain && alike;
            (plain, alike) = (false, false);
        }
        plain |= folded.is_ascii_alphabetic() && !is_alike;
        alike |= is_alike;
        if folded.is_ascii() {
            text.push(folded.to_ascii_lowercase());
        } else {
            match plainly(folded) {
                Some(plain) => text.push_str(&plain),
                None => text.extend(folded.to_lowercase()),
            }
        }
        spaced = false;
    }
    disguised |= plain && alike;
    if text.ends_with(' ') {
        text.pop();
    }
    (text, disguised)
}

/// What a Latin letter is without its accent, and a ligature in its letters.
fn plainly(each: char) -> Option<String> {
    let mut plain = String::new();
    decompose_compatible(each, |part| {
        if !is_hidden(part) {
            plain.push(look(part).0.to_ascii_lowercase());
        }
    });
    (plain.starts_with(|first: char| first.is_ascii_alphanumeric()) && plain.is_ascii())
        .then_some(plain)
}

/// What looks like a space. The blank pattern of Braille is none for Unicode.
fn is_blank(each: char) -> bool {
    each.is_whitespace() || each == '\u{2800}'
}

/// Characters that nobody sees: format characters, marks that combine with the letter before, and
/// controls that a terminal swallows.
fn is_hidden(each: char) -> bool {
    matches!(each,
        '\u{0}'..='\u{8}' | '\u{e}'..='\u{1b}' | '\u{7f}' | '\u{ad}'
        | '\u{300}'..='\u{36f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{20d0}'..='\u{20ff}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// The ASCII character that one of another block looks like, and whether that is a disguise: letters
/// of other alphabets are, wide forms and typographic signs are not.
fn look(each: char) -> (char, bool) {
    if each.is_ascii() {
        return (each, false);
    }
    let plain = match each {
        // Full-width forms.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(each) - 0xfee0),
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' => Some('-'),
        '\u{2018}' | '\u{2019}' | '\u{201b}' | '\u{2032}' => Some('\''),
        '\u{201c}'..='\u{201f}' | '\u{2033}' => Some('"'),
        '\u{2044}' | '\u{2215}' | '\u{29f8}' => Some('/'),
        '\u{fe4d}'..='\u{fe4f}' | '\u{2017}' => Some('_'),
        '\u{37e}' => Some(';'),
        '\u{2223}' => Some('|'),
        _ => None,
    };
    if let Some(plain) = plain {
        return (plain, false);
    }
    let alike = match each {
        'а' | 'А' | 'α' | 'Α' | 'ɑ' => 'a',
        'в' | 'В' | 'Β' | 'β' | 'Ь' | 'ь' => 'b',
        'с' | 'С' | 'ϲ' | 'Ϲ' | 'ᴄ' | 'ⅽ' => 'c',
        'ԁ' | 'Ԁ' | 'ⅾ' | 'ᴅ' => 'd',
        'е' | 'Е' | 'Ε' | 'ε' | 'ё' | 'Ё' | 'ᴇ' => 'e',
        'ɡ' | 'ց' | 'ɢ' => 'g',
        'һ' | 'Һ' | 'н' | 'Н' | 'Η' | 'ʜ' => 'h',
        'і' | 'І' | 'ι' | 'Ι' | 'ı' | 'ӏ' | 'Ӏ' | 'ⅰ' => 'i',
        'ј' | 'Ј' | 'ϳ' | 'ᴊ' => 'j',
        'к' | 'К' | 'κ' | 'Κ' | 'ᴋ' => 'k',
        'ⅼ' | 'ʟ' | 'ℓ' => 'l',
        'м' | 'М' | 'Μ' | 'ⅿ' | 'ᴍ' => 'm',
        'Ν' | 'ո' | 'ɴ' => 'n',
        'о' | 'О' | 'ο' | 'Ο' | 'օ' | 'ᴏ' => 'o',
        'р' | 'Р' | 'ρ' | 'Ρ' | 'ᴘ' => 'p',
        'ԛ' | 'Ԛ' => 'q',
        'г' | 'ʀ' | 'ꮁ' => 'r',
        'ѕ' | 'Ѕ' | 'ꜱ' => 's',
        'т' | 'Т' | 'τ' | 'Τ' | 'ᴛ' => 't',
        'υ' | 'ս' | 'ᴜ' => 'u',
        'ν' | 'ѵ' | 'ᴠ' | 'ⅴ' => 'v',
        'ԝ' | 'Ԝ' | 'ᴡ' | 'ω' => 'w',
        'х' | 'Х' | 'χ' | 'Χ' | 'ⅹ' => 'x',
        'у' | 'У' | 'Υ' | 'γ' | 'Ү' | 'ү' => 'y',
        'Ζ' | 'ᴢ' => 'z',
        // Mathematical alphabets: letters in rows of 26, capitals and small ones by turns.
        '\u{1d400}'..='\u{1d6a3}' => letter((u32::from(each) - 0x1d400) % 26),
        '\u{24b6}'..='\u{24cf}' => letter(u32::from(each) - 0x24b6),
        '\u{24d0}'..='\u{24e9}' => letter(u32::from(each) - 0x24d0),
        _ => return (each, false),
    };
    (alike, true)
}

fn letter(place: u32) -> char {
    char::from_u32(u32::from('a') + place).unwrap_or('a')
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
        ] {
            assert_eq!(Action::new(hint).text(), "drop_table users", "{shows}");
        }
        assert_eq!(Action::new("rm\u{a0}\u{2014}rf").text(), "rm -rf");
        assert_eq!(Action::new("con\u{fb01}gure ½").text(), "configure 1/2");
        assert_eq!(Action::new("ガ 각 Й").text(), "ガ 각 й", "what is another letter elsewhere");
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
