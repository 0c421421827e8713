//! Arguments of a call, with places for the query.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::filters::{Filled, Filter};
use super::schema::Bounds;
use crate::config::{Piece, Variables, nearest, pieces};

/// So many calls for `{keyword}`.
const MOST_KEYWORDS: usize = 4;

/// What a query is made of, for templates.
pub(super) struct Asked<'q> {
    query: Cow<'q, str>,
    keywords: Vec<String>,
    limit: usize,
}

impl<'q> Asked<'q> {
    pub(super) fn new(query: &'q str, limit: usize) -> Self {
        let query = query.trim();
        let mut keywords = Vec::new();
        for word in crate::text::content_words(query) {
            if !word.is_empty() && !keywords.contains(&word) {
                keywords.push(word);
            }
        }
        if keywords.is_empty() && !query.is_empty() {
            keywords.push(query.to_owned());
        }
        Self { query: query.into(), keywords, limit }
    }

    /// The words that are asked for one by one, the longest first: they tell the most.
    fn single(&self) -> Vec<&str> {
        let mut words: Vec<&str> = self.keywords.iter().map(String::as_str).collect();
        words.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
        words.truncate(MOST_KEYWORDS);
        words
    }

    /// The same with so many words of the beginning, for what would not fit.
    fn shorter(&self, words: usize) -> Asked<'q> {
        let query = self.query.split_whitespace().take(words).collect::<Vec<_>>().join(" ");
        let keywords = self.keywords.iter().take(words).cloned().collect();
        Asked { query: query.into(), keywords, limit: self.limit }
    }

    /// So many words make the whole.
    fn words(&self) -> usize {
        self.query.split_whitespace().count().max(self.keywords.len())
    }
}

/// The arguments of a call as the configuration has them, or as discovery makes them.
#[derive(Debug, Clone, Default)]
pub(crate) struct ArgumentsTemplate(Vec<(String, Template)>);

#[derive(Debug, Clone)]
enum Template {
    /// A number, a truth value, `null`.
    Plain(Value),
    Text(Text),
    /// `{limit}` alone: a number.
    Limit,
    /// `{words}` alone in a list: a string each.
    Words(Vec<Filter>),
    List(Vec<Template>),
    Members(Vec<(String, Template)>),
}

#[derive(Debug, Clone)]
struct Text(Vec<Segment>);

#[derive(Debug, Clone)]
enum Segment {
    Literal(String),
    /// From the environment: perhaps a secret, so that `raw` is shown.
    Variable {
        raw: String,
        value: String,
    },
    Place(Source, Vec<Filter>),
}

/// What is put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Query,
    Keywords,
    Keyword,
    Words,
    Limit,
}

impl Source {
    const ALL: [(&'static str, Self); 5] = [
        ("query", Self::Query),
        ("keywords", Self::Keywords),
        ("keyword", Self::Keyword),
        ("words", Self::Words),
        ("limit", Self::Limit),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, each)| *each == self).map_or("", |(name, _)| name)
    }
}

/// Where in the arguments, and what is wrong there.
pub(crate) type TemplateFault = (String, String);

impl ArgumentsTemplate {
    /// Reads `arguments` of the configuration.
    pub(crate) fn read(
        value: &Value,
        variables: Variables<'_>,
    ) -> Result<Self, Vec<TemplateFault>> {
        let mut reading = Reading { variables, faults: Vec::new() };
        let members = match value {
            Value::Object(members) => reading.members(members, ""),
            _ => Vec::new(),
        };
        if reading.faults.is_empty() { Ok(Self(members)) } else { Err(reading.faults) }
    }

    /// The query for one argument, and what else is given.
    pub(super) fn of_query(argument: &str) -> Self {
        Self(vec![(argument.to_owned(), Template::Text(Text::query()))])
    }

    /// The query for one element of a list.
    pub(super) fn of_words(argument: &str) -> Self {
        Self(vec![(argument.to_owned(), Template::List(vec![Template::Words(Vec::new())]))])
    }

    /// An operation of an MCP-AQL adapter, with its parameters.
    pub(super) fn of_operation(operation: &str, params: Self) -> Self {
        Self(vec![
            ("operation".to_owned(), Template::Plain(operation.into())),
            ("params".to_owned(), Template::Members(params.0)),
        ])
    }

