//! The command `mcp-aql-generate`: writes the source of an adapter for the tables of an existing database.
#![forbid(unsafe_code)]

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use mcp_aql_generate::{Database, Request, generate};
use mcp_aql_text::visible_lines;

/// Writes the source of an MCP-AQL adapter for the tables of an existing database to standard output.
///
/// Each table with a primary key of one column becomes a resource with ready operations. Comments become
/// descriptions, NOT NULL, lengths and CHECK constraints become constraints of parameters, enums become enums, and
/// foreign keys become references.
#[derive(Debug, Parser)]
#[command(name = "mcp-aql-generate", version)]
struct Arguments {
    /// The database: postgres://user@host/database or sqlite:file.db [default: DATABASE_URL]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// The tables, separated by commas [default: all]
    #[arg(long, value_delimiter = ',', value_name = "TABLES")]
    tables: Vec<String>,
    /// The schema of the tables in PostgreSQL [default: public]
    #[arg(long)]
    schema: Option<String>,
    /// The name of the adapter
    #[arg(long, default_value = "database")]
    name: String,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The message may contain names from the database, so control characters are made visible.
            let error = error.to_string();
            let _ = writeln!(std::io::stderr(), "{}", visible_lines(&error));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let Arguments { database, tables, schema, name } = arguments;
    let database = database.or_else(|| std::env::var("DATABASE_URL").ok());
    let database: Database = database.unwrap_or_default().parse()?;
    let request = Request { database, schema, tables, name };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let generated = runtime.block_on(generate(&request))?;
    for remark in &generated.remarks {
        writeln!(std::io::stderr(), "{remark}")?;
    }
    std::io::stdout().write_all(generated.source.as_bytes())?;
    Ok(())
}
