//! What a backend can do of a query.

/// What a backend can do. What it cannot disappears from introspection and is refused by name.
///
/// ```
/// use mcp_aql::query::Capabilities;
///
/// let capabilities = Capabilities::all().without_search().without_sort("title");
/// assert!(!capabilities.can_search());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capabilities {
    no_search: bool,
    free_text: bool,
    no_aggregate: bool,
    no_filter: Vec<&'static str>,
    no_sort: Vec<&'static str>,
    no_select: Vec<&'static str>,
    problems: Vec<String>,
}

impl Capabilities {
    /// Everything that the resource allows.
    pub const fn all() -> Self {
        Self {
            no_search: false,
            free_text: false,
            no_aggregate: false,
            no_filter: Vec::new(),
            no_sort: Vec::new(),
            no_select: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// The backend is set up wrongly; `build()` reports it.
    #[must_use]
    pub fn with_problem(mut self, problem: impl Into<String>) -> Self {
        self.problems.push(problem.into());
        self
    }

    /// What is wrong with the backend.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Words cannot be looked for.
    #[must_use]
    pub fn without_search(mut self) -> Self {
        self.no_search = true;
        self
    }

    /// What is looked for goes to a search engine as it is written: a question, a sentence, of up to 10,000
    /// characters. It is not taken apart into words and phrases.
    ///
    /// Find the rows by [`TextQuery::as_written`](super::TextQuery::as_written), and answer with
    /// [`CollectionQuery::run_found`](super::CollectionQuery::run_found).
    #[must_use]
    pub fn with_free_text(mut self) -> Self {
        self.free_text = true;
        self
    }

    /// Nothing can be counted or added.
    #[must_use]
    pub fn without_aggregate(mut self) -> Self {
        self.no_aggregate = true;
        self
    }

    /// `filter` cannot name this field, such as `tags` or `_computed.is_overdue`.
    #[must_use]
    pub fn without_filter(mut self, path: &'static str) -> Self {
        self.no_filter.push(path);
        self
    }

    /// `sort` cannot name this field.
    #[must_use]
    pub fn without_sort(mut self, path: &'static str) -> Self {
        self.no_sort.push(path);
        self
    }

    /// `fields` cannot name this field, or anything inside of it.
    #[must_use]
    pub fn without_field(mut self, path: &'static str) -> Self {
        self.no_select.push(path);
        self
    }

    /// Whether words can be looked for.
    pub const fn can_search(&self) -> bool {
        !self.no_search
    }

    /// Whether what is looked for is taken as it is written.
    pub const fn has_free_text(&self) -> bool {
        self.free_text
    }

    /// Whether rows can be counted and added.
    pub const fn can_aggregate(&self) -> bool {
        !self.no_aggregate
    }

    /// Whether `filter` can name this field.
    pub fn can_filter(&self, path: &str) -> bool {
        !self.no_filter.contains(&path)
    }

    /// Whether `sort` can name this field.
    pub fn can_sort(&self, path: &str) -> bool {
        !self.no_sort.contains(&path)
    }

    /// Whether `fields` can name this field.
    pub fn can_select(&self, path: &str) -> bool {
        !self.no_select.iter().any(|known| {
            path.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }
}