    pub(super) fn with_limit(mut self, argument: &str) -> Self {
        self.0.push((argument.to_owned(), Template::Limit));
        self
    }

    pub(super) fn with_text(mut self, argument: &str, text: &str) -> Self {
        self.0.push((argument.to_owned(), Template::Plain(text.into())));
        self
    }

    /// The names of the arguments.
    pub(super) fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// The arguments of each call, one for most templates. What is too long is asked with fewer words.
    pub(super) fn fill(&self, asked: &Asked<'_>, bounds: &Bounds) -> Vec<Map<String, Value>> {
        let filling = Filling { asked, bounds, is_shown: false };
        if self.has_keyword() {
            asked.single().into_iter().filter_map(|word| filling.arguments(self, word)).collect()
        } else {
            filling.arguments(self, "").into_iter().collect()
        }
    }

    /// The first call, with variables of the environment as they are written.
    pub(super) fn show(&self, asked: &Asked<'_>, bounds: &Bounds) -> Option<Map<String, Value>> {
        let filling = Filling { asked, bounds, is_shown: true };
        filling.arguments(self, asked.single().first().copied().unwrap_or_default())
    }

    /// As it is written in the configuration, or would be.
    pub(super) fn raw(&self) -> Value {
        raw_members(&self.0)
    }

    fn has_keyword(&self) -> bool {
        self.0.iter().any(|(_, template)| template.has_keyword())
    }
}

impl Template {
    fn has_keyword(&self) -> bool {
        match self {
            Self::Text(text) => {
                text.0.iter().any(|segment| matches!(segment, Segment::Place(Source::Keyword, _)))
            }
            Self::List(items) => items.iter().any(Self::has_keyword),
            Self::Members(members) => members.iter().any(|(_, member)| member.has_keyword()),
            Self::Plain(_) | Self::Limit | Self::Words(_) => false,
        }
    }

    fn raw(&self) -> Value {
        match self {
            Self::Plain(value) => value.clone(),
            Self::Text(text) => text.raw().into(),
            Self::Limit => "{limit}".into(),
            Self::Words(filters) => place(Source::Words, filters).into(),
            Self::List(items) => items.iter().map(Self::raw).collect(),
            Self::Members(members) => raw_members(members),
        }
    }
}

fn raw_members(members: &[(String, Template)]) -> Value {
    let members = members.iter().map(|(name, template)| (name.clone(), template.raw()));
    Value::Object(members.collect())
}

fn place(source: Source, filters: &[Filter]) -> String {
    let mut place = format!("{{{}", source.name());
    for filter in filters {
        place.push('|');
        place.push_str(filter.name());
    }
    place + "}"
}

impl Text {
    fn query() -> Self {
        Self(vec![Segment::Place(Source::Query, Vec::new())])
    }

    fn raw(&self) -> String {
        self.0
            .iter()
            .map(|segment| match segment {
                // What looks like a place is written with two braces.
                Segment::Literal(text) => escape(text),
                Segment::Variable { raw, .. } => raw.clone(),
                Segment::Place(source, filters) => place(*source, filters),
            })
            .collect()
    }
}

/// Arguments in the making.
struct Filling<'f> {
    asked: &'f Asked<'f>,
    bounds: &'f Bounds,
    is_shown: bool,
}

