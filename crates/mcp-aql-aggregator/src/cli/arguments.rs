//! Command-line arguments.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use mcp_aql_aggregator::plain::{MAX_RESULTS, MIN_RESULTS};

use super::Face;
use super::http::HttpArgs;

/// Query many MCP servers at once and get one ranked answer
#[derive(Debug, Parser)]
#[command(name = "mcp-aql-aggregator", version, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0    done; check: every server works as configured
  1    query: no server answered; check: a server does not work as configured
  3    the command line, the configuration or an address is invalid
  130  query and check: interrupted

Logs go to standard error; MCP_AQL_LOG or RUST_LOG sets the level, for example info or warn,mcp_aql_aggregator=debug.";

const SERVE_EXAMPLES: &str = "\
Examples:
  mcp-aql-aggregator serve --config servers.json
  mcp-aql-aggregator serve --config servers.json --http 127.0.0.1:8787
  mcp-aql-aggregator serve --config servers.json --face mcp-aql";

const QUERY_EXAMPLES: &str = "\
Examples:
  mcp-aql-aggregator query --config servers.json \"how do I pin a version\"
  mcp-aql-aggregator query --config servers.json \"retry policy\" --server docs --json";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve MCP: on standard input and output, or over HTTP
    #[command(after_help = SERVE_EXAMPLES)]
    Serve {
        #[command(flatten)]
        configured: ConfigArgs,
        /// The interface that clients see
        #[arg(long, value_enum, default_value_t = Face::Plain)]
        face: Face,
        #[command(flatten)]
        http: HttpArgs,
    },
    /// Query the servers once and print the results
    #[command(after_help = QUERY_EXAMPLES)]
    Query {
        #[command(flatten)]
        configured: ConfigArgs,
        /// The query
        #[arg(value_name = "TEXT")]
        text: String,
        /// The number of results, 10 to 100; defaults to the configuration's
        #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = results)]
        max_results: Option<usize>,
        /// Query only this server; may be repeated
        #[arg(long = "server", value_name = "NAME")]
        servers: Vec<String>,
        /// Print the JSON that the tool returns
        #[arg(long)]
        json: bool,
    },
    /// Start each server and show its tools, their calls and the parsed answers
    Check {
        #[command(flatten)]
        configured: ConfigArgs,
        /// The query
        #[arg(long, value_name = "TEXT", default_value = "how to begin")]
        query: String,
    },
}

/// The location of the configuration.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// Configuration file: the mcpServers of an MCP client, and optionally an aggregator section
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
}

fn results(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if (MIN_RESULTS..=MAX_RESULTS).contains(&count) => Ok(count),
        _ => Err(format!("write a number from {MIN_RESULTS} to {MAX_RESULTS}")),
    }
}
