//! What to ask a server: which of its tools, and with what arguments.

mod adapter;
mod discover;
mod filters;
mod parse;
mod schema;
mod template;
#[cfg(test)]
mod tests;

use std::fmt;

use rmcp::model::Tool;
use serde::Serialize;
use serde_json::{Map, Value};

pub(crate) use adapter::Learning;
pub(crate) use template::ArgumentsTemplate;

use crate::config::{Discovery, ServerSettings, listed, nearest};
use crate::items::Places;
use schema::Bounds;
use template::Asked;

/// So many tools, or operations, of a server are asked without being configured.
const MOST_TOOLS: usize = 4;
/// So many results are asked for where nobody configured how many: more cost time, and are seldom better.
const MOST_RESULTS: usize = 30;
/// So much of a name from a server is told.
const LONGEST_NAME: usize = 100;

/// A call as the configuration has it.
#[derive(Debug, Clone)]
pub(crate) struct CallTemplate {
    pub(crate) tool: String,
    /// None: the query for the one argument that is a text.
    pub(crate) arguments: Option<ArgumentsTemplate>,
    /// Where the items are in an answer.
    pub(crate) items: Places,
    /// The tool is called even if it says that it changes something.
    pub(crate) may_write: bool,
}

/// What a server is asked, whatever the query.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    calls: Vec<CallPlan>,
    /// What was configured and cannot be.
    problems: Vec<Problem>,
}

#[derive(Debug, Clone)]
struct CallPlan {
    tool: String,
    arguments: ArgumentsTemplate,
    /// What is asked where nothing was found.
    again: Option<ArgumentsTemplate>,
    items: Places,
    bounds: Bounds,
    why: Why,
}

/// Why a tool is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Why {
    /// The configuration names it.
    Configured,
    /// It is for searching, and says that it only reads.
    Annotated,
    /// It is called like one for searching.
    Named,
    /// It is an operation of an MCP-AQL adapter.
    Operation,
}

/// A call for one query. Its `Debug` shows no values: they may be secret.
#[derive(Clone, PartialEq)]
pub(crate) struct PlannedCall {
    pub(crate) tool: String,
    pub(crate) arguments: Map<String, Value>,
    /// Where the items are in the answer, as far as that is known.
    pub(crate) items: Places,
}

impl fmt::Debug for PlannedCall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.arguments.keys().collect();
        write!(formatter, "{}{names:?}", self.tool)
    }
}

/// What a plan says of itself. Nothing secret is in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Told {
    pub(crate) tool: String,
    pub(crate) why: Why,
    /// As it is written in the configuration, or could be.
    pub(crate) arguments: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) items: Option<String>,
    /// What is between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) split: Option<String>,
}

/// A configured call that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// There is no such tool.
    NoTool { tool: String, instead: Option<String> },
    /// It says that it changes something.
    Writes { tool: String },
    /// It is called as if it changed something, and does not say that it only reads.
    MayWrite { tool: String },
    /// Nothing says where the query goes.
    NoArguments { tool: String, takes: String },
    /// The tool asks for more than is configured.
    Lacks { tool: String, argument: String },
    /// The tool would not know what to do with an argument, or ignore it.
    Takes { tool: String, argument: String, instead: Option<String> },
}

impl Problem {
    /// The same without any word of the server: for logs, and for whoever else looks.
    pub(crate) fn in_brief(&self) -> String {
        match self {
            Self::NoTool { tool, .. } => format!("the server has no tool `{tool}`"),
            Self::Writes { .. } | Self::MayWrite { .. } => self.to_string(),
            Self::NoArguments { tool, .. } => {
                format!("where the query goes is not clear: write `arguments` for `{tool}`")
            }
            Self::Lacks { tool, .. } => {
                format!("the tool `{tool}` needs more than is written to `arguments`")
            }
            Self::Takes { tool, argument, .. } => {
                format!("the tool `{tool}` takes no `{argument}`")
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
                "the tool `{tool}` says that it changes something: write \"mayWrite\": true beside it \
                 if that does no harm"
            ),
            Self::MayWrite { tool } => write!(
                formatter,
                "the tool `{tool}` is called as if it changed something, and does not say that it only \
                 reads: write \"mayWrite\": true beside it if it does no harm"
            ),
            Self::NoArguments { tool, takes } => write!(
                formatter,
                "where the query goes is not clear: write `arguments` for `{tool}`, which takes {takes}"
            ),
            Self::Lacks { tool, argument } => {
                write!(formatter, "the tool `{tool}` needs `{argument}`: write it to `arguments`")
            }
            Self::Takes { tool, argument, instead: None } => {
                write!(formatter, "the tool `{tool}` takes no `{argument}`")
            }
            Self::Takes { tool, argument, instead: Some(instead) } => write!(
                formatter,
                "the tool `{tool}` takes no `{argument}`: did you mean `{instead}`?"
            ),
        }
    }
}

