//! Parses the arguments of a configured call.

use super::placeholder_context::{ArgumentRole, PlaceholderContext};
use serde_json::{Map, Value};

use super::filters::Filter;
use super::shell_word;
use super::template::{
    ArgumentsTemplate, PlaceholderSource, Secret, Segment, Template, Text, looks_like_placeholder,
};
use crate::names::nearest;
use crate::variables::{Piece, Variables, pieces};

/// The location of a mistake in the arguments, and the error message.
pub(crate) type TemplateFault = (String, String);

impl ArgumentsTemplate {
    /// Parses `arguments` of the configuration.
    pub(crate) fn read(
        value: &Value,
        variables: Variables<'_>,
    ) -> Result<Self, Vec<TemplateFault>> {
        let mut reading = TemplateParser { variables, faults: Vec::new() };
        let members = match value {
            Value::Object(members) => reading.members(members, ""),
            _ => Vec::new(),
        };
        if reading.faults.is_empty() { Ok(Self(members)) } else { Err(reading.faults) }
    }
}

/// The parser's state: the variables, and the mistakes found so far.
struct TemplateParser<'v> {
    variables: Variables<'v>,
    faults: Vec<TemplateFault>,
}

impl TemplateParser<'_> {
    fn members(&mut self, members: &Map<String, Value>, path: &str) -> Vec<(String, Template)> {
        members
            .iter()
            .map(|(name, value)| {
                let at = StringContext { path: &format!("{path}.{name}"), name, is_in_list: false };
                (name.clone(), self.template(value, &at))
            })
            .collect()
    }

    fn template(&mut self, value: &Value, at: &StringContext<'_>) -> Template {
        match value {
            Value::String(text) => self.string(text, at),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                Template::List(
                    items
                        .map(|(place, item)| {
                            let path = &format!("{}[{place}]", at.path);
                            self.template(
                                item,
                                &StringContext { path, name: at.name, is_in_list: true },
                            )
                        })
                        .collect(),
                )
            }
            Value::Object(members) => Template::Members(self.members(members, at.path)),
            Value::Null | Value::Bool(_) | Value::Number(_) => Template::Plain(value.clone()),
        }
    }

    fn string(&mut self, text: &str, at: &StringContext<'_>) -> Template {
        let path = at.path;
        let mut segments = Vec::new();
        for piece in pieces(text) {
            match piece {
                Piece::Text(text) => self.segments(text, path, &mut segments),
                Piece::Variable { raw, .. } | Piece::Foreign { raw } => {
                    match piece.value(self.variables) {
                        Ok(value) => {
                            let value = Secret(value);
                            segments.push(Segment::Variable { raw: raw.to_owned(), value });
                        }
                        Err(fault) => self.fault(path, fault),
                    }
                }
            }
        }
        self.check_placeholders(&segments, at);
        match segments.as_slice() {
            [Segment::Placeholder(PlaceholderSource::Limit, filters)] if filters.is_empty() => {
                Template::Limit
            }
            [Segment::Placeholder(PlaceholderSource::Words, filters)] if at.is_in_list => {
                Template::Words(filters.clone())
            }
            _ => {
                let has_separate_words = segments.iter().any(|segment| {
                    matches!(segment, Segment::Placeholder(PlaceholderSource::Words, _))
                });
                if has_separate_words {
                    self.fault(
                        path,
                        "`{words}` is only allowed as an element of a list, [\"{words}\"]: elsewhere write `{keywords}`",
                    );
                }
                Template::Text(Text(segments))
            }
        }
    }

    /// Splits a string into literals and placeholders. `{{query}}` is a literal `{query}`, and all
    /// other braces are literal.
    ///
    /// ```text
    /// about {query|raw}  →  Literal("about "), Placeholder(Query, [Raw])
    /// ```
    fn segments(&mut self, text: &str, path: &str, segments: &mut Vec<Segment>) {
        let mut literal = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            literal.push_str(before);
            rest = after;
            if let Some(quoted) = after.strip_prefix('{')
                && let Some((inner, after)) = quoted.split_once("}}")
                && looks_like_placeholder(inner)
            {
                literal.push('{');
                literal.push_str(inner);
                literal.push('}');
                rest = after;
            } else if let Some((inner, after)) = after.split_once('}')
                && looks_like_placeholder(inner)
            {
                if !literal.is_empty() {
                    segments.push(Segment::Literal(std::mem::take(&mut literal)));
                }
                segments.extend(self.place(inner, path));
                rest = after;
            } else {
                literal.push('{');
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            segments.push(Segment::Literal(literal));
        }
    }

    fn place(&mut self, inner: &str, path: &str) -> Option<Segment> {
        let mut words = inner.split('|');
        let name = words.next().unwrap_or_default();
        let source = PlaceholderSource::ALL
            .iter()
            .find(|(each, _)| *each == name)
            .map(|(_, source)| *source);
        if source.is_none() {
            let names = || PlaceholderSource::ALL.iter().map(|(name, _)| *name);
            let hint = nearest(names(), name).map(|near| format!("did you mean `{{{near}}}`?"));
            let hint = hint.unwrap_or_else(|| {
                let names: Vec<_> = names().map(|name| format!("`{{{name}}}`")).collect();
                format!(
                    "the placeholders are {}; write `{{{{{inner}}}}}` for literal braces",
                    names.join(", ")
                )
            });
            self.fault(path, format!("`{{{name}}}` is unknown: {hint}"));
        }
        let mut filters = Vec::new();
        for name in words {
            match Filter::of(name) {
                Ok(filter) => filters.push(filter),
                Err(fault) => self.fault(path, fault),
            }
        }
        if source == Some(PlaceholderSource::Limit) && !filters.is_empty() {
            self.fault(path, "`{limit}` is a number: it does not accept filters");
        }
        Some(Segment::Placeholder(source?, filters))
    }

    /// Rejects placeholders whose value could escape its context. This matters because a query
    /// comes from a model.
    fn check_placeholders(&mut self, segments: &[Segment], at: &StringContext<'_>) {
        let path = at.path;
        let literal: String = segments
            .iter()
            .map(|segment| match segment {
                Segment::Literal(text) => text.as_str(),
                _ => " ",
            })
            .collect();
        let is_sql = is_sql(&literal);
        let meaning = ArgumentRole::of(at.name, segments);
        let (mut quotes, mut double_quotes) = (0, 0);
        let mut before = String::new();
        for segment in segments {
            let (source, filters) = match segment {
                Segment::Literal(text) => {
                    quotes += if is_sql { text.matches('\'').count() } else { quotes_in(text) };
                    double_quotes += text.matches('"').count();
                    before.push_str(text);
                    continue;
                }
                Segment::Variable { value, .. } => {
                    before.push_str(&value.0);
                    continue;
                }
                Segment::Placeholder(PlaceholderSource::Limit, _) => {
                    before.push('1');
                    continue;
                }
                Segment::Placeholder(source, filters) => (*source, filters),
            };
            let context = PlaceholderContext {
                is_sql,
                role: meaning,
                is_within: quotes % 2 == 1,
                is_within_double: double_quotes % 2 == 1,
                reread_by: shell_word::reread_by(&before),
                is_alone: segments.len() == 1,
            };
            if let Some(problem) = context.problem(source, filters) {
                self.fault(path, problem);
            }
            before.push('x');
        }
    }

    fn fault(&mut self, path: &str, message: impl Into<String>) {
        self.faults.push((path.to_owned(), message.into()));
    }
}

