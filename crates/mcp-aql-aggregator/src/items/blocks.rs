//! Splits prose with several results at rules, headings, or repeated labels.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// Maximum length in bytes of a message that nothing was found.
const MAX_EMPTY_BYTES: usize = 200;
/// Maximum number of lines before the first result.
const MAX_PREFACE_LINES: usize = 3;
/// Minimum length in characters of the part before the first heading to count as content.
const MIN_PREFACE_CHARS: usize = 80;

/// Messages that nothing was found: lower case, without punctuation, and with single spaces.
///
/// "No relevant documents found for …" is such a message, but "No results appear after …" and
/// "Could not find module `x`" are sentences of a document.
const EMPTY: &str = r"(?x)^(?:
    (?:null | none | undefined | empty | nothing | no\ data)
    | (?:no | 0 | zero) (?:\ \S+){0,5}? \ (?:found | match(?:es|ed|ing)? | results? | hits)
        (?:\ (?:and | are | at | available | by | containing | criteria | found | for | from | have | here | in
            | match(?:es|ed|ing)? | of | on | or | please | returned | that | the | to | try | were | with(?:in)?
            | yet | your) (?:\ .*)?)?
    | nothing\ (?:found | match(?:es|ed|ing)? | results? | hits) (?:\ .*)?
    | found\ (?:0 | no | nothing | none) (?:\ .*)?
    | (?:sorry | there) (?:\ \S+){0,3}? \ (?:no | nothing | 0)
        \ (?:.*\ )? (?:found | match(?:es|ed|ing)? | results? | hits) (?:\ .*)?
    | (?:could\ not | couldn\ t | did\ not | didn\ t | cannot) (?:\ \S+){0,3}? \ find
        (?:\ (?:a | any\S* | documents | entries | files | hits | information | it | matching | nodes | pages
            | records | relevant | results? | what) (?:\ .*)?)?
)$";

/// Returns `true` if a string only says that nothing was found, for example "No results found.".
pub(super) fn is_empty(text: &str) -> bool {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(EMPTY).ok());
    let text = text.trim();
    if text.len() > MAX_EMPTY_BYTES || text.contains('\n') {
        return false;
    }
    let lower = text.to_lowercase();
    let words: Vec<&str> =
        lower.split(|each: char| !each.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        // Brackets and dashes such as `[]` and `-` say nothing; an emoji may.
        return text.chars().all(|each| each.is_ascii() || matches!(each, '…' | '–' | '—' | '•'));
    }
    PATTERN.as_ref().is_some_and(|pattern| pattern.is_match(&words.join(" ")))
}

/// Returns `true` if a string says that nothing was found and is too short to say anything else.
pub(super) fn is_certainly_empty(text: &str) -> bool {
    const MAX_WORDS: usize = 5;
    text.split_whitespace().count() <= MAX_WORDS && is_empty(text)
}

/// Returns `true` if a string only announces results, for example "Found 3 results:".
pub(super) fn is_announcement(text: &str) -> bool {
    let text = text.trim();
    text.len() <= MIN_PREFACE_CHARS && text.ends_with(':') && !text.contains('\n')
}

/// Returns each line with its start position, and `true` if it belongs to a fenced code block.
fn marked(text: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    let mut at = 0;
    let mut fence: Option<(char, usize)> = None;
    text.split_inclusive('\n').map(move |whole| {
        let start = at;
        at += whole.len();
        let line = whole.trim_end_matches(['\n', '\r']);
        let trimmed = line.trim_start();
        let mark = trimmed.chars().next().filter(|mark| matches!(mark, '`' | '~'));
        let length =
            mark.map_or(0, |mark| trimmed.chars().take_while(|each| *each == mark).count());
        let was_in = fence.is_some();
        match (fence, mark) {
            (None, Some(mark)) if length >= 3 => fence = Some((mark, length)),
            (Some((open, least)), Some(mark)) if mark == open && length >= least => fence = None,
            _ => {}
        }
        (start, line, was_in || fence.is_some())
    })
}

/// Returns the parts that begin at these positions. Anything before the first one is also a part,
/// unless it is only a preface.
fn cut_at<'t>(text: &'t str, starts: &[usize]) -> Vec<Cow<'t, str>> {
    let mut parts = Vec::new();
    let first = starts.first().copied().unwrap_or_default();
    let start = text.get(..first).unwrap_or_default().trim();
    let said = start.lines().filter(|line| !is_preface(line));
    if said.map(|line| line.chars().count()).sum::<usize>() >= MIN_PREFACE_CHARS {
        parts.push(Cow::Borrowed(start));
    }
    for (place, from) in starts.iter().enumerate() {
        let to = starts.get(place + 1).copied().unwrap_or(text.len());
        let part = text.get(*from..to).unwrap_or_default().trim();
        if !part.is_empty() {
            parts.push(Cow::Borrowed(part));
        }
    }
    parts
}

