//! The ids of tasks.

use std::fmt;

/// Maximum length of an execution's id, in bytes.
const MAX_EXECUTION_ID_BYTES: usize = 64;

/// The id of a task. It consists of the id of the execution and the number of the attempt.
///
/// A finished task never changes, but a failed execution may be retried. Therefore each attempt is a separate task.
///
/// ```text
/// exec_7      first attempt
/// exec_7.2    second attempt
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TaskId {
    pub(super) execution: String,
    pub(super) attempt: u32,
}

impl TaskId {
    /// Parses an id. Returns `None` for strings that cannot be the id of a task.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (execution, attempt) = match text.split_once('.') {
            Some((execution, digits)) => {
                let attempt = digits.parse().ok().filter(|attempt| *attempt > 1)?;
                // Reject other spellings of the number, such as `02`, so that each task has a single id.
                (execution, (digits == u32::to_string(&attempt)).then_some(attempt)?)
            }
            None => (text, 1),
        };
        let is_valid = (1..=MAX_EXECUTION_ID_BYTES).contains(&execution.len());
        is_valid.then(|| Self { execution: execution.to_owned(), attempt })
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.execution)?;
        match self.attempt {
            1 => Ok(()),
            attempt => write!(formatter, ".{attempt}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_an_attempt() {
        for (text, execution, attempt) in [
            ("exec_7", "exec_7", 1),
            ("exec_7.2", "exec_7", 2),
            ("exec_7.4294967295", "exec_7", u32::MAX),
        ] {
            let id = TaskId { execution: execution.to_owned(), attempt };
            assert_eq!(TaskId::parse(text), Some(id.clone()), "{text}");
            assert_eq!(id.to_string(), text);
        }
        let long = "e".repeat(MAX_EXECUTION_ID_BYTES + 1);
        for text in [
            "",
            ".2",
            "exec_7.",
            "exec_7.1",
            "exec_7.0",
            "exec_7.02",
            "exec_7.+2",
            "exec_7.2.3",
            &long,
        ] {
            assert_eq!(TaskId::parse(text), None, "{text}");
        }
    }
}
