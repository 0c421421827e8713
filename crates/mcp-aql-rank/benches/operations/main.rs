//! Measures how well and how fast operations are found for questions.
//!
//! ```console
//! $ cargo bench -p mcp-aql-rank
//! $ cargo bench -p mcp-aql-rank -- --tools servers.json --questions tasks.json
//! ```
//!
//! Without options, only the time with 1,000 generated operations is measured. With both, the
//! recall is measured as well. It is the share of all labels among the first 1, 3 and 5 hits for
//! the question, and among those for any of its steps. A label is the name of a tool; a tool of
//! that name counts on any server. See `collection.rs` for the format of the files.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

mod collection;
mod generated;
mod recall;
mod times;

use std::error::Error;
use std::path::PathBuf;

use mcp_aql_rank::operations::OperationIndex;

use collection::Collection;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Number of operations with which the time is measured.
const OPERATIONS: usize = 1_000;

fn main() -> Result<()> {
    let Some(paths) = paths(std::env::args().skip(1))? else {
        let generated = generated::operations(OPERATIONS);
        times::print(
            || OperationIndex::new(generated.iter().map(generated::Operation::document)),
            OPERATIONS,
        );
        return Ok(());
    };
    let collection = Collection::read(&paths)?;
    recall::print(&collection);
    let documents: Vec<_> = collection.documents().into_iter().cycle().take(OPERATIONS).collect();
    times::print(|| OperationIndex::new(documents.iter().cloned()), OPERATIONS);
    Ok(())
}

/// The files of a collection.
struct Paths {
    tools: PathBuf,
    questions: PathBuf,
}

/// Parses the options. `cargo bench` adds `--bench`.
fn paths(mut arguments: impl Iterator<Item = String>) -> Result<Option<Paths>> {
    let (mut tools, mut questions) = (None, None);
    while let Some(option) = arguments.next() {
        let place = match option.as_str() {
            "--bench" => continue,
            "--tools" => &mut tools,
            "--questions" => &mut questions,
            other => {
                return Err(format!("{other} is not an option: use --tools and --questions").into());
            }
        };
        *place = Some(PathBuf::from(arguments.next().ok_or(format!("{option} needs a path"))?));
    }
    match (tools, questions) {
        (Some(tools), Some(questions)) => Ok(Some(Paths { tools, questions })),
        (None, None) => Ok(None),
        _ => Err("--tools and --questions need each other".into()),
    }
}
