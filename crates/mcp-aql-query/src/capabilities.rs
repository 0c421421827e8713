//! Limits the queries of a backend.

/// The query capabilities of a backend.
///
/// Use this if your database or search engine cannot answer every query that the resource allows. Unsupported
/// controls and fields are omitted from introspection, and requests that use them are rejected with an error
/// that names them.
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
    /// Supports everything that the resource allows.
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

    /// Adds a configuration problem of the backend. It is reported when the adapter is built.
    #[must_use]
    pub fn with_build_error(mut self, problem: impl Into<String>) -> Self {
        self.problems.push(problem.into());
        self
    }

    /// Returns the problems with the backend's configuration.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Disables text search.
    #[must_use]
    pub fn without_search(mut self) -> Self {
        self.no_search = true;
        self
    }

    /// Passes the search string to your search engine unchanged instead of splitting it into words and
    /// phrases. The caller can then send a question or a sentence of up to 10,000 characters.
    ///
    /// Search with [`TextQuery::as_written`](super::TextQuery::as_written), and answer with
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

    /// Excludes a field and everything inside it from `fields`.
    #[must_use]
    pub fn without_field(mut self, path: &'static str) -> Self {
        self.no_select.push(path);
        self
    }

    /// Returns `true` if text search is supported.
    pub const fn can_search(&self) -> bool {
        !self.no_search
    }

    /// Returns `true` if the search string is passed on unchanged.
    pub const fn has_free_text(&self) -> bool {
        self.free_text
    }

    /// Returns `true` if aggregates are supported.
    pub const fn can_aggregate(&self) -> bool {
        !self.no_aggregate
    }

    /// Returns `true` if `filter` supports this field.
    pub fn can_filter(&self, path: &str) -> bool {
        !self.no_filter.contains(&path)
    }

    /// Returns `true` if `sort` supports this field.
    pub fn can_sort(&self, path: &str) -> bool {
        !self.no_sort.contains(&path)
    }

    /// Returns `true` if `fields` supports this field.
    pub fn can_select(&self, path: &str) -> bool {
        !self.no_select.iter().any(|known| {
            path.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }
}
