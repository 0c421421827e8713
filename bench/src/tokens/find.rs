//! Measures how well a model can find an operation with the descriptions that it reads.
//!
//! No model is involved. Instead, the search of `introspect` shows if a shortened description still contains the words
//! that users search for. A better reader finds more, never less. It treats each operation as a document: its name, its
//! description, and the names and descriptions of its parameters and of the fields of its `input`.

use std::collections::BTreeMap;

use mcp_aql_rank::operations::{OperationDocument, OperationIndex};
use serde_json::Value;

use super::{SENTENCES, Sentence, Texts};
use crate::Result;

/// The results of all sentences with one kind of description.
#[derive(Debug, Clone)]
pub struct Found {
    /// The searched description.
    pub read: &'static str,
    /// Number of sentences whose operation ranks first.
    pub first: usize,
    /// Number of sentences whose operation is among the first three.
    pub in_three: usize,
    /// Number of sentences whose required parameters are all present and described.
    pub parameters: usize,
    /// The sentences whose operation does not rank first, with its rank and the first operation.
    pub misses: Vec<String>,
}

/// The searchable description of an operation.
#[derive(Debug, Default, Clone)]
struct Document {
    name: String,
    text: String,
    /// The described parameters and fields of `input`.
    parameters: Vec<String>,
}

/// The number of results of a search, as in `introspect`.
const HITS: usize = 5;

pub(super) fn all(texts: &Texts) -> Result<Vec<Found>> {
    let nothing_but_list = from_list(&texts.list)?;
    Ok(vec![
        found("the list of operations", &nothing_but_list),
        found("operations in full, with the types of input", &from_details(texts)?),
        found("the list with parameters: true", &from_list(&texts.all_in_brief)?),
        found("discrete tools", &from_tools(&texts.peer_tools)?),
        found_by_search(texts)?,
    ])
}

/// Returns the names of the listed operations, without `introspect`.
pub(super) fn operations(list: &str) -> Result<Vec<String>> {
    Ok(from_list(list)?.into_iter().map(|document| document.name).collect())
}

/// Returns the names of the types of all `input` parameters.
pub(super) fn input_types(details: &BTreeMap<String, String>) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for text in details.values() {
        let reply: Value = serde_json::from_str(text)?;
        names.extend(input_type(&reply).map(str::to_owned));
    }
    Ok(names)
}

/// Returns the type of `input`. Its description has the form `Fields to change (TaskUpdate): …`.
fn input_type(reply: &Value) -> Option<&str> {
    let parameters = reply.pointer("/data/operation/parameters")?.as_array()?;
    let input = parameters.iter().find(|parameter| text_of(parameter, "name") == "input")?;
    let (_, rest) = input.get("description")?.as_str()?.split_once('(')?;
    rest.split_once(')').map(|(name, _)| name)
}

fn from_list(list: &str) -> Result<Vec<Document>> {
    let reply: Value = serde_json::from_str(list)?;
    let entries = reply.pointer("/data/operations").and_then(Value::as_array).ok_or("no list")?;
    let document = |entry: &Value| {
        let text = text_of(entry, "description").to_owned();
        // In a list with parameters, each further line starts with a name. `input` has its fields in braces.
        let mut parameters = Vec::new();
        for line in text.lines().skip(1) {
            let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
            let name = name.trim_end_matches('?');
            if rest.contains(": ") {
                parameters.push(name.to_owned());
            }
            let fields = rest.strip_prefix("{ ").and_then(|rest| rest.split_once(" }"));
            if let Some((fields, _)) = fields.filter(|_| name == "input") {
                let names = fields.split(", ").filter_map(|field| field.split_once(' '));
                parameters.extend(names.map(|(name, _)| name.trim_end_matches('?').to_owned()));
            }
        }
        Document { name: text_of(entry, "name").to_owned(), text, parameters }
    };
    Ok(entries.iter().map(document).filter(|document| document.name != "introspect").collect())
}