/// The string being parsed.
struct StringContext<'a> {
    path: &'a str,
    /// The name of the argument, or of the list that contains the string.
    name: &'a str,
    is_in_list: bool,
}

/// Returns `true` if a string is certainly SQL, regardless of its layout.
fn is_sql(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let mut words = lower
        .split(|each: char| !each.is_ascii_alphanumeric() && each != '_')
        .filter(|word| !word.is_empty());
    let Some(first) = words.next() else { return false };
    let rest: Vec<_> = words.collect();
    let has = |word: &str| first == word || rest.contains(&word);
    let has_signs = text.contains(['*', '=', '(', ';', '\'']);
    match first {
        "select" => !rest.is_empty() || has_signs,
        _ if has("select") => has("from") || first == "with" || has_signs,
        "values" | "insert" | "update" | "delete" | "replace" | "with" => {
            has_signs && (first == "values" || ["into", "set", "from"].into_iter().any(has))
        }
        _ => false,
    }
}

/// Counts single quotes. Apostrophes as in `don't` do not count.
fn quotes_in(text: &str) -> usize {
    let is_letter = |each: Option<char>| each.is_some_and(char::is_alphabetic);
    let quotes = text.match_indices('\'').filter(|(at, _)| {
        let before = text.get(..*at).and_then(|before| before.chars().next_back());
        let behind = text.get(at + 1..).and_then(|behind| behind.chars().next());
        !(is_letter(before) && is_letter(behind))
    });
    quotes.count()
}
