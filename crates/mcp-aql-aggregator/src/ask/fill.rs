//! Fills argument templates with the values of a query.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::filters::{Filter, FilterInput, unlike_option};
use super::schema::ArgumentLimits;
use super::template::{ArgumentsTemplate, PlaceholderSource, Segment, Template, Text};

/// Maximum number of calls for `{keyword}`.
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
        for word in mcp_aql_rank::texts::content_words(query) {
            if !word.is_empty() && !keywords.contains(&word) {
                keywords.push(word);
            }
        }
        if keywords.is_empty() && !query.is_empty() {
            keywords.push(query.to_owned());
        }
        Self { query: query.into(), keywords, limit }
    }

    /// Returns `true` if searching for the words one by one differs from searching for the whole
    /// query.
    pub(super) fn has_separate_words(&self) -> bool {
        self.keywords.len() > 1
            || self.keywords.iter().any(|word| !word.eq_ignore_ascii_case(&self.query))
    }

    /// Returns the words to search for one by one. The longest come first, because they are the
    /// most specific.
    fn single(&self) -> Vec<&str> {
        let mut words: Vec<&str> = self.keywords.iter().map(String::as_str).collect();
        words.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
        words.truncate(MAX_KEYWORDS);
        words
    }

    /// Keeps the first `words` words, for an argument too short for the whole query.
    fn shorter(&self, words: usize) -> QueryValues<'q> {
        let query = self.query.split_whitespace().take(words).collect::<Vec<_>>().join(" ");
        let keywords = self.keywords.iter().take(words).cloned().collect();
        QueryValues { query: query.into(), keywords, limit: self.limit }
    }

    /// Keeps the first `chars` characters, for a query without spaces or an argument too short for
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

impl ArgumentsTemplate {
    /// Returns the arguments of each call. Most templates make one call; `{keyword}` makes several:
    ///
    /// ```text
    /// { "query": "{keyword}" }, "restore a backup"  →  { "query": "restore" }, { "query": "backup" }
    /// ```
    ///
    /// A value too long for its argument is shortened to fewer words.
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
}

/// The state of filling in one template.
struct TemplateFiller<'f> {
    asked: &'f QueryValues<'f>,
    bounds: &'f ArgumentLimits,
    is_shown: bool,
}

impl TemplateFiller<'_> {
    /// Returns `None` if a string does not fit even when it is shortened to one character.
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
        // Keep as many words as fit. If not even one does, keep as many of its characters as fit.
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

/// Returns the result of `make` for the largest number below `above` that has one. This is a binary
/// search: if a number has no result, no larger one may have one.
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