fn from_details(texts: &Texts) -> Result<Vec<Document>> {
    let mut documents = Vec::new();
    for (name, details) in &texts.details {
        let reply: Value = serde_json::from_str(details)?;
        let operation = reply.pointer("/data/operation").ok_or("no details")?;
        let mut document = Document {
            name: name.clone(),
            text: text_of(operation, "description").to_owned(),
            parameters: Vec::new(),
        };
        document.add(operation.get("parameters"));
        if let Some(input) = input_type(&reply).and_then(|name| texts.inputs.get(name)) {
            let input: Value = serde_json::from_str(input)?;
            document.add(input.pointer("/data/type/fields"));
        }
        documents.push(document);
    }
    Ok(documents)
}

fn from_tools(tools: &str) -> Result<Vec<Document>> {
    let result: Value = serde_json::from_str(tools)?;
    let tools = result.get("tools").and_then(Value::as_array).ok_or("no tools")?;
    let document = |tool: &Value| {
        let mut document = Document {
            name: text_of(tool, "name").to_owned(),
            text: text_of(tool, "description").to_owned(),
            parameters: Vec::new(),
        };
        let properties = tool.pointer("/inputSchema/properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            document.add_parameter(name, text_of(property, "description"));
        }
        document
    };
    Ok(tools.iter().map(document).collect())
}

impl Document {
    fn add(&mut self, parameters: Option<&Value>) {
        for parameter in parameters.and_then(Value::as_array).into_iter().flatten() {
            self.add_parameter(text_of(parameter, "name"), text_of(parameter, "description"));
        }
    }

    fn add_parameter(&mut self, name: &str, description: &str) {
        self.text.push_str(&format!(" {name} {description}"));
        if !description.is_empty() {
            self.parameters.push(name.to_owned());
        }
    }
}

fn text_of<'a>(value: &'a Value, member: &str) -> &'a str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

fn found(read: &'static str, documents: &[Document]) -> Found {
    let index = OperationIndex::new(
        documents.iter().map(|it| OperationDocument::new(&it.name).description(&it.text)),
    );
    let ranked = |sentence: &Sentence| {
        let hits = index.search(sentence.says, HITS);
        hits.iter().filter_map(|hit| Some(documents.get(hit.operation)?.name.as_str())).collect()
    };
    count(read, documents, &SENTENCES.iter().map(ranked).collect::<Vec<_>>())
}

/// Returns the results of `introspect` with each sentence as its search.
fn found_by_search(texts: &Texts) -> Result<Found> {
    let replies = texts.searched.iter().map(|reply| from_list(reply));
    let replies = replies.collect::<Result<Vec<_>>>()?;
    let names = |reply: &Vec<Document>| reply.iter().map(|it| it.name.clone()).collect();
    let ranked: Vec<Vec<String>> = replies.iter().map(names).collect();
    let ranked: Vec<Vec<&str>> =
        ranked.iter().map(|names| names.iter().map(String::as_str).collect()).collect();
    Ok(count("the result of search", &replies.concat(), &ranked))
}

/// Counts the sentences whose operation is among the ranked ones. The best rank comes first.
fn count(read: &'static str, documents: &[Document], ranked: &[Vec<&str>]) -> Found {
    let mut found = Found { read, first: 0, in_three: 0, parameters: 0, misses: Vec::new() };
    for (sentence, ranked) in SENTENCES.iter().zip(ranked) {
        let place = ranked.iter().position(|name| *name == sentence.operation);
        match place {
            Some(0) => found.first += 1,
            _ => found.misses.push(miss(sentence, place, ranked.first())),
        }
        found.in_three += usize::from(place.is_some_and(|place| place < 3));
        let known = documents.iter().find(|document| document.name == sentence.operation);
        let has =
            |name: &&str| known.is_some_and(|known| known.parameters.iter().any(|it| it == name));
        found.parameters += usize::from(sentence.parameters.iter().all(has));
    }
    found
}

fn miss(sentence: &Sentence, place: Option<usize>, first: Option<&&str>) -> String {
    let place = place.map_or_else(|| "nowhere".to_owned(), |place| format!("at {}", place + 1));
    let first = first.copied().unwrap_or("nothing");
    format!("\"{}\": {} is {place}, behind {first}", sentence.says, sentence.operation)
}
