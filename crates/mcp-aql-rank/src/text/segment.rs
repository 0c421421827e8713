//! Splits runs and words outside of ASCII.

use super::scan::{Word, WordKind, key_of};

/// Emits the words of all segments. Adjacent segments of a script without spaces are joined into
/// runs first. Each segment comes with its start.
pub(super) fn scan_segments<'t>(
    chunk: &'t str,
    segments: impl Iterator<Item = (usize, &'t str)>,
    fold_into: fn(&str, &mut String),
    each: &mut impl FnMut(Word<'_>),
) {
    let mut run: Option<(usize, usize)> = None;
    let mut folded = String::new();
    for (start, segment) in segments {
        let end = start + segment.len();
        if segment.chars().next().is_some_and(has_no_spaces) {
            run = match run {
                Some((begun, until)) if until == start => Some((begun, end)),
                earlier => {
                    scan_run(chunk, earlier, each);
                    Some((start, end))
                }
            };
            continue;
        }
        scan_run(chunk, run.take(), each);
        scan_segment(segment, &mut folded, fold_into, each);
    }
    scan_run(chunk, run, each);
}

/// Emits the pairs of adjacent characters of a run: `查询余` → `查询`, `询余`.
fn scan_run(chunk: &str, run: Option<(usize, usize)>, each: &mut impl FnMut(Word<'_>)) {
    let Some(run) = run.and_then(|(start, end)| chunk.get(start..end)) else { return };
    let mut emit = |text: &str, kind| {
        let (key, head) = key_of(text);
        each(Word { text, key, head, kind });
    };
    let mut marks = run.char_indices().map(|(at, c)| (at, c.len_utf8())).peekable();
    let mut alone = true;
    while let Some((at, length)) = marks.next() {
        let next = marks.peek().map(|(next, length)| next + length);
        let Some(sign) = run.get(at..at + length) else { continue };
        match next.and_then(|end| run.get(at..end)) {
            Some(pair) => {
                emit(sign, WordKind::Sign);
                emit(pair, WordKind::Pair);
                alone = false;
            }
            None if alone => emit(sign, WordKind::Pair),
            None => emit(sign, WordKind::Sign),
        }
    }
}

/// Scans one word. `fold_into` appends its folded form. Words such as `don’t` and `snake_case` are
/// split as in ASCII.
fn scan_segment(
    segment: &str,
    folded: &mut String,
    fold_into: fn(&str, &mut String),
    each: &mut impl FnMut(Word<'_>),
) {
    let pieces =
        || segment.split(|c: char| c.is_ascii_punctuation() || matches!(c, '’' | '‘' | '·'));
    for piece in pieces().filter(|piece| !piece.is_empty() && *piece != "_") {
        let mut parts = 0;
        let mut emit = |text: &str, kind, each: &mut dyn FnMut(Word<'_>)| {
            folded.clear();
            fold_into(text, folded);
            if !folded.is_empty() {
                let (key, head) = key_of(folded);
                each(Word { text: folded, key, head, kind });
            }
        };
        let mut rest = piece;
        while let Some((part, others)) = split_at_case(rest) {
            emit(part, WordKind::Part, each);
            rest = others;
            parts += 1;
        }
        if parts > 0 {
            emit(rest, WordKind::Part, each);
        }
        emit(piece, if parts > 0 { WordKind::Whole } else { WordKind::Plain }, each);
    }
}

/// Splits before the first capital after a small letter.
fn split_at_case(piece: &str) -> Option<(&str, &str)> {
    let mut small = false;
    for (at, c) in piece.char_indices() {
        if small && c.is_uppercase() {
            return piece.split_at_checked(at);
        }
        small = c.is_lowercase();
    }
    None
}

/// Returns `true` for scripts that write words without spaces: Chinese, Japanese, scripts of
/// South-East Asia, and Korean, because it attaches particles to words. Their words are found by
/// pairs of characters.
pub(super) fn has_no_spaces(c: char) -> bool {
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