impl Filling<'_> {
    /// None where a text does not fit, however short.
    fn arguments(&self, template: &ArgumentsTemplate, word: &str) -> Option<Map<String, Value>> {
        self.members(&template.0, word, &mut Vec::new())
    }

    fn members<'t>(
        &self,
        members: &'t [(String, Template)],
        word: &str,
        path: &mut Vec<&'t str>,
    ) -> Option<Map<String, Value>> {
        let mut filled = Map::new();
        for (name, template) in members {
            path.push(name);
            filled.insert(name.clone(), self.value(template, word, path)?);
            path.pop();
        }
        Some(filled)
    }

    fn value<'t>(
        &self,
        template: &'t Template,
        word: &str,
        path: &mut Vec<&'t str>,
    ) -> Option<Value> {
        Some(match template {
            Template::Plain(value) => value.clone(),
            Template::Text(text) => self.text(text, word, self.bounds.longest(path))?.into(),
            Template::Limit => self.bounds.limit(path, self.asked.limit).into(),
            Template::Words(filters) => self.words(filters).into(),
            Template::List(items) => {
                let mut list = Vec::new();
                for item in items {
                    match item {
                        Template::Words(filters) => {
                            list.extend(self.words(filters).into_iter().map(Value::from));
                        }
                        _ => list.push(self.value(item, word, path)?),
                    }
                }
                list.into()
            }
            Template::Members(members) => self.members(members, word, path)?.into(),
        })
    }

    fn words(&self, filters: &[Filter]) -> Vec<String> {
        let words = self.asked.keywords.iter();
        words.map(|word| unlike_option(Filter::run(filters, Filled::Text(word)))).collect()
    }

    fn text(&self, text: &Text, word: &str, longest: Option<usize>) -> Option<String> {
        let whole = self.fill(text, self.asked, word);
        let Some(longest) = longest else { return Some(whole) };
        let fits = |text: &String| text.chars().count() <= longest;
        if fits(&whole) {
            return Some(whole);
        }
        // The most words that still fit.
        let (mut few, mut many) = (0, self.asked.words());
        while few + 1 < many {
            let middle = few.midpoint(many);
            if fits(&self.fill(text, &self.asked.shorter(middle), word)) {
                few = middle;
            } else {
                many = middle;
            }
        }
        if few > 0 {
            return Some(self.fill(text, &self.asked.shorter(few), word));
        }
        // Not one word fits. A part of it, if there is no filter that a cut could break.
        match text.0.as_slice() {
            [Segment::Place(_, filters)] if filters.is_empty() && longest > 0 => {
                Some(whole.chars().take(longest).collect())
            }
            _ => None,
        }
    }

    fn fill(&self, text: &Text, asked: &Asked<'_>, word: &str) -> String {
        let mut filled = String::new();
        for (number, segment) in text.0.iter().enumerate() {
            match segment {
                Segment::Literal(literal) => filled.push_str(literal),
                Segment::Variable { raw, value } => {
                    filled.push_str(if self.is_shown { raw } else { value });
                }
                Segment::Place(source, filters) => {
                    let put = match source {
                        Source::Query => Filter::run(filters, Filled::Text(&asked.query)),
                        Source::Keyword => Filter::run(filters, Filled::Text(word)),
                        Source::Keywords | Source::Words => {
                            Filter::run(filters, Filled::Words(&asked.keywords))
                        }
                        Source::Limit => asked.limit.to_string(),
                    };
                    filled.push_str(&if number == 0 { unlike_option(put) } else { put });
                }
            }
        }
        filled
    }
}

/// Tools hand what they get to programs, which would take `-x` for an option.
fn unlike_option(text: String) -> String {
    let plain = text.trim_start_matches(|each: char| each == '-' || each.is_whitespace());
    match plain {
        _ if !text.starts_with('-') => text,
        "" => format!(" {text}"),
        _ => plain.to_owned(),
    }
}

/// Reads templates and collects what is wrong with them.
struct Reading<'v> {
    variables: Variables<'v>,
    faults: Vec<TemplateFault>,
}

