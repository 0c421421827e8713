//! The name of an operator in the audit log.

use std::{env, io};

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
                format!("the name of an operator has 1 to {MAX_CHARS} visible characters"),
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
