//! Argument templates with placeholders for the query.

use std::borrow::Cow;
use std::fmt;

use serde_json::{Map, Value};

use super::filters::{Filter, FilterInput, unlike_option};
use super::parse::escape;
use super::schema::ArgumentLimits;
use crate::secret::sounds_secret;

/// The maximum number of calls for `{keyword}`.
const MAX_KEYWORDS: usize = 4;

/// The values of a query that templates insert.
pub(super) struct QueryValues<'q> {
    query: Cow<'q, str>,
    keywords: Vec<String>,
    limit: usize,
}

impl<'q> QueryValues<'q> {
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

    /// Returns whether searching for the words one by one differs from searching for the whole
    /// query.
    pub(super) fn has_separate_words(&self) -> bool {
        self.keywords.len() > 1
            || self.keywords.iter().any(|word| !word.eq_ignore_ascii_case(&self.query))
    }

    /// Returns the words to search for one by one, the longest first, because they are the most
    /// specific.
    fn single(&self) -> Vec<&str> {
        let mut words: Vec<&str> = self.keywords.iter().map(String::as_str).collect();
        words.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
        words.truncate(MAX_KEYWORDS);
        words
    }

    /// Keeps the first `words` words, for an argument that the whole query does not fit.
    fn shorter(&self, words: usize) -> QueryValues<'q> {
        let query = self.query.split_whitespace().take(words).collect::<Vec<_>>().join(" ");
        let keywords = self.keywords.iter().take(words).cloned().collect();
        QueryValues { query: query.into(), keywords, limit: self.limit }
    }

    /// Keeps the first `chars` characters, for a query without blanks or an argument too short for
    /// one word.
    fn prefix(&self, chars: usize) -> QueryValues<'q> {
        let cut = |text: &str| text.chars().take(chars).collect::<String>();
        let keywords = self.keywords.first().map(|word| cut(word)).into_iter().collect();
        QueryValues { query: cut(&self.query).into(), keywords, limit: self.limit }
    }

    /// Returns the number of words of the whole query.
    fn words(&self) -> usize {
        self.query.split_whitespace().count().max(self.keywords.len())
    }
}

/// The arguments of a call, from the configuration or from discovery.
#[derive(Debug, Clone, Default)]
pub(crate) struct ArgumentsTemplate(pub(super) Vec<(String, Template)>);

#[derive(Debug, Clone)]
pub(super) enum Template {
    /// A number, a boolean or `null`.
    Plain(Value),
    Text(Text),
    /// `{limit}` alone, which becomes a number.
    Limit,
    /// `{words}` alone in a list, which becomes one string per word.
    Words(Vec<Filter>),
    List(Vec<Template>),
    Members(Vec<(String, Template)>),
}

#[derive(Debug, Clone)]
pub(super) struct Text(pub(super) Vec<Segment>);

#[derive(Debug, Clone)]
pub(super) enum Segment {
    Literal(String),
    /// The value of an environment variable. It may be secret, so `raw` is displayed instead.
    Variable {
        raw: String,
        value: Secret,
    },
    Placeholder(PlaceholderSource, Vec<Filter>),
}

/// A text that is never logged.
#[derive(Clone)]
pub(super) struct Secret(pub(super) String);

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

/// The value that a placeholder inserts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlaceholderSource {
    Query,
    Keywords,
    Keyword,
    Words,
    Limit,
}

