//! Texts that have several results in them: rules, headings, the same word at the beginning of each.

use std::borrow::Cow;

/// Longer texts are no mere "nothing found".
const LONGEST_EMPTY: usize = 200;
/// What is before the first heading is talk, if it is shorter.
const SHORTEST_START: usize = 80;

/// Whether a text says that nothing was found.
pub(super) fn is_empty(text: &str) -> bool {
    let text = text.trim();
    if text.is_empty() {
        return true;
    }
    if text.len() > LONGEST_EMPTY || text.contains('\n') {
        return false;
    }
    let plain: String = text
        .chars()
        .map(|each| if each.is_alphanumeric() { each } else { ' ' })
        .collect::<String>()
        .to_lowercase();
    let words: Vec<&str> = plain.split_whitespace().collect();
    let [first, rest @ ..] = words.as_slice() else {
        // `[]`, `{}`, `()`, `-`
        return true;
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
            // "No relevant documents found for …", "0 results", and no sentence of a document.
            rest.iter().take(6).any(is_found) || (*first == "no" && rest == ["data"])
        }
        "nothing" => rest.is_empty() || rest.first().is_some_and(|word| is_found(&word)),
        "found" => matches!(rest.first(), Some(&"0" | &"no" | &"nothing" | &"none")),
        "sorry" | "there" => {
            rest.iter().take(4).any(|word| matches!(*word, "no" | "nothing" | "0"))
                && rest.iter().any(is_found)
        }
        "could" | "couldn" | "did" | "didn" | "cannot" => {
            rest.iter().take(5).any(|word| *word == "find")
                && rest.iter().take(2).any(|it| *it == "not" || *it == "t")
        }
        _ => false,
    }
}

/// Lines with where they begin, and whether they are in a fenced block of code.
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

/// The parts that begin at these places, without what is before the first if that is mere talk.
fn cut_at(text: &str, starts: &[usize]) -> Vec<Cow<'static, str>> {
    let mut parts = Vec::new();
    let first = starts.first().copied().unwrap_or_default();
    let start = text.get(..first).unwrap_or_default().trim();
    if start.chars().count() >= SHORTEST_START && start.contains('\n') {
        parts.push(Cow::Owned(start.to_owned()));
    }
    for (place, from) in starts.iter().enumerate() {
        let to = starts.get(place + 1).copied().unwrap_or(text.len());
        let part = text.get(*from..to).unwrap_or_default().trim();
        if !part.is_empty() {
            parts.push(Cow::Owned(part.to_owned()));
        }
    }
    parts
}

/// Parts between lines of `---`, if there are at least two.
pub(super) fn ruled<'t>(text: &str) -> Option<Vec<Cow<'t, str>>> {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    let mut from = 0;
    let mut end = 0;
    // Metadata between two rules at the very beginning belong to what follows.
    let mut is_front = text.starts_with("---\n") || text.starts_with("---\r\n");
    let mut is_first = true;
    let mut is_metadata = is_front;
    let mut before = "";
    for (start, line, is_code) in marked(text) {
        end = start + line.len();
        let is_rule = !is_code && is_rule(line, before);
        if is_front && !is_first {
            if is_rule {
                is_front = false;
                if is_metadata {
                    before = line;
                    continue;
                }
            } else {
                is_metadata &= line.is_empty()
                    || line.starts_with([' ', '\t', '-', '#'])
                    || line.contains(':');
            }
        }
        if is_rule && !is_first {
            parts.push((from, start));
            from = end;
        }
        is_first = false;
        before = line;
    }
    parts.push((from, end.max(from)));
    let parts: Vec<_> = parts
        .into_iter()
        .filter_map(|(from, to)| text.get(from..to))
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| Cow::Owned(part.to_owned()))
        .collect();
    (parts.len() >= 2).then_some(parts)
}

/// `---`, and longer; `===` and the like only where they underline nothing.
fn is_rule(line: &str, before: &str) -> bool {
    let line = line.trim_end();
    let is_of = |mark: char| line.len() >= 3 && line.chars().all(|each| each == mark);
    is_of('-') && (line.len() == 3 || before.trim().is_empty())
        || (['=', '*', '_'].into_iter().any(is_of) && before.trim().is_empty())
}

/// Other texts that surely have several results in them.
pub(super) fn split<'t>(text: &str) -> Option<Vec<Cow<'t, str>>> {
    headings(text).or_else(|| labelled(text)).or_else(|| numbered(text))
}

/// At the headings of one level: the highest that there are two of.
fn headings<'t>(text: &str) -> Option<Vec<Cow<'t, str>>> {
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

/// At paragraphs that begin with the same label: `Title: …`, `Commit: …`.
fn labelled<'t>(text: &str) -> Option<Vec<Cow<'t, str>>> {
    let mut starts: Vec<(usize, &str)> = Vec::new();
    let mut is_after_blank = true;
    for (start, line, is_code) in marked(text) {
        if is_after_blank
            && !is_code
            && let Some(label) = label(line)
        {
            starts.push((start, label));
        }
        is_after_blank = line.trim().is_empty();
    }
    let (_, first) = *starts.first()?;
    let places: Vec<usize> =
        starts.iter().filter(|(_, label)| *label == first).map(|(start, _)| *start).collect();
    (places.len() >= 2).then(|| cut_at(text, &places))
}

/// The word before the colon: `Title`, `**Title**`, `[Source]`.
fn label(line: &str) -> Option<&str> {
    const LONGEST: usize = 24;
    let (label, _) = line.split_once(':')?;
    let word = label.trim_matches(['*', '_', '[', ']', '`', ' ']);
    let is_label = !word.is_empty()
        && label.len() <= LONGEST
        && word.chars().all(|each| each.is_alphanumeric() || each == ' ' || each == '_')
        && word.split(' ').count() <= 2
        && word.starts_with(char::is_alphabetic);
    is_label.then_some(label)
}

/// At lines that begin with `1.`, `2.` and so on, if the text begins with them.
fn numbered<'t>(text: &str) -> Option<Vec<Cow<'t, str>>> {
    const MOST_BEFORE: usize = 3;
    let mut starts = Vec::new();
    let mut before = 0;
    for (start, line, is_code) in marked(text) {
        if is_code || line.trim().is_empty() {
            continue;
        }
        if number(line) == Some(starts.len() + 1) {
            starts.push(start);
        } else if starts.is_empty() {
            before += 1;
            if before > MOST_BEFORE {
                return None;
            }
        } else if !line.starts_with([' ', '\t']) && starts.len() < 2 {
            // Text that goes on at the margin: a document with steps in it.
            before += 1;
        }
    }
    (starts.len() >= 2 && before <= MOST_BEFORE).then(|| cut_at(text, &starts))
}

/// `12.`, `12)`, `[12]` or `**12.`, with a blank behind.
fn number(line: &str) -> Option<usize> {
    let line = line.trim_start_matches("**").trim_start_matches('[');
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let number = line.get(..digits).filter(|digits| digits.len() <= 3)?.parse().ok()?;
    let rest = line.get(digits..)?;
    let rest = rest.strip_prefix(['.', ')', ']'])?;
    (rest.starts_with([' ', '*', ':']) || rest.is_empty()).then_some(number)
}
