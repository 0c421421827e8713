//! Measures how well a model can find an operation with the descriptions that it reads.
//!
//! No model is involved. Instead, a simple ranking shows if a shortened description still contains the words that users
//! search for. A better reader finds more, never less.
//!
//! The ranking treats each operation as a document: its name, its description, and the names and descriptions of its
//! parameters and of the fields of its `input`. The rank of a document for a sentence is the sum of two BM25 scores
//! over word stems: that of the name, counted twice, and that of the rest. The verb at the beginning of a name also
//! matches its everyday synonyms. The list of synonyms is the same for both sides.

use std::collections::{BTreeMap, HashMap};

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

    /// Returns the stems of the name's words, and of the synonyms of its verb.
    fn name_stems(&self) -> Vec<String> {
        let verb = self.name.split('_').next().unwrap_or_default();
        let synonyms = SYNONYMS.iter().find(|(known, _)| *known == verb);
        let mut stems = words(&self.name);
        stems.extend(words(synonyms.map_or("", |(_, synonyms)| synonyms)));
        stems.sort_unstable();
        stems.dedup();
        stems
    }
}

/// Synonyms of the verbs in operation names.
const SYNONYMS: [(&str, &str); 5] = [
    ("create", "add new make put open start write enter place record register book file report"),
    ("get", "read show see look open say tell what who where when how much details about"),
    ("list", "all every which what show overview find search any many"),
    (
        "update",
        "change set edit correct move rename raise lower postpone pass another different now",
    ),
    ("delete", "remove cancel drop throw out off take away get rid erase"),
];

/// Words that the ranking ignores.
const STOP_WORDS: &str = "a an the of to in on at it its is are be was i we me my our you your for and \
                          or with by that this as from not do does did has have had still please so \
                          far one them they into up down";

/// Returns the stems of the words in a string, without stop words.
fn words(text: &str) -> Vec<String> {
    text.split(|each: char| !each.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty() && !STOP_WORDS.split_whitespace().any(|stop| stop == word))
        .map(|word| stem(&word))
        .collect()
}

/// Removes the ending of an inflected English word, for example `tries` → `try`.
fn stem(word: &str) -> String {
    for (ending, instead) in
        [("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("e", "")]
    {
        if let Some(stem) = word.strip_suffix(ending)
            && stem.len() >= 3
            && !stem.ends_with('s')
        {
            return format!("{stem}{instead}");
        }
    }
    word.to_owned()
}

fn text_of<'a>(value: &'a Value, member: &str) -> &'a str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

fn found(read: &'static str, documents: &[Document]) -> Found {
    let index = Index::new(documents);
    let ranked = SENTENCES.iter().map(|sentence| index.ranked(sentence.says)).collect::<Vec<_>>();
    count(read, documents, &ranked)
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

/// An index of documents, by their names and by the rest.
struct Index<'a> {
    names: Vec<&'a str>,
    by_name: Field,
    by_text: Field,
}

impl<'a> Index<'a> {
    fn new(documents: &'a [Document]) -> Self {
        Self {
            names: documents.iter().map(|document| document.name.as_str()).collect(),
            by_name: Field::new(documents.iter().map(Document::name_stems), 0.0),
            by_text: Field::new(documents.iter().map(|document| words(&document.text)), 0.75),
        }
    }

    /// Returns the names of the documents with a score above zero, best first. Ties are sorted by name, so that the
    /// result is deterministic.
    fn ranked(&self, sentence: &str) -> Vec<&'a str> {
        let mut asked = words(sentence);
        asked.sort_unstable();
        asked.dedup();
        let scores = self.by_name.scores(&asked).into_iter().zip(self.by_text.scores(&asked));
        let mut scored: Vec<_> = scores
            .zip(&self.names)
            .map(|((name, text), known)| (2.0 * name + text, *known))
            .filter(|(score, _)| *score > 0.0)
            .collect();
        scored.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(right.1)));
        scored.into_iter().map(|(_, name)| name).collect()
    }
}

/// A BM25 index of one string per document.
struct Field {
    /// For each document, the frequency of each stem and the number of all stems.
    texts: Vec<(HashMap<String, f64>, f64)>,
    /// Number of documents that contain a stem.
    spread: HashMap<String, f64>,
    average: f64,
    /// Weight of the length normalization (BM25's parameter `b`).
    length_counts: f64,
}

impl Field {
    fn new(texts: impl Iterator<Item = Vec<String>>, length_counts: f64) -> Self {
        let mut spread = HashMap::new();
        let texts: Vec<_> = texts
            .map(|stems| {
                let mut often = HashMap::new();
                let length = stems.len() as f64;
                for stem in stems {
                    *often.entry(stem).or_insert(0.0) += 1.0;
                }
                for stem in often.keys() {
                    *spread.entry(stem.clone()).or_insert(0.0) += 1.0;
                }
                (often, length)
            })
            .collect();
        let total: f64 = texts.iter().map(|(_, length)| length).sum();
        let average = total / texts.len().max(1) as f64;
        Self { texts, spread, average, length_counts }
    }

    fn scores(&self, asked: &[String]) -> Vec<f64> {
        const SATURATION: f64 = 1.2;
        let count = self.texts.len() as f64;
        let score = |(often, length): &(HashMap<String, f64>, f64)| {
            let relative = 1.0 - self.length_counts + self.length_counts * length / self.average;
            let each = |stem: &String| {
                let often = often.get(stem).copied().unwrap_or_default();
                let with = self.spread.get(stem).copied().unwrap_or_default();
                let rarity = (1.0 + (count - with + 0.5) / (with + 0.5)).ln();
                rarity * often * (SATURATION + 1.0) / (often + SATURATION * relative)
            };
            asked.iter().map(each).sum()
        };
        self.texts.iter().map(score).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_stems_without_filling() {
        assert_eq!(
            words("Which contacts work at the companies?"),
            ["which", "contact", "work", "company"]
        );
        assert_eq!(words("due_date moved, moving"), ["due", "dat", "mov", "mov"]);
    }

    #[test]
    fn the_document_with_the_rare_word_comes_first() {
        let document = |name: &str, text: &str| Document {
            name: name.to_owned(),
            text: text.to_owned(),
            parameters: Vec::new(),
        };
        let documents = [
            document("update_task", "Change a task."),
            document("update_event", "Change an event."),
            document("delete_event", "Call off an event."),
        ];
        let index = Index::new(&documents);
        assert_eq!(index.ranked("call it off").first(), Some(&"delete_event"));
        assert_eq!(index.ranked("Change the event").first(), Some(&"update_event"));
        assert_eq!(index.ranked("nothing known"), Vec::<&str>::new());
    }
}
