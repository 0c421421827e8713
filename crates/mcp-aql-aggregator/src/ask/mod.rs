//! Call plans: which tools to call on a server, and with which arguments.
//!
//! A plan is built from the configured calls, or from the search tools that discovery finds. For
//! each query it returns calls with filled-in arguments:
//!
//! ```json
//! { "tool": "search_docs", "arguments": { "query": "restore a backup", "limit": 30 } }
//! ```

mod adapter;
mod discover;
mod fill;
mod filters;
mod parse;
mod placeholder_context;
mod problem;
mod schema;
mod shell_word;
mod template;
mod vocabulary;

use std::fmt;

use rmcp::model::Tool;
use serde::Serialize;
use serde_json::{Map, Value};

pub(crate) use adapter::AdapterDiscovery;
pub(crate) use problem::{NoPlan, Problem};
pub(crate) use template::ArgumentsTemplate;

use crate::items::ItemLocation;
use crate::names::{listed, nearest};
use fill::QueryValues;
use schema::ArgumentLimits;

/// Maximum number of tools, or operations, that discovery selects per server.
const MAX_TOOLS: usize = 4;
/// Number of results requested when none is configured. More cost time and are seldom better.
const MAX_RESULTS: usize = 30;
/// Maximum length in characters for a name chosen by a server.
const MAX_NAME_CHARS: usize = 100;

/// The tools to call although the configuration does not name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Discovery {
    /// Search tools annotated as read-only.
    Annotated,
    /// Also tools without annotations, if they have the name of a search tool.
    Named,
    /// No tool.
    Off,
}

/// A call from the configuration.
#[derive(Debug, Clone)]
pub(crate) struct CallTemplate {
    pub(crate) tool: String,
    /// The arguments. If `None`, the query goes to the only string argument.
    pub(crate) arguments: Option<ArgumentsTemplate>,
    /// The location of the items in an answer.
    pub(crate) items: ItemLocation,
    /// If `true`, the tool is called even if it declares that it changes something.
    pub(crate) may_write: bool,
}

/// The calls to make on a server for any query.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    calls: Vec<CallPlan>,
    /// Configured calls that cannot be made.
    problems: Vec<Problem>,
}

#[derive(Debug, Clone)]
struct CallPlan {
    tool: String,
    arguments: ArgumentsTemplate,
    /// The arguments for the retry if no call found anything.
    again: Option<ArgumentsTemplate>,
    items: ItemLocation,
    bounds: ArgumentLimits,
    why: Why,
}

/// The reason to call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Why {
    /// The configuration names the tool.
    Configured,
    /// The tool is a search tool annotated as read-only.
    Annotated,
    /// The tool has the name of a search tool.
    Named,
    /// The call is an operation of an MCP-AQL adapter.
    Operation,
}

/// A call for one query. Its `Debug` output omits argument values, because they may be secret.
#[derive(Clone, PartialEq)]
pub(crate) struct PlannedCall {
    pub(crate) tool: String,
    pub(crate) arguments: Map<String, Value>,
    /// The location of the items in the answer, if known.
    pub(crate) items: ItemLocation,
}

impl fmt::Debug for PlannedCall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.arguments.keys().collect();
        write!(formatter, "{}{names:?}", self.tool)
    }
}

/// Describes a call for people. It contains no secrets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct CallDescription {
    pub(crate) tool: String,
    pub(crate) why: Why,
    /// The arguments as the configuration contains them, or could contain them.
    pub(crate) arguments: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) items: Option<String>,
    /// The separator between items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) split: Option<String>,
}

impl Plan {
    /// Builds the plan from the configured calls, or from discovery if there are none.
    pub(crate) fn of(
        tools: &[Tool],
        configured: &[CallTemplate],
        discovery: Discovery,
    ) -> Result<Self, NoPlan> {
        Self::with(tools, configured, discovery, Vec::new())
    }

