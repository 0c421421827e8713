//! The person and the channel behind a decision, and the names of people.

use std::{env, io};

use serde::{Deserialize, Serialize};

/// The channel through which a request is decided, and the name of the person if the channel knows it.
///
/// The audit log records both, as `decided_by` and `operator`.
///
/// ```
/// use mcp_aql::operator::Decider;
///
/// let decider = Decider::from("chat").operator("ada");
/// assert_eq!((decider.channel(), decider.name()), ("chat", Some("ada")));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decider {
    channel: String,
    #[serde(default)]
    operator: Option<String>,
}

impl Decider {
    /// Sets the name of the person who decides. Call it if you know the name, so that the audit log contains it.
    #[must_use]
    pub fn operator(mut self, name: impl Into<String>) -> Self {
        self.operator = Some(name.into());
        self
    }

    /// Returns the name of the channel, such as `console`.
    pub fn channel(&self) -> &str {
        &self.channel
    }

    /// Returns the name of the person, if it is known.
    pub fn name(&self) -> Option<&str> {
        self.operator.as_deref()
    }

    /// Creates the decider for a code sent to the adapter. `reader` is the operator to whom the code was shown, if
    /// known.
    pub(crate) fn code(reader: Option<String>) -> Self {
        Self { operator: reader, ..Self::from("code") }
    }
}

impl From<&str> for Decider {
    /// Creates a decider with the name of the channel only.
    fn from(channel: &str) -> Self {
        Self { channel: channel.to_owned(), operator: None }
    }
}

/// The maximum number of characters of a name.
const MAX_CHARS: usize = 64;

/// The name under which an operator signs in to the console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OperatorName(String);

impl OperatorName {
    /// Checks a name. Spaces at both ends are removed.
    pub(crate) fn new(name: &str) -> io::Result<Self> {
        let name = name.trim();
        let hidden = |each: char| mcp_aql_text::is_hidden(each);
        if name.is_empty() || name.chars().count() > MAX_CHARS || name.contains(hidden) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("the name of an operator must have 1 to {MAX_CHARS} visible characters"),
            ));
        }
        Ok(Self(name.to_owned()))
    }

    /// Returns the user account of this process, as named by its environment variables.
    pub(crate) fn of_account() -> Self {
        let names =
            ["USER", "LOGNAME", "USERNAME"].into_iter().filter_map(|name| env::var(name).ok());
        let mut names = names.filter_map(|name| Self::new(&name).ok());
        names.next().unwrap_or_else(|| Self("operator".to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_be_seen() {
        for (name, is_valid) in [
            ("ada", true),
            (" Ada Łovelace ", true),
            ("", false),
            ("  ", false),
            ("a\nb", false),
            ("a\u{202e}b", false),
            (&"x".repeat(64), true),
            (&"x".repeat(65), false),
        ] {
            assert_eq!(OperatorName::new(name).is_ok(), is_valid, "{name:?}");
        }
        assert_eq!(OperatorName::new(" Ada ").unwrap().as_str(), "Ada");
    }
}
