//! The error of `AdapterBuilder::build`.

use std::fmt;

/// Lists all problems that prevent an adapter from being built.
///
/// `Display` and `Debug` both print the list, so that `?` in `main` prints it in a readable form.
///
/// ```
/// use mcp_aql::Adapter;
///
/// let error = Adapter::builder("tasks").tool_prefix("Tasks").without_config().build().unwrap_err();
/// assert_eq!(error.problems().len(), 1);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct BuildError {
    pub(crate) problems: Vec<String>,
}

impl BuildError {
    /// Creates the error for a single problem found after the adapter was built.
    #[doc(hidden)]
    pub fn of(problem: impl Into<String>) -> Self {
        Self { problems: vec![problem.into()] }
    }

    /// Returns the problems, one sentence each.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the adapter cannot start:")?;
        for problem in &self.problems {
            // A problem may quote a file written by another person. Escape it, so that it cannot control the terminal,
            // and indent its lines, so that they do not look like further problems.
            let problem = mcp_aql_text::visible_lines(problem).replace('\n', "\n    ");
            write!(formatter, "\n  - {problem}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for BuildError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl std::error::Error for BuildError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_cannot_act_on_a_terminal_or_look_like_several() {
        let error = BuildError::of("`\u{1b}]0;x\u{7}\u{202e}\n  - run this: \r\nx` is unknown");
        assert_eq!(
            error.to_string(),
            "the adapter cannot start:\n  - `<U+001B>]0;x<U+0007><U+202E>\n      - run this: <U+000D>\n    x` \
             is unknown"
        );
    }
}
