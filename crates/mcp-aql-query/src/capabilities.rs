//! The query capabilities of a backend.

/// The query capabilities of a backend. Unsupported controls and fields are missing from
/// introspection and rejected by name.
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

    /// Reports an invalid configuration of the backend when the adapter is built.
    #[must_use]
    pub fn with_build_error(mut self, problem: impl Into<String>) -> Self {
        self.problems.push(problem.into());
        self
    }

    /// The problems with the backend's configuration.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Disables text search.
    #[must_use]
    pub fn without_search(mut self) -> Self {
        self.no_search = true;
        self
    }

    /// Passes the search text to a search engine as it was written: a question or a sentence of up
    /// to 10,000 characters, which is not split into words and phrases.
    ///
    /// Find the rows with [`TextQuery::as_written`](super::TextQuery::as_written), and answer with
    /// [`CollectionQuery::run_ranked`](super::CollectionQuery::run_ranked).
    #[must_use]
    pub fn with_free_text(mut self) -> Self {
        self.free_text = true;
        self
    }

    /// Disables aggregates.
    #[must_use]
    pub fn without_aggregate(mut self) -> Self {
        self.no_aggregate = true;
        self
    }

    /// Excludes a field, such as `tags` or `_computed.is_overdue`, from `filter`.
    #[must_use]
    pub fn without_filter(mut self, path: &'static str) -> Self {
        self.no_filter.push(path);
        self
    }

    /// Excludes a field from `sort`.
    #[must_use]
    pub fn without_sort(mut self, path: &'static str) -> Self {
        self.no_sort.push(path);
        self
    }

    /// Excludes a field, and everything inside it, from `fields`.
    #[must_use]
    pub fn without_field(mut self, path: &'static str) -> Self {
        self.no_select.push(path);
        self
    }

    /// Whether text search is supported.
    pub const fn can_search(&self) -> bool {
        !self.no_search
    }

    /// Whether the search text is passed on as it was written.
    pub const fn has_free_text(&self) -> bool {
        self.free_text
    }

    /// Whether aggregates are supported.
    pub const fn can_aggregate(&self) -> bool {
        !self.no_aggregate
    }

    /// Whether `filter` supports this field.
    pub fn can_filter(&self, path: &str) -> bool {
        !self.no_filter.contains(&path)
    }

    /// Whether `sort` supports this field.
    pub fn can_sort(&self, path: &str) -> bool {
        !self.no_sort.contains(&path)
    }

    /// Whether `fields` supports this field.
    pub fn can_select(&self, path: &str) -> bool {
        !self.no_select.iter().any(|known| {
            path.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }
}
