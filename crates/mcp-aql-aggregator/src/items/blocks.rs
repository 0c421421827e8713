//! Splits prose with several results at rules, headings, or repeated labels.

use std::borrow::Cow;

/// Maximum length in bytes of a message that nothing was found.
const MAX_EMPTY_BYTES: usize = 200;
/// Maximum number of lines before the first result.
const MAX_PREFACE_LINES: usize = 3;
/// Minimum length in characters of the part before the first heading to count as content.
const MIN_PREFACE_CHARS: usize = 80;

/// Returns `true` if a string only says that nothing was found, for example "No results found.".
pub(super) fn is_empty(text: &str) -> bool {
    let text = text.trim();
    if text.is_empty() {
        return true;
    }
    if text.len() > MAX_EMPTY_BYTES || text.contains('\n') {
        return false;
    }
    let plain: String = text
        .chars()
        .map(|each| if each.is_alphanumeric() { each } else { ' ' })
        .collect::<String>()
        .to_lowercase();
    let words: Vec<&str> = plain.split_whitespace().collect();
    let [first, rest @ ..] = words.as_slice() else {
        // Brackets and dashes such as `[]` and `-` say nothing; an emoji may.
        return text.chars().all(|each| each.is_ascii() || matches!(each, '…' | '–' | '—' | '•'));
    };
    let is_found = |word: &&str| {
        matches!(
            *word,
            "found" | "match" | "matches" | "matched" | "matching" | "result" | "results" | "hits"
        )
    };
    match *first {
        "null" | "none" | "undefined" | "empty" => rest.is_empty(),
        "no" | "0" | "zero" => {
            // "No relevant documents found for …" and "0 results" match, but not a sentence of a
            // document.
            let found = rest.iter().take(6).position(is_found);
            let behind = found.and_then(|at| rest.get(at + 1));
            (found.is_some() && behind.is_none_or(|word| may_follow_no_results(word)))
                || (*first == "no" && rest == ["data"])
        }
        "nothing" => rest.is_empty() || rest.first().is_some_and(is_found),
        "found" => matches!(rest.first(), Some(&"0" | &"no" | &"nothing" | &"none")),
        "sorry" | "there" => {
            rest.iter().take(4).any(|word| matches!(*word, "no" | "nothing" | "0"))
                && rest.iter().any(is_found)
        }
        "could" | "couldn" | "did" | "didn" | "cannot" => {
            let found = rest.iter().take(5).position(|word| *word == "find");
            let what = found.map(|at| rest.get(at + 1).copied().unwrap_or("anything"));
            // "Could not find module 'x': …" does not match.
            what.is_some_and(|what| {
                what.starts_with("any") || is_found(&what) || SEARCH_OBJECTS.contains(&what)
            }) && rest.iter().take(2).any(|it| *it == "not" || *it == "t")
        }
        _ => false,
    }
}

/// The objects of "could not find" in a message that nothing was found.
const SEARCH_OBJECTS: [&str; 12] = [
    "a",
    "documents",
    "entries",
    "files",
    "information",
    "it",
    "matching",
    "nodes",
    "pages",
    "records",
    "relevant",
    "what",
];

/// Returns `true` if the word may follow "no results" in a message that nothing was found. Verbs
/// are excluded, because "No results appear after …" is a sentence of a document.
fn may_follow_no_results(word: &str) -> bool {
    const WORDS: [&str; 31] = [
        "and",
        "are",
        "at",
        "available",
        "by",
        "containing",
        "criteria",
        "found",
        "for",
        "from",
        "have",
        "here",
        "in",
        "match",
        "matched",
        "matches",
        "matching",
        "of",
        "on",
        "or",
        "please",
        "returned",
        "that",
        "the",
        "to",
        "try",
        "were",
        "with",
        "within",
        "yet",
        "your",
    ];
    WORDS.contains(&word)
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
    let front = front(text);
    let mut parts: Vec<&str> = Vec::new();
    let mut from = 0;
    let mut before = "";
    for (start, line, is_code) in marked(text) {
        if start >= front && !is_code && is_rule(line, before) {
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

/// Returns the position after the front matter between two rules, or 0 if there is none. Front
/// matter belongs to the item that follows it.
fn front(text: &str) -> usize {
    const MAX_FRONT_MATTER_LINES: usize = 50;
    let mut at = 0;
    for (place, whole) in text.split_inclusive('\n').take(MAX_FRONT_MATTER_LINES).enumerate() {
        at += whole.len();
        let line = whole.trim_end();
        let is_rule = line == "---";
        let is_metadata = line.is_empty()
            || line.starts_with([' ', '\t', '#'])
            || line.starts_with("- ")
            || line.split_once(':').is_some_and(|(name, _)| !name.contains(' '));
        match (place, is_rule) {
            (0, false) => return 0,
            (0, true) => {}
            (1, true) => return 0,
            (_, true) => return at,
            (_, false) if !is_metadata => return 0,
            _ => {}
        }
    }
    0
}

/// Returns `true` if a line is a rule: `---` or longer. `===` and similar lines only count if they
/// do not underline a heading.
fn is_rule(line: &str, before: &str) -> bool {
    let line = line.trim_end();
    let is_of = |mark: char| line.len() >= 3 && line.chars().all(|each| each == mark);
    is_of('-') && (line.len() == 3 || before.trim().is_empty())
        || (['=', '*', '_'].into_iter().any(is_of) && before.trim().is_empty())
}

/// Splits at other marks that certainly separate results.
pub(super) fn split(text: &str) -> Option<Vec<Cow<'_, str>>> {
    headings(text).or_else(|| labelled(text)).or_else(|| numbered(text))
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
fn labelled(text: &str) -> Option<Vec<Cow<'_, str>>> {
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

/// Splits at lines that begin with `1.`, `2.` and so on. The list must be at the beginning, and
/// must not be the steps of an instruction.
fn numbered(text: &str) -> Option<Vec<Cow<'_, str>>> {
    let mut starts = Vec::new();
    let mut before = 0;
    for (start, line, is_code) in marked(text) {
        if !is_code && number(line) == Some(starts.len() + 1) {
            starts.push(start);
        } else if starts.is_empty() && !line.trim().is_empty() {
            before += 1;
        }
    }
    if starts.len() < 2 || before > MAX_PREFACE_LINES {
        return None;
    }
    let parts = cut_at(text, &starts);
    // Results contain URLs or bold titles, or take more than one line each.
    let is_result = |part: &&Cow<'_, str>| {
        part.contains("://") || part.contains("**") || part.trim().contains('\n')
    };
    (parts.iter().filter(is_result).count() * 2 >= parts.len()).then_some(parts)
}

/// Parses `12.`, `12)`, `[12]` or `**12.` with a blank after it.
fn number(line: &str) -> Option<usize> {
    let line = line.trim_start_matches("**").trim_start_matches('[');
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let number = line.get(..digits).filter(|digits| digits.len() <= 3)?.parse().ok()?;
    let rest = line.get(digits..)?;
    let rest = rest.strip_prefix(['.', ')', ']'])?;
    (rest.starts_with([' ', '*', ':']) || rest.is_empty()).then_some(number)
}
