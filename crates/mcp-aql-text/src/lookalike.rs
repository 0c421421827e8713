//! Finds the ASCII string that a character looks like.

mod latin;

use std::sync::LazyLock;

use unicode_normalization::char::{decompose_canonical, decompose_compatible};
use unicode_security::confusable_detection::skeleton;

use crate::{CodePoints, is_ignorable, is_mark};

static DASH: LazyLock<CodePoints> = LazyLock::new(|| CodePoints::new(r"\p{Dash}"));
static LATIN: LazyLock<CodePoints> = LazyLock::new(|| CodePoints::new(r"\p{Script=Latin}"));

/// ASCII characters whose prototype in the table of confusable characters is not the character itself.
///
/// `0`, `1`, `I` and `|` are missing, because they share their prototypes with letters.
const PROTOTYPES: [(&str, &str); 4] = [("rn", "m"), ("''", "\""), ("°/₀", "%"), ("`", "'")];

/// The reading of a character by a person who expects ASCII.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lookalike {
    /// The ASCII characters that a reader sees, in lower case.
    pub text: String,
    /// If `true`, the character is a letter of another alphabet, or of an alphabet of symbols, that can pass
    /// for the ASCII letter. Accents, ligatures, wide forms and typographic signs do not count as a disguise.
    pub is_disguise: bool,
}

/// Returns the ASCII string that a character looks like. Returns `None` for ASCII itself, for marks, and for
/// characters without such a string.
///
/// The sources are:
///
/// - compatibility decompositions,
/// - the table of confusable characters of Unicode Technical Standard #39, for the character and for its
///   other case,
/// - the small capitals, because that table separates them from capitals,
/// - the names of Latin letters, and of symbols that contain letters: `Ƥ`, `ɾ`, `🅿`.
///
/// ```
/// use mcp_aql_text::lookalike;
///
/// // Cyrillic.
/// assert_eq!(lookalike('о').map(|it| (it.text, it.is_disguise)), Some(("o".to_owned(), true)));
/// assert_eq!(lookalike('é').map(|it| (it.text, it.is_disguise)), Some(("e".to_owned(), false)));
/// assert_eq!(lookalike('ж'), None);
/// ```
pub fn lookalike(character: char) -> Option<Lookalike> {
    if character.is_ascii() || is_ignorable(character) || is_mark(character) {
        return None;
    }
    if DASH.contains(character) {
        return Some(Lookalike { text: "-".to_owned(), is_disguise: false });
    }
    if let Some(text) = latin::symbol(character) {
        let is_disguise = text.len() == 1 && text.starts_with(|it: char| it.is_ascii_alphabetic());
        return Some(Lookalike { text, is_disguise });
    }
    if let Some(letter) = latin::named(character) {
        return Some(Lookalike { text: letter.to_string(), is_disguise: false });
    }
    if let Some(text) = compatible(character) {
        let is_wide = matches!(character, '\u{ff01}'..='\u{ff5e}');
        let is_letter = text.len() == 1 && text.starts_with(|it: char| it.is_ascii_alphabetic());
        // The ordinal indicators of Latin-1 are in ordinary use.
        let is_disguise = is_letter && !is_wide && !is_accented(character) && character > '\u{ff}';
        return Some(Lookalike { text, is_disguise });
    }
    let lower = only(character.to_lowercase());
    let prototype = [Some(character), lower, only(character.to_uppercase())]
        .into_iter()
        .flatten()
        .find_map(prototype)
        .or_else(|| small_capital(character).map(|text| (text.to_owned(), false)));
    let Some((mut text, has_marks)) = prototype else {
        return plain_form(character).and_then(lookalike);
    };
    if text == "l" {
        if !character.is_alphanumeric() {
            // A bar.
            "|".clone_into(&mut text);
        } else if lower.and_then(self::prototype).is_some_and(|(lower, _)| lower == "i") {
            // A capital that looks like both letters. Its small letter decides.
            "i".clone_into(&mut text);
        }
    }
    text.make_ascii_lowercase();
    let is_of_its_own = LATIN.contains(character) && (has_marks || text.len() > 1);
    Some(Lookalike { is_disguise: character.is_alphabetic() && !is_of_its_own, text })
}

/// Returns the result of a case mapping if it is one character.
fn only(mut mapping: impl Iterator<Item = char>) -> Option<char> {
    let first = mapping.next();
    first.filter(|_| mapping.next().is_none())
}