impl Reading<'_> {
    fn members(&mut self, members: &Map<String, Value>, path: &str) -> Vec<(String, Template)> {
        members
            .iter()
            .map(|(name, value)| {
                (name.clone(), self.template(value, &format!("{path}.{name}"), false))
            })
            .collect()
    }

    fn template(&mut self, value: &Value, path: &str, is_in_list: bool) -> Template {
        match value {
            Value::String(text) => self.string(text, path, is_in_list),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                Template::List(
                    items
                        .map(|(place, item)| self.template(item, &format!("{path}[{place}]"), true))
                        .collect(),
                )
            }
            Value::Object(members) => Template::Members(self.members(members, path)),
            Value::Null | Value::Bool(_) | Value::Number(_) => Template::Plain(value.clone()),
        }
    }

    fn string(&mut self, text: &str, path: &str, is_in_list: bool) -> Template {
        let mut segments = Vec::new();
        for piece in pieces(text) {
            match piece {
                Piece::Text(text) => self.segments(text, path, &mut segments),
                Piece::Variable { raw, .. } | Piece::Foreign { raw } => {
                    match piece.value(self.variables) {
                        Ok(value) => {
                            segments.push(Segment::Variable { raw: raw.to_owned(), value });
                        }
                        Err(fault) => self.fault(path, fault),
                    }
                }
            }
        }
        self.judge_sql(&segments, path);
        match segments.as_slice() {
            [Segment::Place(Source::Limit, filters)] if filters.is_empty() => Template::Limit,
            [Segment::Place(Source::Words, filters)] if is_in_list => {
                Template::Words(filters.clone())
            }
            _ => {
                let has_words = segments
                    .iter()
                    .any(|segment| matches!(segment, Segment::Place(Source::Words, _)));
                if has_words {
                    self.fault(
                        path,
                        "`{words}` stands alone in a list, [\"{words}\"]: elsewhere write `{keywords}`",
                    );
                }
                Template::Text(Text(segments))
            }
        }
    }

    /// The places in a text. `{{query}}` stands for `{query}`, and all other braces for themselves.
    fn segments(&mut self, text: &str, path: &str, segments: &mut Vec<Segment>) {
        let mut literal = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            literal.push_str(before);
            rest = after;
            if let Some(quoted) = after.strip_prefix('{')
                && let Some((inner, after)) = quoted.split_once("}}")
                && looks_like_place(inner)
            {
                literal.push('{');
                literal.push_str(inner);
                literal.push('}');
                rest = after;
            } else if let Some((inner, after)) = after.split_once('}')
                && looks_like_place(inner)
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
        let source = Source::ALL.iter().find(|(each, _)| *each == name).map(|(_, source)| *source);
        if source.is_none() {
            let names = || Source::ALL.iter().map(|(name, _)| *name);
            let hint = nearest(names(), name).map(|near| format!("did you mean `{{{near}}}`?"));
            let hint = hint.unwrap_or_else(|| {
                let names: Vec<_> = names().map(|name| format!("`{{{name}}}`")).collect();
                format!(
                    "there are {}; write `{{{{{inner}}}}}` for these very braces",
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
        if source == Some(Source::Limit) && !filters.is_empty() {
            self.fault(path, "`{limit}` is a number: it takes no filter");
        }
        Some(Segment::Place(source?, filters))
    }

    /// A query comes from a model: in SQL it must not get out of its quotes.
    fn judge_sql(&mut self, segments: &[Segment], path: &str) {
        let is_sql = matches!(segments.first(), Some(Segment::Literal(text)) if {
            let word = text.trim_start().split(|each: char| !each.is_ascii_alphabetic()).next();
            word.is_some_and(|word| {
                ["select", "with", "from", "call", "exec", "explain", "values"]
                    .contains(&word.to_ascii_lowercase().as_str())
                    && text.trim_start().len() > word.len()
            })
        });
        let mut quotes = 0;
        for segment in segments {
            match segment {
                Segment::Literal(text) => quotes += text.matches('\'').count(),
                Segment::Variable { .. } | Segment::Place(Source::Limit, _) => {}
                Segment::Place(source, filters) => {
                    let is_quoted = filters.last() == Some(&Filter::SqlString);
                    if is_quoted && quotes % 2 == 0 {
                        self.fault(
                            path,
                            format!(
                                "`sqlString` is for between single quotes: write '{}'",
                                place(*source, filters)
                            ),
                        );
                    }
                    if is_sql && !is_quoted {
                        let mut filters = filters.clone();
                        filters.push(Filter::SqlString);
                        self.fault(
                            path,
                            format!(
                                "a query in SQL could end its quotes: write '{}'",
                                place(*source, &filters)
                            ),
                        );
                    }
                }
            }
        }
    }

    fn fault(&mut self, path: &str, message: impl Into<String>) {
        self.faults.push((path.to_owned(), message.into()));
    }
}

/// Whether this, between braces, is meant as a place: names with bars between them, without a blank.
fn looks_like_place(inner: &str) -> bool {
    const LONGEST: usize = 100;
    inner.len() <= LONGEST
        && inner.split('|').all(|word| {
            !word.is_empty() && word.chars().all(|each| each.is_ascii_alphanumeric() || each == '_')
        })
}

/// A literal as a template has it.
fn escape(literal: &str) -> String {
    let mut escaped = String::new();
    let mut rest = literal;
    while let Some((before, after)) = rest.split_once('{') {
        escaped.push_str(before);
        escaped.push('{');
        rest = after;
        if let Some((inner, after)) = after.split_once('}')
            && looks_like_place(inner)
        {
            escaped.push('{');
            escaped.push_str(inner);
            escaped.push_str("}}");
            rest = after;
        }
    }
    escaped + rest
}
