//! The guard: an MCP server that offers only the safety loop. Use it next to servers that act but have no safety loop
//! of their own. Run `cargo run -p guard -- --help`.
//!
//! | file | contents |
//! |---|---|
//! | `arguments.rs` | the command line |
//! | `policy.rs` | the default policy |
//! | `instructions.txt` | the instructions for agents |
//! | `links.rs` | the sign-in links of the operator |

mod arguments;
mod links;
mod policy;

use std::path::Path;

use arguments::{Arguments, GuardCommand};
use mcp_aql::EndpointMode;
use mcp_aql::cli::{Command, Options, clap::Parser as _};
use mcp_aql::operator::{CommandChannel, ConsoleOptions, TerminalChannel};
use mcp_aql::prelude::*;
use mcp_aql::store::SqliteState;

#[tokio::main]
async fn main() -> mcp_aql::Result<()> {
    let arguments = Arguments::parse();
    let state = arguments.state()?;
    let command = match &arguments.command {
        Some(GuardCommand::Console { name }) => return links::print(&state, name.as_deref()),
        Some(GuardCommand::Adapter(command)) => Some(command.as_ref().clone()),
        None => None,
    };
    let mut options = Options::from(command);
    options.json = arguments.json;
    options.log_format = arguments.log_format;
    if options.run_without_adapter::<Arguments>()? {
        return Ok(());
    }
    let adapter = adapter(&arguments, &state, &options);
    adapter.run_command_of::<Arguments>(options).await
}

fn adapter(arguments: &Arguments, state: &Path, options: &Options) -> mcp_aql::Result<Adapter> {
    let console = ConsoleOptions::new()
        .port(arguments.port)
        .state_dir(state)
        .login_command(arguments.login_command())
        .stay_signed_in(arguments.stay_signed_in)
        .audit_log(state.join("audit.jsonl"));
    let mut people = policy::usual().console(console);
    if arguments.terminal {
        people = people.channel(TerminalChannel::new());
    }
    if let Some(program) = &arguments.notify {
        people = people.channel(CommandChannel::new(program, [""; 0]));
    }
    let mut builder = Adapter::builder("guard")
        .version(env!("CARGO_PKG_VERSION"))
        .instructions(include_str!("instructions.txt"))
        .mode(EndpointMode::Single)
        .tool_prefix("guard_")
        .store(SqliteState::open(state.join("state.db")))
        .safety_loop(people);
    // Commands that only inspect the guard, such as `introspect`, must not create files.
    let serves = matches!(options.command, None | Some(Command::Serve { .. }));
    if serves {
        arguments.require_absolute_paths();
    }
    if serves || matches!(options.command, Some(Command::Call { .. })) {
        arguments::make_folder(state)?;
        builder = builder.audit_log(state.join("audit.jsonl"));
    }
    // The agent may have written an `mcp-aql.toml` into the working directory, so the guard does not read it.
    let builder = match &arguments.policy {
        Some(file) => builder.config_file(file),
        None => builder.without_config_file(),
    };
    Ok(builder.build()?)
}
