//! Argument templates with placeholders for the query.

use std::fmt;

use mcp_aql_client::secrets::is_secret_name;
use serde_json::Value;

use super::filters::Filter;

/// The arguments of a call, from the configuration or from discovery.
///
/// ```json
/// { "pattern": "{keywords|regexOr}", "path": "${HOME}/src", "limit": "{limit}" }
/// ```
#[derive(Debug, Clone, Default)]
pub(crate) struct ArgumentsTemplate(pub(super) Vec<(String, Template)>);

#[derive(Debug, Clone)]
pub(super) enum Template {
    /// A number, a boolean or `null`.
    Plain(Value),
    Text(Text),
    /// `{limit}` alone. It becomes a number.
    Limit,
    /// `{words}` alone in a list. It becomes one string per word.
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

/// A string that must not be logged.
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
            Self::Plain(value) if is_secret_name(name) => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                found.push((name.to_owned(), text));
            }
            Self::Text(Text(segments)) => {
                found.extend(segments.iter().filter_map(|segment| match segment {
                    Segment::Variable { raw, value } => {
                        Some((format!("{name} {raw}"), value.0.clone()))
                    }
                    Segment::Literal(text) if is_secret_name(name) => {
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

    /// Returns the operation named by the template, if it is fixed.
    pub(super) fn operation(&self) -> Option<String> {
        let (_, template) = self.0.iter().find(|(name, _)| name == "operation")?;
        template.raw().as_str().map(str::to_owned)
    }

    /// Returns the names of the arguments.
    pub(super) fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Returns the secrets with their names: the values of environment variables, and values under
    /// names of secrets.
    pub(crate) fn secrets(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        self.0.iter().for_each(|(name, template)| template.secrets(name, &mut found));
        found
    }

    /// Returns the template as the configuration contains it, or could contain it.
    pub(crate) fn raw(&self) -> Value {
        raw_members(&self.0)
    }

    pub(super) fn has_keyword(&self) -> bool {
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

/// Formats a placeholder, for example `{query|regex}`.
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

/// Returns `true` if the content of braces is meant as a placeholder: names separated by bars,
/// without spaces.
pub(super) fn looks_like_placeholder(inner: &str) -> bool {
    const MAX_PLACEHOLDER_BYTES: usize = 100;
    inner.len() <= MAX_PLACEHOLDER_BYTES
        && inner.split('|').all(|word| {
            !word.is_empty() && word.chars().all(|each| each.is_ascii_alphanumeric() || each == '_')
        })
}

/// Escapes a literal for a template.
fn escape(literal: &str) -> String {
    let mut escaped = String::new();
    let mut rest = literal;
    while let Some((before, after)) = rest.split_once('{') {
        escaped.push_str(before);
        escaped.push('{');
        rest = after;
        if let Some((inner, after)) = after.split_once('}')
            && looks_like_placeholder(inner)
        {
            escaped.push('{');
            escaped.push_str(inner);
            escaped.push_str("}}");
            rest = after;
        }
    }
    escaped + rest
}