/// Returns the letter of a superscript or a subscript.
fn plain_form(character: char) -> Option<char> {
    let mut parts = Vec::new();
    decompose_compatible(character, |part| parts.push(part));
    match parts[..] {
        [part] if part != character => Some(part),
        _ => None,
    }
}

/// Returns `true` if a character is an ASCII letter with accents.
fn is_accented(character: char) -> bool {
    let mut first = None;
    decompose_canonical(character, |part| {
        first.get_or_insert(part);
    });
    first.is_some_and(|first| first.is_ascii())
}

/// Returns the compatibility form without its marks, if it consists of visible ASCII characters.
fn compatible(character: char) -> Option<String> {
    let mut text = String::new();
    decompose_compatible(character, |part| {
        if part.is_ascii() {
            text.push(part.to_ascii_lowercase());
        } else if !is_mark(part) && !is_ignorable(part) {
            match prototype(part).filter(|_| part != character && !part.is_alphabetic()) {
                Some((prototype, _)) => text.push_str(&prototype.to_ascii_lowercase()),
                None => text.push(part),
            }
        }
    });
    // A letter or a digit in brackets, such as `⒟`.
    if let Some(inner) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        text = inner.to_owned();
    }
    let text = as_ascii(text);
    is_ascii_word(&text).then_some(text)
}

/// Returns the prototype of a character in the table of confusable characters, if it is an ASCII string. The
/// boolean is `true` if marks were removed from it.
fn prototype(character: char) -> Option<(String, bool)> {
    let mut has_marks = false;
    let mut text = String::new();
    for each in skeleton(character.encode_utf8(&mut [0; 4])) {
        if is_mark(each) {
            has_marks = true;
        } else {
            text.push(each);
        }
    }
    let text = as_ascii(text);
    is_ascii_word(&text).then_some((text, has_marks))
}

/// Returns the ASCII character with this prototype, or the string itself.
fn as_ascii(text: String) -> String {
    let found = PROTOTYPES.iter().find(|(prototype, _)| *prototype == text);
    found.map_or(text, |(_, ascii)| (*ascii).to_owned())
}

