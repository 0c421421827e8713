//! A collection of tools and labeled questions, in two JSON files.
//!
//! `--tools` is a list of servers:
//!
//! ```json
//! [{
//!   "server": "tasks", "title": "Tasks", "description": "To-do lists of a team",
//!   "tools": [{ "name": "create_task", "description": "Adds a task.", "inputSchema": {} }]
//! }]
//! ```
//!
//! `--questions` is a list of questions with the names of the tools that they need:
//!
//! ```json
//! [{ "question": "Remind me to water the plants", "steps": ["Add a task"], "tools": ["create_task"] }]
//! ```
//!
//! Other members are ignored, and all but `server`, `name` and `question` may be missing or null.

use std::fs::File;
use std::io::BufReader;

use mcp_aql_rank::operations::OperationDocument;
use serde::Deserialize;
use serde_json::Value;

use super::{Paths, Result};

/// Maximum depth of nested objects whose fields are read.
const MAX_DEPTH: usize = 6;

/// The tools and questions.
pub(crate) struct Collection {
    servers: Vec<Server>,
    pub(crate) questions: Vec<Question>,
}

#[derive(Deserialize)]
struct Server {
    server: String,
    title: Option<String>,
    description: Option<String>,
    #[serde(default)]
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
    description: Option<String>,
    #[serde(rename = "inputSchema", default)]
    input_schema: Value,
}

/// A question with its labels.
#[derive(Deserialize)]
pub(crate) struct Question {
    pub(crate) question: String,
    #[serde(default)]
    pub(crate) steps: Vec<String>,
    /// The names of the tools that the question needs.
    #[serde(default)]
    pub(crate) tools: Vec<String>,
}

impl Collection {
    pub(crate) fn read(paths: &Paths) -> Result<Self> {
        Ok(Self {
            servers: serde_json::from_reader(BufReader::new(File::open(&paths.tools)?))?,
            questions: serde_json::from_reader(BufReader::new(File::open(&paths.questions)?))?,
        })
    }

    fn tools(&self) -> impl Iterator<Item = (&Server, &Tool)> {
        self.servers.iter().flat_map(|server| server.tools.iter().map(move |tool| (server, tool)))
    }

    /// Returns the names of all tools, in the order of [`documents`](Self::documents).
    pub(crate) fn names(&self) -> Vec<&str> {
        self.tools().map(|(_, tool)| tool.name.as_str()).collect()
    }

    pub(crate) fn documents(&self) -> Vec<OperationDocument<'_>> {
        self.tools()
            .map(|(server, tool)| {
                let label = server.title.as_deref().unwrap_or(&server.server);
                let group_description = server.description.as_deref().unwrap_or_default();
                let mut document = OperationDocument::new(&tool.name)
                    .group(label, group_description)
                    .description(tool.description.as_deref().unwrap_or_default());
                add_fields(&mut document, &tool.input_schema, 0);
                document
            })
            .collect()
    }
}

/// Adds the properties of an object schema, and those of its properties.
fn add_fields<'a>(document: &mut OperationDocument<'a>, schema: &'a Value, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let description = property.get("description").and_then(Value::as_str).unwrap_or_default();
        document.parameters.push((name, description));
        let values = property.get("enum").and_then(Value::as_array);
        document.values.extend(values.into_iter().flatten().filter_map(Value::as_str));
        add_fields(document, property, depth + 1);
    }
    if let Some(items) = schema.get("items") {
        add_fields(document, items, depth + 1);
    }
}
