//! Reads judged collections in their usual distribution format: a file of documents, a file of
//! queries, and a file of judgments that lists the relevant documents of each query.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use mcp_aql_bench::Result;

/// A collection: documents, and queries whose relevant documents are known.
#[derive(Debug)]
pub struct Collection {
    /// The display name.
    pub name: &'static str,
    /// The documents.
    pub documents: Vec<String>,
    /// The queries with at least one relevant document.
    pub queries: Vec<Query>,
    /// Pairs of documents with the same content, by index.
    pub copies: HashSet<(usize, usize)>,
}

/// A judged query.
#[derive(Debug)]
pub struct Query {
    /// The query string.
    pub text: String,
    /// Indices of the relevant documents.
    pub relevant: HashSet<usize>,
}

/// The files of a collection, relative to a common folder.
#[derive(Debug, Clone, Copy)]
struct Files {
    name: &'static str,
    documents: &'static str,
    queries: &'static str,
    judgements: &'static str,
    /// The fields of an entry that form the document, for example `W` for the lines after `.W`.
    fields: &'static [char],
    /// If `true`, judgments number the queries from 1 instead of using the numbers in the query file.
    numbered: bool,
    /// Pairs of documents with the same content, by number.
    copies: &'static [(u32, u32)],
}

const CRANFIELD: Files = Files {
    name: "Cranfield",
    documents: "cranfield/cran.all",
    queries: "cranfield/cran.qry",
    judgements: "cranfield/cranqrel",
    // The abstract field includes the title.
    fields: &['W'],
    numbered: true,
    // Both documents are by the same author: NACA's technical note 2137 and its report 1051, "An
    // analysis of base pressure at supersonic speeds [velocities] and comparison with experiment".
    // The report repeats 227 of its 235 words from the note in the same order. Of the other eight, two
    // correct misprints in the note (`anh`, `numger`).
    copies: &[(179, 188)],
};

const CACM: Files = Files {
    name: "CACM",
    documents: "cacm/cacm.all",
    queries: "cacm/query.text",
    judgements: "cacm/qrels.text",
    fields: &['T', 'W'],
    numbered: false,
    copies: &[],
};

impl Collection {
    /// Reads the collection Cranfield: 1,400 abstracts on aerodynamics, 225 queries.
    ///
    /// # Errors
    ///
    /// Returns an error if the files cannot be read.
    pub fn cranfield(folder: &Path) -> Result<Self> {
        Self::read(folder, CRANFIELD)
    }

    /// Reads the collection CACM: 3,204 titles and abstracts on computing, 52 queries.
    ///
    /// # Errors
    ///
    /// Returns an error if the files cannot be read.
    pub fn cacm(folder: &Path) -> Result<Self> {
        Self::read(folder, CACM)
    }

    fn read(folder: &Path, files: Files) -> Result<Self> {
        let file = |name: &str| {
            let path = folder.join(name);
            let bytes =
                std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok::<_, mcp_aql_bench::Error>(String::from_utf8_lossy(&bytes).into_owned())
        };
        let (mut documents, mut places) = (Vec::new(), HashMap::new());
        for (number, fields) in entries(&file(files.documents)?) {
            places.insert(number, documents.len());
            documents.push(text(&fields, files.fields));
        }
        let mut relevant: HashMap<u32, HashSet<usize>> = HashMap::new();
        for line in file(files.judgements)?.lines() {
            let mut columns = line.split_whitespace().map(str::parse::<i64>);
            let (Some(Ok(query)), Some(Ok(document))) = (columns.next(), columns.next()) else {
                continue;
            };
            // Cranfield's third column is a grade. A grade below 1 marks an irrelevant document.
            let refused = files.numbered && matches!(columns.next(), Some(Ok(grade)) if grade < 1);
            let place = u32::try_from(document).ok().and_then(|number| places.get(&number));
            if let (false, Some(place)) = (refused, place) {
                relevant.entry(u32::try_from(query)?).or_default().insert(*place);
            }
        }
        let mut queries = Vec::new();
        for (place, (number, fields)) in entries(&file(files.queries)?).into_iter().enumerate() {
            let number = if files.numbered { u32::try_from(place)? + 1 } else { number };
            if let Some(relevant) = relevant.remove(&number) {
                queries.push(Query { text: text(&fields, &['W']), relevant });
            }
        }
        if queries.is_empty() {
            return Err(format!("{}: no query has an answer", files.name).into());
        }
        let place = |number: &u32| places.get(number).copied();
        let copies = files.copies.iter();
        let copies = copies.filter_map(|(one, other)| Some((place(one)?, place(other)?))).collect();
        Ok(Self { name: files.name, documents, queries, copies })
    }
}

type Fields = BTreeMap<char, String>;

/// Parses entries. Each starts with a line such as `.I 17`, and each of its fields with a line such as `.W`.
fn entries(text: &str) -> Vec<(u32, Fields)> {
    let mut entries: Vec<(u32, Fields)> = Vec::new();
    let mut field = ' ';
    for line in text.lines() {
        if let Some(number) = line.strip_prefix(".I ") {
            entries.push((number.trim().parse().unwrap_or_default(), Fields::new()));
            continue;
        }
        let mut signs = line.trim_end().strip_prefix('.').unwrap_or_default().chars();
        if let (Some(name @ 'A'..='Z'), None) = (signs.next(), signs.next()) {
            field = name;
        } else if let Some((_, fields)) = entries.last_mut() {
            let field = fields.entry(field).or_default();
            field.push_str(line);
            field.push('\n');
        }
    }
    entries
}

fn text(fields: &Fields, wanted: &[char]) -> String {
    wanted.iter().filter_map(|name| fields.get(name)).map(String::as_str).collect()
}