    /// Builds the plan like [`of`](Self::of), but also with `calls` for the operations of an
    /// adapter.
    fn with(
        tools: &[Tool],
        configured: &[CallTemplate],
        discovery: Discovery,
        mut calls: Vec<CallPlan>,
    ) -> Result<Self, NoPlan> {
        if !configured.is_empty() {
            return Self::configured(tools, configured);
        }
        match discovery {
            Discovery::Off => return Err(NoPlan::Off),
            discovery => calls.extend(discover::calls(tools, discovery)),
        }
        calls.truncate(MAX_TOOLS);
        if calls.is_empty() {
            return Err(NoPlan::NoTool {
                likely_call: discover::likely_call(tools),
                text_tools: discover::text_tools(tools),
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

    /// Returns the calls for a query, each for at most `limit` results.
    pub(crate) fn calls(&self, query: &str, limit: usize) -> Vec<PlannedCall> {
        let asked = QueryValues::new(query, limit);
        self.calls.iter().flat_map(|call| call.calls(&asked)).collect()
    }

    /// Returns the calls to make if none of [`calls`](Self::calls) found anything.
    ///
    /// Some servers search for the query as one phrase. Tools found by discovery are therefore
    /// called again for each word of the query.
    pub(crate) fn again(&self, query: &str, limit: usize) -> Vec<PlannedCall> {
        let asked = QueryValues::new(query, limit);
        if !asked.has_separate_words() {
            return Vec::new();
        }
        self.calls.iter().flat_map(|call| call.again(&asked)).collect()
    }

    /// Returns the calls of [`calls`](Self::calls) and then [`again`](Self::again) for display,
    /// with environment variables unexpanded. Each comes with the index of its tool in
    /// [`describe`](Self::describe).
    pub(crate) fn sample(&self, query: &str, limit: usize) -> Vec<(usize, PlannedCall)> {
        let asked = QueryValues::new(query, limit);
        let calls = || self.calls.iter().enumerate();
        let first = calls().flat_map(|(place, call)| {
            let filled = call.arguments.show(&asked, &call.bounds).into_iter();
            filled.map(move |arguments| (place, call.planned(arguments)))
        });
        let again = calls().filter(|_| asked.has_separate_words()).flat_map(|(place, call)| {
            call.again(&asked).into_iter().map(move |planned| (place, planned))
        });
        first.chain(again).collect()
    }

    /// Describes the calls: the tools, the reasons and the arguments.
    pub(crate) fn describe(&self) -> Vec<CallDescription> {
        self.calls
            .iter()
            .map(|call| CallDescription {
                tool: display_name(&call.tool),
                why: call.why,
                arguments: call.arguments.raw(),
                items: call.items.path.clone(),
                split: call.items.between.as_ref().map(ToString::to_string),
            })
            .collect()
    }

    /// Returns the configured calls that cannot be made.
    pub(crate) fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl CallPlan {
    fn configured(tools: &[Tool], template: &CallTemplate) -> Result<Self, Problem> {
        let name = || display_name(&template.tool);
        let Some(tool) = tools.iter().find(|tool| tool.name == template.tool) else {
            let names = || tools.iter().map(|tool| tool.name.as_ref());
            let near = nearest(names(), &template.tool);
            let instead = match near {
                Some(near) => Some(format!("did you mean `{}`?", display_name(near))),
                None if tools.is_empty() => None,
                None => {
                    Some(format!("the tools are {}", mcp_aql_rank::texts::clean(&listed(names()))))
                }
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
                    let argument = display_name(argument);
                    return Err(Problem::Lacks { tool: name(), argument });
                }
                // A schema need not list every argument, but a misspelled one is still a mistake.
                let is_all = schema::is_closed(tool);
                for argument in &given {
                    if schema::properties(tool).any(|known| known == *argument) {
                        continue;
                    }
                    let others = schema::properties(tool).filter(|known| !given.contains(known));
                    let instead = nearest(others, argument).map(display_name);
                    if is_all || instead.is_some() {
                        let argument = display_name(argument);
                        return Err(Problem::Takes { tool: name(), argument, instead });
                    }
                }
                arguments.clone()
            }
            None => discover::arguments(tool).ok_or_else(|| Problem::NoArguments {
                tool: name(),
                takes: mcp_aql_rank::texts::clean(&listed(schema::properties(tool))).into_owned(),
            })?,
        };
        Ok(Self {
            tool: template.tool.clone(),
            arguments,
            again: None,
            items: template.items.clone(),
            bounds: ArgumentLimits::of(tool, if is_found { MAX_RESULTS } else { usize::MAX }),
            why: Why::Configured,
        })
    }

    fn calls(&self, asked: &QueryValues<'_>) -> Vec<PlannedCall> {
        self.arguments.fill(asked, &self.bounds).into_iter().map(|it| self.planned(it)).collect()
    }

    fn again(&self, asked: &QueryValues<'_>) -> Vec<PlannedCall> {
        let filled = self.again.as_ref().map(|template| template.fill(asked, &self.bounds));
        filled.into_iter().flatten().map(|arguments| self.planned(arguments)).collect()
    }

    fn planned(&self, arguments: Map<String, Value>) -> PlannedCall {
        PlannedCall { tool: self.tool.clone(), arguments, items: self.items.clone() }
    }
}

/// Rejects a configured call that changes something, or could change something.
fn writes(tool: &Tool, template: &CallTemplate) -> Result<(), Problem> {
    // All operations go through the only tool of an adapter, so the operation decides.
    let operation = template
        .arguments
        .as_ref()
        .filter(|_| adapter::is_single_endpoint(tool))
        .and_then(ArgumentsTemplate::operation);
    let is_name = |operation: &String| {
        // A placeholder such as `{query}` would let the caller choose the operation.
        !operation.contains(|each: char| !each.is_ascii_alphanumeric() && each != '_')
    };
    let name = || display_name(&tool.name);
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

/// Cleans and shortens a name from a server for display.
pub(crate) fn display_name(name: &str) -> String {
    mcp_aql_rank::texts::clean(name)
        .chars()
        .filter(|each| !each.is_control())
        .take(MAX_NAME_CHARS)
        .collect()
}

#[cfg(test)]
mod tests;
