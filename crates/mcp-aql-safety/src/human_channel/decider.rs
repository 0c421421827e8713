//! The person and the channel behind a decision.

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
