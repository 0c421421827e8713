//! Latin letters and symbols with an ASCII reading, although neither a decomposition nor the table of confusable
//! characters contains it.

use std::sync::LazyLock;

/// The ASCII letters, each with the characters that Unicode names after it: letters with hooks, strokes and
/// tails, turned and reversed letters, and letters of old scripts.
const NAMED: [(char, &str); 25] = [
    ('a', "ȺɐᴀᶏẚⱥⱯꞺꞻ"),
    ('b', "ƁᴃᴯᵬᶀꞖꞗ"),
    ('c', "ƇƈɕʗↄꜾꜿꞒꞓꞔꟄ𝼏𝼝"),
    ('d', "ƊȡᵭᶁᶑꝹꝺꟇꟈ𝼥"),
    ('e', "ƎƐǝɘɛɝɞʚᴈᶒᶓᶔⱸⱻꬳꬴꭡ"),
    ('f', "ᶂℲⅎꝻꝼꟻ"),
    ('g', "Ɠʛᵷᵹ⅁ꝽꝾꝿꞠꞡꟐꟑꬶ𝼁𝼂"),
    ('h', "ɥʮʯⱵⱶꞍꞕꟵꟶ"),
    ('i', "ᴉᵎᶖꞼꞽꟷ𝼚"),
    ('k', "ƘʞᶄꝂꝃꝄꝅꞢꞣꞰ𝼃𝼐"),
    ('l', "Ŀŀȴɬᴌᶅ⅂ⱠⱡꝆꝇꝈꝉꞎꞭꬷꬸꬹ𝼄𝼑𝼓𝼦"),
    ('m', "ɰᴟᶆꟽꟿꬺ"),
    ('n', "ȵᴎᴻᶇꞐꞑꞤꞥꬻ𝼧"),
    ('o', "ƆɔᴐᴒᴓᴖᴗᶗⱺꝌꝍꟀꟁꬿ𝼛"),
    ('p', "Ƥᵱᶈ℘ꝐꝑꝒꝓꝔꝕꟼ"),
    ('q', "Ɋɋ℺ꝖꝗꝘꝙ"),
    ('r', "ɹɺɻɾɿʁᴙᴚᵳᶉⱹꞂꞃꞦꞧꭅꭆꭉꭊꭋꭌꭨ𝼈𝼕𝼖𝼨"),
    ('s', "ȿᶊẜⱾꞄꞅꞨꞩꟉꟊꟌꟍꟖꟗꟘꟙ𝼞𝼩"),
    ('t', "ƬȶʇꞆꞇꞱ𝼉𝼍𝼪"),
    ('u', "ᴝᴞᶙꞸꞹꞾꞿ"),
    ('v', "ɅʌỼỽⱱⱴꝞꝟ"),
    ('w', "ʍⱲⱳꟂꟃ"),
    ('x', "ᶍꭖꭗꭘꭙ"),
    ('y', "Ƴʎ⅄𝼆"),
    ('z', "ɀʑᶎⱿꝢꝣꟆ"),
];

/// Sequences of symbols: the first symbol, its ASCII character, and the number of symbols. They are letters
/// in filled circles, in filled squares and of flags, and digits in circles.
const SEQUENCES: [(char, char, u32); 10] = [
    ('\u{1f150}', 'a', 26),
    ('\u{1f170}', 'a', 26),
    ('\u{1f1e6}', 'a', 26),
    ('\u{24ff}', '0', 1),
    ('\u{2776}', '1', 9),
    ('\u{2780}', '1', 9),
    ('\u{278a}', '1', 9),
    ('\u{1f10b}', '0', 1),
    ('\u{1f10c}', '0', 1),
    ('\u{1f18a}', 'p', 1),
];

/// Words in squares, starting with U+1F18B.
const WORDS: [&str; 16] = [
    "ic", "pa", "sa", "ab", "wc", "dj", "cl", "cool", "free", "id", "new", "ng", "ok", "sos", "up",
    "vs",
];

static LETTERS: LazyLock<Vec<(char, char)>> = LazyLock::new(|| {
    let mut letters: Vec<_> = NAMED
        .iter()
        .flat_map(|(letter, characters)| characters.chars().map(|each| (each, *letter)))
        .collect();
    letters.sort_unstable();
    letters
});

/// Returns the ASCII letter in the name of a Latin letter, or `None` for letters with another source.
pub(crate) fn named(character: char) -> Option<char> {
    let place = LETTERS.binary_search_by_key(&character, |(each, _)| *each).ok()?;
    LETTERS.get(place).map(|(_, letter)| *letter)
}

/// Returns the ASCII string of a symbol that contains a letter, a digit or a word.
pub(crate) fn symbol(character: char) -> Option<String> {
    let code = u32::from(character);
    let word = code.checked_sub(0x1_f18b).and_then(|place| WORDS.get(usize::try_from(place).ok()?));
    if let Some(word) = word {
        return Some((*word).to_owned());
    }
    SEQUENCES.iter().find_map(|(first, letter, count)| {
        let place = code.checked_sub(u32::from(*first)).filter(|place| place < count)?;
        char::from_u32(u32::from(*letter) + place).map(String::from)
    })
}
