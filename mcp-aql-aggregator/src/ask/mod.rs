//! What to ask a server: which of its tools, and with what arguments.

mod adapter;
mod discover;
mod filters;
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
    pub(crate) items: Option<String>,
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
    items: Option<String>,
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

/// A call for one query.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlannedCall {
    pub(crate) tool: String,
    pub(crate) arguments: Map<String, Value>,
    /// Where the items are in the answer, if that is known.
    pub(crate) items: Option<String>,
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
}

/// A configured call that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// There is no such tool.
    NoTool { tool: String, instead: Option<String> },
    /// It says that it changes something.
    Writes { tool: String },
    /// Nothing says where the query goes.
    NoArguments { tool: String, takes: String },
    /// The tool asks for more than is configured.
    Lacks { tool: String, argument: String },
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
            Self::NoArguments { tool, takes } => write!(
                formatter,
                "where the query goes is not clear: write `arguments` for `{tool}`, which takes {takes}"
            ),
            Self::Lacks { tool, argument } => {
                write!(formatter, "the tool `{tool}` needs `{argument}`: write it to `arguments`")
            }
        }
    }
}

/// Why there is nothing to ask a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoPlan {
    /// Nothing is configured, and nothing is to be found out.
    Off,
    /// No tool is one for searching that surely changes nothing.
    NoTool,
    /// All that is configured cannot be.
    Configured(Vec<Problem>),
}

impl fmt::Display for NoPlan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => formatter.write_str(
                "no call is configured, and discovery is off: write `aggregator.servers.NAME.calls`",
            ),
            Self::NoTool => formatter.write_str(
                "no tool of it is surely one for searching: name one in `aggregator.servers.NAME.calls`",
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
            return Err(NoPlan::NoTool);
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

    /// The same as [`calls`](Self::calls), to be shown: with variables of the environment as they are written.
    pub(crate) fn sample(&self, query: &str, limit: usize) -> Vec<PlannedCall> {
        let asked = Asked::new(query, limit);
        self.calls.iter().filter_map(|call| call.sample(&asked)).collect()
    }

    /// Which tools are asked, why and with what.
    pub(crate) fn told(&self) -> Vec<Told> {
        self.calls
            .iter()
            .map(|call| Told {
                tool: told_name(&call.tool),
                why: call.why,
                arguments: call.arguments.raw(),
                items: call.items.clone(),
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
        if !template.may_write && discover::says_it_writes(tool) && !adapter::is_door(tool) {
            return Err(Problem::Writes { tool: name() });
        }
        let arguments = match &template.arguments {
            Some(arguments) => {
                let given = arguments.names();
                if let Some(argument) = schema::required(tool).find(|argument| {
                    !given.contains(argument) && !schema::has_default(tool, argument)
                }) {
                    let argument = told_name(argument);
                    return Err(Problem::Lacks { tool: name(), argument });
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
            items: template.items.clone(),
            bounds: Bounds::of(tool, usize::MAX),
            why: Why::Configured,
        })
    }

    fn calls(&self, asked: &Asked<'_>) -> Vec<PlannedCall> {
        self.arguments.fill(asked, &self.bounds).into_iter().map(|it| self.planned(it)).collect()
    }

    fn sample(&self, asked: &Asked<'_>) -> Option<PlannedCall> {
        self.arguments.show(asked, &self.bounds).map(|arguments| self.planned(arguments))
    }

    fn planned(&self, arguments: Map<String, Value>) -> PlannedCall {
        PlannedCall { tool: self.tool.clone(), arguments, items: self.items.clone() }
    }
}

/// A name from a server, as it may be told.
fn told_name(name: &str) -> String {
    crate::text::clean(name).chars().filter(|each| !each.is_control()).take(LONGEST_NAME).collect()
}