impl PlaceholderSource {
    pub(super) const ALL: [(&'static str, Self); 5] = [
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

impl Template {
    fn secrets(&self, name: &str, found: &mut Vec<(String, String)>) {
        match self {
            Self::Plain(value) if sounds_secret(name) => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                found.push((name.to_owned(), text));
            }
            Self::Text(Text(segments)) => {
                found.extend(segments.iter().filter_map(|segment| match segment {
                    Segment::Variable { raw, value } => {
                        Some((format!("{name} {raw}"), value.0.clone()))
                    }
                    Segment::Literal(text) if sounds_secret(name) => {
                        Some((name.to_owned(), text.clone()))
                    }
                    Segment::Literal(_) | Segment::Placeholder(..) => None,
                }));
            }
            Self::List(items) => items.iter().for_each(|item| item.secrets(name, found)),
            Self::Members(members) => {
                members.iter().for_each(|(name, member)| member.secrets(name, found));
            }
            Self::Plain(_) | Self::Limit | Self::Words(_) => {}
        }
    }
}

impl ArgumentsTemplate {
    /// Creates arguments that pass the query as one argument.
    pub(super) fn of_query(argument: &str) -> Self {
        Self(vec![(argument.to_owned(), Template::Text(Text::query()))])
    }

    /// Creates arguments that pass one keyword per call.
    pub(super) fn of_keyword(argument: &str) -> Self {
        let place = Segment::Placeholder(PlaceholderSource::Keyword, Vec::new());
        Self(vec![(argument.to_owned(), Template::Text(Text(vec![place])))])
    }

    /// Creates arguments that pass the keywords as a list.
    pub(super) fn of_words(argument: &str) -> Self {
        Self(vec![(argument.to_owned(), Template::List(vec![Template::Words(Vec::new())]))])
    }

    /// Creates arguments that call an operation of an MCP-AQL adapter.
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

    /// Returns the operation that the template names, if it is fixed.
    pub(super) fn operation(&self) -> Option<String> {
        let (_, template) = self.0.iter().find(|(name, _)| name == "operation")?;
        template.raw().as_str().map(str::to_owned)
    }

    /// Returns the names of the arguments.
    pub(super) fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Returns the secret texts with their names: the values of environment variables, and values
    /// under names of secrets.
    pub(crate) fn secrets(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        self.0.iter().for_each(|(name, template)| template.secrets(name, &mut found));
        found
    }

    /// Returns the arguments of each call; most templates make one. A value that is too long is
    /// shortened to fewer words.
    pub(super) fn fill(
        &self,
        asked: &QueryValues<'_>,
        bounds: &ArgumentLimits,
    ) -> Vec<Map<String, Value>> {
        self.filled(&TemplateFiller { asked, bounds, is_shown: false })
    }

    /// Returns the same arguments with environment variables unexpanded.
    pub(super) fn show(
        &self,
        asked: &QueryValues<'_>,
        bounds: &ArgumentLimits,
    ) -> Vec<Map<String, Value>> {
        self.filled(&TemplateFiller { asked, bounds, is_shown: true })
    }

    fn filled(&self, filling: &TemplateFiller<'_>) -> Vec<Map<String, Value>> {
        if self.has_keyword() {
            let words = filling.asked.single().into_iter();
            words.filter_map(|word| filling.arguments(self, word)).collect()
        } else {
            filling.arguments(self, "").into_iter().collect()
        }
    }

    /// Returns the template as the configuration contains it or could contain it.
    pub(crate) fn raw(&self) -> Value {
        raw_members(&self.0)
    }

    fn has_keyword(&self) -> bool {
        self.0.iter().any(|(_, template)| template.has_keyword())
    }
}

impl Template {
    fn has_keyword(&self) -> bool {
        match self {
            Self::Text(text) => text.0.iter().any(|segment| {
                matches!(segment, Segment::Placeholder(PlaceholderSource::Keyword, _))
            }),
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
            Self::Words(filters) => place(PlaceholderSource::Words, filters).into(),
            Self::List(items) => items.iter().map(Self::raw).collect(),
            Self::Members(members) => raw_members(members),
        }
    }
}

fn raw_members(members: &[(String, Template)]) -> Value {
    let members = members.iter().map(|(name, template)| (name.clone(), template.raw()));
    Value::Object(members.collect())
}

/// Formats a placeholder.
pub(super) fn place(source: PlaceholderSource, filters: &[Filter]) -> String {
    let mut place = format!("{{{}", source.name());
    for filter in filters {
        place.push('|');
        place.push_str(filter.name());
    }
    place + "}"
}

impl Text {
    fn query() -> Self {
        Self(vec![Segment::Placeholder(PlaceholderSource::Query, Vec::new())])
    }

    fn raw(&self) -> String {
        self.0
            .iter()
            .map(|segment| match segment {
                // A literal that looks like a placeholder is written with doubled braces.
                Segment::Literal(text) => escape(text),
                Segment::Variable { raw, .. } => raw.clone(),
                Segment::Placeholder(source, filters) => place(*source, filters),
            })
            .collect()
    }
}

/// The state of filling in one template.
struct TemplateFiller<'f> {
    asked: &'f QueryValues<'f>,
    bounds: &'f ArgumentLimits,
    is_shown: bool,
}

impl TemplateFiller<'_> {
    /// Returns `None` if a text does not fit even when it is shortened to one character.
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
        words.map(|word| unlike_option(Filter::run(filters, FilterInput::Text(word)))).collect()
    }

    fn text(&self, text: &Text, word: &str, longest: Option<usize>) -> Option<String> {
        let whole = self.fill(text, self.asked, word);
        let Some(longest) = longest else { return Some(whole) };
        let fits = |text: &String| text.chars().count() <= longest;
        if fits(&whole) {
            return Some(whole);
        }
        // Keep as many words as fit, or else as many characters of the first one.
        let asked = self.asked;
        let by_words = most(asked.words(), |words| {
            Some(self.fill(text, &asked.shorter(words), word)).filter(fits)
        });
        let longest_word = asked.query.chars().count().max(word.chars().count());
        by_words.or_else(|| {
            most(longest_word + 1, |chars| {
                let word: String = word.chars().take(chars).collect();
                Some(self.fill(text, &asked.prefix(chars), &word)).filter(fits)
            })
        })
    }

    fn fill(&self, text: &Text, asked: &QueryValues<'_>, word: &str) -> String {
        let mut filled = String::new();
        for (number, segment) in text.0.iter().enumerate() {
            match segment {
                Segment::Literal(literal) => filled.push_str(literal),
                Segment::Variable { raw, value } => {
                    filled.push_str(if self.is_shown { raw } else { &value.0 });
                }
                Segment::Placeholder(source, filters) => {
                    let put = match source {
                        PlaceholderSource::Query => {
                            Filter::run(filters, FilterInput::Text(&asked.query))
                        }
                        PlaceholderSource::Keyword => Filter::run(filters, FilterInput::Text(word)),
                        PlaceholderSource::Keywords | PlaceholderSource::Words => {
                            Filter::run(filters, FilterInput::Words(&asked.keywords))
                        }
                        PlaceholderSource::Limit => asked.limit.to_string(),
                    };
                    filled.push_str(&if number == 0 { unlike_option(put) } else { put });
                }
            }
        }
        filled
    }
}

/// Returns the result of `make` for the largest number below `above` that has one. If a number has
/// none, no larger one has.
fn most<T>(above: usize, make: impl Fn(usize) -> Option<T>) -> Option<T> {
    let (mut few, mut many) = (0, above);
    let mut found = None;
    while few + 1 < many {
        let middle = few.midpoint(many);
        match make(middle) {
            Some(made) => (few, found) = (middle, Some(made)),
            None => many = middle,
        }
    }
    found
}