fn is_ascii_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Returns the ASCII letter of letters that look like capitals, but are not the result of a case mapping. `ω`
/// is included, because it passes for `w`.
fn small_capital(character: char) -> Option<&'static str> {
    Some(match character {
        'ʙ' => "b",
        'ᴅ' => "d",
        'ᴇ' => "e",
        'ꜰ' => "f",
        'ɢ' => "g",
        'ʜ' => "h",
        'ᴊ' => "j",
        'ᴋ' | 'ĸ' => "k",
        'ʟ' => "l",
        'ᴍ' => "m",
        'ɴ' => "n",
        'ᴘ' => "p",
        'ꞯ' => "q",
        'ᴛ' => "t",
        'ω' => "w",
        '‗' => "_",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(character: char) -> Option<String> {
        lookalike(character).map(|it| it.text)
    }

    #[test]
    fn letters_of_other_alphabets_are_disguises() {
        for (letters, expected) in [
            ("аАαΑɑ𝐚𝛂ⓐꭺᎪꓮ", "a"),
            ("вВΒβЬь", "b"),
            ("сСϲϹᴄⅽ", "c"),
            ("ԁⅾᴅ𝗱", "d"),
            ("еЕΕᴇ", "e"),
            ("ɡցɢ", "g"),
            ("һҺнНΗʜ", "h"),
            ("іІιΙıⅰ", "i"),
            ("јЈϳᴊ", "j"),
            ("кКκΚᴋ", "k"),
            ("ⅼʟℓ", "l"),
            ("мМΜⅿᴍ𝐦", "m"),
            ("Νոɴ", "n"),
            ("оОοΟօᴏ", "o"),
            ("рРρΡᴘ", "p"),
            ("ԛԚ", "q"),
            ("гʀꮁ", "r"),
            ("ѕЅꜱ", "s"),
            ("тТτΤᴛ", "t"),
            ("υսᴜ", "u"),
            ("νѵᴠⅴ", "v"),
            ("ԝԜᴡω", "w"),
            ("хХχΧⅹ", "x"),
            ("уУΥγҮү", "y"),
            ("Ζᴢ", "z"),
        ] {
            for letter in letters.chars() {
                let expected = Lookalike { text: expected.to_owned(), is_disguise: true };
                assert_eq!(lookalike(letter), Some(expected), "{letter}");
            }
        }
    }

    #[test]
    fn accents_ligatures_wide_forms_and_signs_are_none() {
        for (characters, expected) in [
            ("éëęė", "e"),
            ("øóôö", "o"),
            ("ﬁ", "fi"),
            ("æ", "ae"),
            ("ｄ", "d"),
            ("½", "1/2"),
            ("–—−‐―", "-"),
            ("‘’‛′", "'"),
            ("“”‟″", "\""),
            ("⁄∕⧸／", "/"),
            ("﹍＿‗", "_"),
            ("\u{37e}；", ";"),
            ("∣｜", "|"),
            ("º", "o"),
        ] {
            for character in characters.chars() {
                let expected = Lookalike { text: expected.to_owned(), is_disguise: false };
                assert_eq!(lookalike(character), Some(expected), "{character}");
            }
        }
        for character in "жЙй日ガ각ß".chars() {
            assert_eq!(lookalike(character), None, "{character}");
        }
    }

    #[test]
    fn latin_letters_read_as_the_letter_that_they_are_named_after() {
        for (characters, expected, is_disguise) in [
            ("Ɗȡɖᶁ", "d", false),
            ("ɾɹʁ", "r", false),
            ("ɔƆø", "o", false),
            ("Ƥƥᵱ", "p", false),
            ("🅳🅓🇩⒟🄓🄳Ⓓ", "d", true),
            ("🅿🅟🇵🆊", "p", true),
            ("❼➆➐⑦⑺", "7", false),
            ("🆗", "ok", false),
        ] {
            for character in characters.chars() {
                let expected = Lookalike { text: expected.to_owned(), is_disguise };
                assert_eq!(lookalike(character), Some(expected), "{character}");
            }
        }
    }

    /// Latin letters without an ASCII letter in their names: letters with a sound of their own, digraphs, and
    /// signs of old scripts.
    const LETTERS_APART: &str = "\
        ßƏƕƛƢƣƩƪƱƸƹƺƾǂǶȸȹɒəɚɤɧɮɶɷɸʃʅʆʊʓʕʖʘʡʢʤʥʧʨʬʭᴁᴂᴆᴔᴕᴣᴤᴥᵺᵿᶋᶐᶕᶘᶚẞẟↀↁↂↃↅↆↇↈⱰⱷꜢ\
        ꜣꜤꜥꜦꜧꜪꜫꜬꜭꜮꜯꝜꝝꝤꝥꝦꝧꝨꝩꝬꝭꝱꝲꝳꝴꝵꝶꞏꞚꞛꞜꞝꞶꞷꟋꟓꟕꟚꟛꟜꬰꬱꬼꭀꭁꭂꭍꭏꭐꭔꭕꭠꭢꭦꭧ𐞀𝼀𝼅𝼇𝼊𝼋𝼌𝼎𝼒𝼔𝼗𝼘𝼙𝼜";

    /// Every letter of the Latin script is read as an ASCII string, or is listed as an exception.
    #[test]
    fn every_latin_letter_has_a_reading() {
        let letters = ('\u{80}'..=char::MAX).filter(|it| LATIN.contains(*it) && !is_mark(*it));
        let (mut count, mut apart) = (0, String::new());
        for letter in letters {
            count += 1;
            if lookalike(letter).is_none() && plain_form(letter).is_none() {
                apart.push(letter);
            }
        }
        assert_eq!(apart, LETTERS_APART);
        assert!(count > 1_200, "{count}");
    }

    /// Compares every code point with the table itself. Code points with the prototype of an ASCII letter or
    /// digit are read as this letter or digit.
    #[test]
    fn every_confusable_of_ascii_is_read_as_ascii() {
        let prototypes = |text: &str| skeleton(text).collect::<String>();
        let ascii: Vec<(char, String)> =
            ('!'..='~').map(|it| (it, prototypes(it.encode_utf8(&mut [0; 4])))).collect();
        let mut count = 0;
        for character in ('\u{80}'..=char::MAX).filter(|it| !is_ignorable(*it) && !is_mark(*it)) {
            let prototype = prototypes(character.encode_utf8(&mut [0; 4]));
            let alike: String = ascii
                .iter()
                .filter(|(_, it)| *it == prototype)
                .map(|(it, _)| it.to_ascii_lowercase())
                .collect();
            if alike.is_empty() {
                continue;
            }
            count += 1;
            let read = text(character).unwrap_or_default();
            // Dashes and numbers with a value of their own are read as such.
            let is_value = read == "-" || compatible(character).is_some();
            assert!(
                alike.contains(&*read) || is_value,
                "U+{:04X} {character} is read as {read:?}, not as one of {alike:?}",
                u32::from(character)
            );
        }
        assert!(count > 1_500, "{count}");
    }
}
