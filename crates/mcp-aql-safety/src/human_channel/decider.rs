//! Who decides on a request.

use serde::{Deserialize, Serialize};

/// The channel through which a request is decided, and the name of the person, if the channel knows it. The audit log
/// records both, as `decided_by` and `operator`.
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
    /// Sets the name of the person who decides.
    #[must_use]
    pub fn operator(mut self, name: impl Into<String>) -> Self {
        self.operator = Some(name.into());
        self
    }

    /// The name of the channel, such as `console`.
    pub fn channel(&self) -> &str {
        &self.channel
    }

    /// The name of the person, if it is known.
    pub fn name(&self) -> Option<&str> {
        self.operator.as_deref()
    }

    /// A code that was sent to the adapter, and the operator who had it shown, if that is known.
    pub(crate) fn code(reader: Option<String>) -> Self {
        Self { operator: reader, ..Self::from("code") }
    }
}

impl From<&str> for Decider {
    /// Names the channel only.
    fn from(channel: &str) -> Self {
        Self { channel: channel.to_owned(), operator: None }
    }
}