/// Returns `true` if a line only announces results or repeats the query.
fn is_preface(line: &str) -> bool {
    const WORDS: [&str; 9] = [
        "found",
        "showing",
        "results",
        "search",
        "here",
        "below",
        "query",
        "total",
        "the following",
    ];
    let line = line.trim();
    let plain = line.trim_start_matches(|each: char| !each.is_alphanumeric()).to_lowercase();
    line.starts_with('#')
        || (line.len() <= MAX_EMPTY_BYTES && WORDS.iter().any(|word| plain.starts_with(word)))
}

/// Splits at lines of `---`, if there are at least two parts.
///
/// ```text
/// Backups are taken hourly.
/// ---
/// Restore the newest one first.
/// ```
pub(super) fn ruled(text: &str) -> Option<Vec<Cow<'_, str>>> {
    let mut parts: Vec<&str> = Vec::new();
    let mut from = 0;
    let mut before = "";
    for (start, line, is_code) in marked(text) {
        if !is_code && is_rule(line, before) {
            parts.extend(text.get(from..start));
            from = start + line.len();
        }
        before = line;
    }
    parts.extend(text.get(from..));
    let parts: Vec<_> = parts
        .into_iter()
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(Cow::Borrowed)
        .collect();
    (parts.len() >= 2).then_some(parts)
}

/// Returns `true` if a line is a rule: `---` or longer. A longer one only counts if it does not
/// underline a heading.
fn is_rule(line: &str, before: &str) -> bool {
    let line = line.trim_end();
    line.len() >= 3
        && line.bytes().all(|each| each == b'-')
        && (line.len() == 3 || before.trim().is_empty())
}

/// Splits at other marks that certainly separate results.
pub(super) fn split(text: &str) -> Option<Vec<Cow<'_, str>>> {
    headings(text).or_else(|| labeled(text))
}

/// Splits at the headings of one level: the highest level with at least two headings.
fn headings(text: &str) -> Option<Vec<Cow<'_, str>>> {
    let mut levels: [Vec<usize>; 6] = Default::default();
    for (start, line, is_code) in marked(text) {
        let level = line.chars().take_while(|each| *each == '#').count();
        let is_heading = line.get(level..).is_some_and(|rest| rest.starts_with(' '));
        if !is_code
            && is_heading
            && let Some(starts) = level.checked_sub(1).and_then(|level| levels.get_mut(level))
        {
            starts.push(start);
        }
    }
    let starts = levels.iter().find(|starts| starts.len() >= 2)?;
    Some(cut_at(text, starts))
}

/// Splits at paragraphs that begin with the same label, such as `Title: …` or `Commit: …`.
fn labeled(text: &str) -> Option<Vec<Cow<'_, str>>> {
    let mut starts: Vec<(usize, &str)> = Vec::new();
    let mut is_after_blank = true;
    for (start, line, is_code) in marked(text) {
        if is_after_blank
            && !is_code
            && let Some(label) = label(line)
        {
            starts.push((start, label));
        }
        // "Commit history:"
        is_after_blank = line.trim().is_empty() || line.trim_end().ends_with(':');
    }
    // The first label with a repetition.
    let label = starts
        .iter()
        .map(|(_, label)| *label)
        .take(MAX_PREFACE_LINES)
        .find(|label| starts.iter().filter(|(_, each)| each == label).count() >= 2)?;
    let places: Vec<usize> =
        starts.iter().filter(|(_, each)| *each == label).map(|(start, _)| *start).collect();
    // A label that first occurs further down belongs to a document with notes.
    let before = text.get(..places.first().copied()?)?;
    let is_soon =
        before.lines().filter(|line| !line.trim().is_empty()).count() <= MAX_PREFACE_LINES;
    is_soon.then(|| cut_at(text, &places))
}

/// Returns the label before the colon, as in `Title:`, `**Title**:` or `[Source]:`.
fn label(line: &str) -> Option<&str> {
    const MAX_LABEL_BYTES: usize = 24;
    let (label, _) = line.split_once(':')?;
    let word = label.trim_matches(['*', '_', '[', ']', '`', ' ']);
    let is_label = !word.is_empty()
        && label.len() <= MAX_LABEL_BYTES
        && word.chars().all(|each| each.is_alphanumeric() || each == ' ' || each == '_')
        && word.split(' ').count() <= 2
        && word.starts_with(char::is_alphabetic);
    is_label.then_some(label)
}
