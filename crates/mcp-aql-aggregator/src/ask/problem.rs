//! The reasons why a server, or a configured call, cannot be used.

use std::fmt;

use serde_json::Value;

use crate::names::listed;

/// The reason why a configured call cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The server has no such tool.
    NoTool { tool: String, instead: Option<String> },
    /// The tool declares that it changes something.
    Writes { tool: String },
    /// The tool's name sounds as if it changes something, and it is not annotated as read-only.
    MayWrite { tool: String },
    /// The argument for the query is ambiguous.
    NoArguments { tool: String, takes: String },
    /// The tool requires an argument that the configuration does not set.
    Lacks { tool: String, argument: String },
    /// The tool does not know a configured argument.
    Takes { tool: String, argument: String, instead: Option<String> },
}

impl Problem {
    /// Describes the problem without any string from the server, for logs and other clients.
    pub(crate) fn in_brief(&self) -> String {
        match self {
            // The tool's name comes from the configuration.
            Self::NoTool { tool, .. } => format!("the server has no tool `{tool}`"),
            Self::Writes { .. } | Self::MayWrite { .. } => self.to_string(),
            Self::NoArguments { tool, .. } => {
                format!("the argument for the query is ambiguous: write `arguments` for `{tool}`")
            }
            Self::Lacks { tool, .. } => {
                format!("the tool `{tool}` requires an argument that `arguments` lacks")
            }
            Self::Takes { tool, argument, .. } => {
                format!("the tool `{tool}` does not accept `{argument}`")
            }
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTool { tool, instead: None } => {
                write!(formatter, "the server has no tool `{tool}`")
            }
            Self::NoTool { tool, instead: Some(instead) } => {
                write!(formatter, "the server has no tool `{tool}`: {instead}")
            }
            Self::Writes { tool } => write!(
                formatter,
                "the tool `{tool}` declares that it changes something: if the call is safe, add \
                 \"mayWrite\": true to it"
            ),
            Self::MayWrite { tool } => write!(
                formatter,
                "the name of the tool `{tool}` suggests that it changes something, and the tool is not \
                 annotated as read-only: if the call is safe, add \"mayWrite\": true to it"
            ),
            Self::NoArguments { tool, takes } => write!(
                formatter,
                "the argument for the query is ambiguous: write `arguments` for `{tool}`, which accepts {takes}"
            ),
            Self::Lacks { tool, argument } => {
                write!(formatter, "the tool `{tool}` requires `{argument}`: add it to `arguments`")
            }
            Self::Takes { tool, argument, instead: None } => {
                write!(formatter, "the tool `{tool}` does not accept `{argument}`")
            }
            Self::Takes { tool, argument, instead: Some(instead) } => write!(
                formatter,
                "the tool `{tool}` does not accept `{argument}`: did you mean `{instead}`?"
            ),
        }
    }
}

/// The reason why no call can be made on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoPlan {
    /// No call is configured, and discovery is off.
    Off,
    /// Discovery found no search tool that certainly changes nothing.
    NoTool {
        /// The most likely search tool, as a configured call.
        likely_call: Option<Value>,
        /// The names of tools with a string argument.
        text_tools: Vec<String>,
    },
    /// None of the configured calls can be made.
    Configured(Vec<Problem>),
}

impl fmt::Display for NoPlan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => formatter.write_str(
                "no call is configured, and discovery is off: write `aggregator.servers.NAME.calls`",
            ),
            Self::NoTool { likely_call: Some(call), .. } => write!(
                formatter,
                "discovery could not identify a search tool: if this is one, add \"calls\": [{call}] for \
                 this server to `aggregator.servers`",
            ),
            Self::NoTool { text_tools, .. } if text_tools.is_empty() => {
                formatter.write_str("the server has no search tool")
            }
            Self::NoTool { text_tools, .. } => write!(
                formatter,
                "discovery could not identify a search tool: name one in `aggregator.servers.NAME.calls`; \
                 these tools accept a string: {}",
                listed(text_tools.iter().map(String::as_str))
            ),
            Self::Configured(problems) => {
                let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
                formatter.write_str(&problems.join("; "))
            }
        }
    }
}
