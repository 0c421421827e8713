//! Splits runs and words outside of ASCII.

use super::scan::{Word, WordKind, key_of};
use super::scripts::has_no_spaces;

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
