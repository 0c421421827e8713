//! Properties of scripts.

/// Returns `true` for scripts that write words without spaces: Chinese, Japanese, scripts of
/// South-East Asia, and Korean, because it attaches particles to words. Their words are found by
/// pairs of characters.
pub(crate) fn has_no_spaces(c: char) -> bool {
    matches!(u32::from(c),
        0xE00..=0xEFF | 0x1000..=0x109F | 0x1100..=0x11FF | 0x1780..=0x17FF | 0x1950..=0x19DF
        | 0x1A20..=0x1AAF | 0x2E80..=0x2FDF | 0x3005..=0x3007 | 0x3021..=0x3029 | 0x3031..=0x3035
        | 0x3038..=0x303B | 0x3041..=0x309F | 0x30A1..=0x30FF | 0x3105..=0x31FF | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF | 0xA000..=0xA4CF | 0xA960..=0xA97F | 0xA9E0..=0xA9FF | 0xAA60..=0xAA7F
        | 0xAC00..=0xD7FF | 0xF900..=0xFAFF | 0xFF66..=0xFFDC | 0x1AFF0..=0x1B16F | 0x20000..=0x3FFFF)
}

/// Returns `true` if writers often omit a mark: accents of Latin and Greek, the dots of ё, vowels
/// of Arabic and Hebrew. Other marks make a different letter.
pub(super) fn is_optional_mark(base: char, mark: char) -> bool {
    match u32::from(mark) {
        0x300..=0x36F => match u32::from(base) {
            0x41..=0x24F | 0x370..=0x3FF => true,
            0x435 => mark == '\u{308}' || mark == '\u{301}' || mark == '\u{300}',
            0x400..=0x4FF => mark == '\u{301}' || mark == '\u{300}',
            _ => false,
        },
        0x591..=0x5BD | 0x5BF | 0x5C1..=0x5C2 | 0x5C4..=0x5C5 | 0x5C7 => true,
        // This includes the Arabic tatweel, because it only stretches a word.
        0x640 | 0x64B..=0x655 | 0x670 => true,
        _ => false,
    }
}