/// Why there is nothing to ask a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoPlan {
    /// Nothing is configured, and nothing is to be found out.
    Off,
    /// No tool is one for searching that surely changes nothing.
    NoTool {
        /// What may be one, as a configuration would have it.
        maybe: Option<Value>,
        /// These take a text, and could be named.
        takers: Vec<String>,
    },
    /// All that is configured cannot be.
    Configured(Vec<Problem>),
}

impl fmt::Display for NoPlan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => formatter.write_str(
                "no call is configured, and discovery is off: write `aggregator.servers.NAME.calls`",
            ),
            Self::NoTool { maybe: Some(call), .. } => write!(
                formatter,
                "no tool of it is surely one for searching; if this one is, write \"calls\": [{call}] for \
                 this server into `aggregator.servers`",
            ),
            Self::NoTool { takers, .. } if takers.is_empty() => {
                formatter.write_str("no tool of it is one for searching")
            }
            Self::NoTool { takers, .. } => write!(
                formatter,
                "no tool of it is surely one for searching: name one in \
                 `aggregator.servers.NAME.calls`; a text is taken by {}",
                listed(takers.iter().map(String::as_str))
            ),
            Self::Configured(problems) => {
                let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
                formatter.write_str(&problems.join("; "))
            }
        }
    }
}

impl Plan {
    /// What the configuration names; else what discovery finds among the tools.
    pub(crate) fn of(
        tools: &[Tool],
        server: &ServerSettings,
        discovery: Discovery,
    ) -> Result<Self, NoPlan> {
        Self::with(tools, server, discovery, Vec::new())
    }

    /// The same, with the operations of an adapter that were learnt of.
    fn with(
        tools: &[Tool],
        server: &ServerSettings,
        discovery: Discovery,
        mut calls: Vec<CallPlan>,
    ) -> Result<Self, NoPlan> {
        if !server.calls.is_empty() {
            return Self::configured(tools, &server.calls);
        }
        match server.discovery.unwrap_or(discovery) {
            Discovery::Off => return Err(NoPlan::Off),
            discovery => calls.extend(discover::calls(tools, discovery)),
        }
        calls.truncate(MOST_TOOLS);
        if calls.is_empty() {
            return Err(NoPlan::NoTool {
                maybe: discover::maybe(tools),
                takers: discover::takers(tools),
            });
        }
        Ok(Self { calls, problems: Vec::new() })
    }

    fn configured(tools: &[Tool], templates: &[CallTemplate]) -> Result<Self, NoPlan> {
        let mut calls = Vec::new();
        let mut problems = Vec::new();
        for template in templates {
            match CallPlan::configured(tools, template) {
                Ok(call) => calls.push(call),
                Err(problem) => problems.push(problem),
            }
        }
        if calls.is_empty() {
            Err(NoPlan::Configured(problems))
        } else {
            Ok(Self { calls, problems })
        }
    }

    /// The calls for a query, each for at most so many results.
    pub(crate) fn calls(&self, query: &str, limit: usize) -> Vec<PlannedCall> {
        let asked = Asked::new(query, limit);
        self.calls.iter().flat_map(|call| call.calls(&asked)).collect()
    }

    /// The calls to make where all of [`calls`](Self::calls) found nothing: some servers look for the query
    /// as it stands, so tools that discovery has found are asked for its words one by one.
    pub(crate) fn again(&self, query: &str, limit: usize) -> Vec<PlannedCall> {
        let asked = Asked::new(query, limit);
        if !asked.has_words() {
            return Vec::new();
        }
        self.calls.iter().flat_map(|call| call.again(&asked)).collect()
    }

    /// What [`calls`](Self::calls) and then [`again`](Self::again) give, to be shown: with variables of the
    /// environment as they are written. Each with the place of its tool in [`told`](Self::told).
    pub(crate) fn sample(&self, query: &str, limit: usize) -> Vec<(usize, PlannedCall)> {
        let asked = Asked::new(query, limit);
        let calls = || self.calls.iter().enumerate();
        let first = calls().flat_map(|(place, call)| {
            let filled = call.arguments.show(&asked, &call.bounds).into_iter();
            filled.map(move |arguments| (place, call.planned(arguments)))
        });
        let again = calls().filter(|_| asked.has_words()).flat_map(|(place, call)| {
            call.again(&asked).into_iter().map(move |planned| (place, planned))
        });
        first.chain(again).collect()
    }

    /// Which tools are asked, why and with what.
    pub(crate) fn told(&self) -> Vec<Told> {
        self.calls
            .iter()
            .map(|call| Told {
                tool: told_name(&call.tool),
                why: call.why,
                arguments: call.arguments.raw(),
                items: call.items.path.clone(),
                split: call.items.between.as_ref().map(ToString::to_string),
            })
            .collect()
    }

    /// What is configured and cannot be.
    pub(crate) fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl CallPlan {
    fn configured(tools: &[Tool], template: &CallTemplate) -> Result<Self, Problem> {
        let name = || told_name(&template.tool);
        let Some(tool) = tools.iter().find(|tool| tool.name == template.tool) else {
            let names = || tools.iter().map(|tool| tool.name.as_ref());
            let near = nearest(names(), &template.tool);
            let instead = match near {
                Some(near) => Some(format!("did you mean `{}`?", told_name(near))),
                None if tools.is_empty() => None,
                None => Some(format!("there are {}", crate::text::clean(&listed(names())))),
            };
            return Err(Problem::NoTool { tool: name(), instead });
        };
        if !template.may_write {
            writes(tool, template)?;
        }
        let is_found = template.arguments.is_none();
        let arguments = match &template.arguments {
            Some(arguments) => {
                let given = arguments.names();
                if let Some(argument) = schema::required(tool).find(|argument| {
                    !given.contains(argument) && !schema::has_default(tool, argument)
                }) {
                    let argument = told_name(argument);
                    return Err(Problem::Lacks { tool: name(), argument });
                }
                // A schema need not tell all that a tool takes, but what is misspelt is not among it.
                let is_all = schema::is_closed(tool);
                for argument in &given {
                    if schema::properties(tool).any(|known| known == *argument) {
                        continue;
                    }
                    let others = schema::properties(tool).filter(|known| !given.contains(known));
                    let instead = nearest(others, argument).map(told_name);
                    if is_all || instead.is_some() {
                        let argument = told_name(argument);
                        return Err(Problem::Takes { tool: name(), argument, instead });
                    }
                }
                arguments.clone()
            }
            None => discover::arguments(tool).ok_or_else(|| Problem::NoArguments {
                tool: name(),
                takes: crate::text::clean(&listed(schema::properties(tool))).into_owned(),
            })?,
        };
        Ok(Self {
            tool: template.tool.clone(),
            arguments,
            again: None,
            items: template.items.clone(),
            bounds: Bounds::of(tool, if is_found { MOST_RESULTS } else { usize::MAX }),
            why: Why::Configured,
        })
    }

    fn calls(&self, asked: &Asked<'_>) -> Vec<PlannedCall> {
        self.arguments.fill(asked, &self.bounds).into_iter().map(|it| self.planned(it)).collect()
    }

    fn again(&self, asked: &Asked<'_>) -> Vec<PlannedCall> {
        let filled = self.again.as_ref().map(|template| template.fill(asked, &self.bounds));
        filled.into_iter().flatten().map(|arguments| self.planned(arguments)).collect()
    }

    fn planned(&self, arguments: Map<String, Value>) -> PlannedCall {
        PlannedCall { tool: self.tool.clone(), arguments, items: self.items.clone() }
    }
}

/// What speaks against a configured call: that it changes something, as far as anything tells.
fn writes(tool: &Tool, template: &CallTemplate) -> Result<(), Problem> {
    // Through the one tool of an adapter everything is done: there, the operation tells.
    let operation = template
        .arguments
        .as_ref()
        .filter(|_| adapter::is_single_door(tool))
        .and_then(ArgumentsTemplate::operation);
    let is_name = |operation: &String| {
        // Not `{query}`: whoever asks would choose what is done.
        !operation.contains(|each: char| !each.is_ascii_alphanumeric() && each != '_')
    };
    let name = || told_name(&tool.name);
    match operation.filter(is_name) {
        Some(operation) if discover::sounds_changing(&operation) => {
            Err(Problem::Writes { tool: name() })
        }
        Some(_) => Ok(()),
        None if discover::says_it_writes(tool) => Err(Problem::Writes { tool: name() }),
        None if discover::may_change(tool) => Err(Problem::MayWrite { tool: name() }),
        None => Ok(()),
    }
}

/// A name from a server, as it may be told.
pub(crate) fn told_name(name: &str) -> String {
    crate::text::clean(name).chars().filter(|each| !each.is_control()).take(LONGEST_NAME).collect()
}
