//! Prints the entry for a client's configuration file with which the client starts this adapter.
//!
//! ```json
//! { "mcpServers": { "tasks": { "command": "/usr/local/bin/tasks", "args": [] } } }
//! ```

use std::any::TypeId;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use mcp_aql_core::{Adapter, Result};

use super::safety::mode_variables;

/// The clients whose configuration format is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfigFormat {
    /// Claude Desktop and Claude Code.
    Claude,
    /// Cursor.
    Cursor,
    /// Visual Studio Code.
    Vscode,
}

impl ConfigFormat {
    const fn file(self) -> &'static str {
        match self {
            Self::Claude => {
                "claude_desktop_config.json (Claude Desktop) or .mcp.json (Claude Code)"
            }
            Self::Cursor => "~/.cursor/mcp.json or .cursor/mcp.json",
            Self::Vscode => ".vscode/mcp.json",
        }
    }
}

/// The prefixes of environment variables that the adapter reads. They are repeated in the entry, because clients start
/// servers with few variables.
const READ_PREFIXES: [&str; 2] = ["MCP_AQL_", "OTEL_"];
/// Other environment variables that the adapter reads: the log filter, and the directories of configuration and state.
/// If you add a variable without one of the prefixes, add its name here.
const READ_VARIABLES: [&str; 3] = ["RUST_LOG", "XDG_CONFIG_HOME", "XDG_STATE_HOME"];
/// This variable has no use in the entry, because a client starts the adapter on standard input and output.
const UNUSED_VARIABLE: &str = "MCP_AQL_HTTP_ADDRESS";

/// Collects the environment variables to repeat in the entry.
fn forwarded_variables(
    variables: impl Iterator<Item = (String, String)>,
    adapter: &Adapter,
) -> Map<String, Value> {
    let modes = mode_variables(adapter);
    let is_forwarded = |name: &str, value: &str| match modes.contains(&name) {
        // The entry is permanent, so it must never disable the safety loop.
        true => value == "enforcing",
        false => {
            name != UNUSED_VARIABLE
                && !name.ends_with("_SAFETY_LOOP")
                && (READ_VARIABLES.contains(&name)
                    || READ_PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
        }
    };
    let set = variables.filter(|(name, value)| !value.is_empty() && is_forwarded(name, value));
    set.map(|(name, value)| (name, value.into())).collect()
}

/// Returns the environment variables of this process whose names and values are valid Unicode.
fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Prints the entry to paste into the client's configuration file.
pub(super) fn run(adapter: &Adapter, format: ConfigFormat, parser: &clap::Command) -> Result {
    // The path must be absolute, because the client starts the adapter in another working directory.
    let command = std::env::current_exe()?;
    let given = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned());
    let set = forwarded_variables(variables(), adapter);
    let here = std::env::current_dir()?;
    let args = options(given, parser, &here);
    let command = command.to_string_lossy();
    let config = config(format, adapter.name(), &command, &args, set);
    let text = serde_json::to_string_pretty(&config).unwrap_or_default();
    writeln!(std::io::stdout(), "{text}")?;
    if std::io::stdout().is_terminal() {
        writeln!(std::io::stderr(), "\nMerge this into {}.", format.file())?;
        if format == ConfigFormat::Claude {
            let call: Vec<_> =
                std::iter::once(&*command).chain(args.iter().map(String::as_str)).collect();
            writeln!(
                std::io::stderr(),
                "Or run: claude mcp add {} -- {}",
                adapter.name(),
                call.join(" ")
            )?;
        }
    }
    if cfg!(debug_assertions) {
        let advice = "This program is a slow debug build, and cargo may replace it: build with `--release` or run \
                      `cargo install --path .`, and print the entry with that program.";
        writeln!(std::io::stderr(), "{advice}")?;
    }
    Ok(())
}

fn config(
    format: ConfigFormat,
    name: &str,
    command: &str,
    args: &[String],
    set: Map<String, Value>,
) -> Value {
    let mut server = Map::new();
    if format == ConfigFormat::Vscode {
        server.insert("type".to_owned(), "stdio".into());
    }
    server.insert("command".to_owned(), command.into());
    server.insert("args".to_owned(), args.into());
    if !set.is_empty() {
        server.insert("env".to_owned(), set.into());
    }
    match format {
        ConfigFormat::Claude | ConfigFormat::Cursor => json!({ "mcpServers": { name: server } }),
        ConfigFormat::Vscode => json!({ "servers": { name: server } }),
    }
}

/// Returns the options before and after `config claude`. Relative paths become absolute, because the client starts the
/// adapter in another working directory.
fn options(
    mut given: impl Iterator<Item = String>,
    parser: &clap::Command,
    here: &Path,
) -> Vec<String> {
    let known = |flag: &str| {
        parser.get_arguments().find(|option| match flag.strip_prefix("--") {
            Some(long) => {
                let aliases = option.get_all_aliases().unwrap_or_default();
                option.get_long() == Some(long) || aliases.contains(&long)
            }
            None => option.get_short().is_some_and(|short| flag == format!("-{short}")),
        })
    };
    let mut options = Vec::new();
    while let Some(arg) = given.next() {
        if !arg.starts_with('-') {
            // This is `config` or the name of the client.
            continue;
        }
        let (flag, value) = match arg.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (arg.as_str(), None),
        };
        let option = known(flag);
        if flag == "--json" {
            continue;
        }
        let names_a_path = option
            .is_some_and(|option| option.get_value_parser().type_id() == TypeId::of::<PathBuf>());
        let placed = |value: &str| {
            let path = here.join(value);
            if names_a_path || !value.is_empty() && path.exists() {
                path.display().to_string()
            } else {
                value.to_owned()
            }
        };
        match value {
            Some(value) => options.push(format!("{flag}={}", placed(value))),
            None => {
                options.push(arg.clone());
                if option.is_some_and(|option| option.get_action().takes_values()) {
                    options.extend(given.next().map(|value| placed(&value)));
                }
            }
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_aql_safety::WithSafetyLoop as _;

    #[test]
    fn each_client_has_its_form() {
        let set: Map<_, _> = [("A".to_owned(), Value::from("b"))].into_iter().collect();
        let args = ["--db".to_owned()];
        assert_eq!(
            config(ConfigFormat::Cursor, "tasks", "/bin/tasks", &args, set),
            json!({ "mcpServers": { "tasks":
                { "command": "/bin/tasks", "args": ["--db"], "env": { "A": "b" } } } })
        );
        assert_eq!(
            config(ConfigFormat::Vscode, "tasks", "/bin/tasks", &[], Map::new()),
            json!({ "servers": { "tasks":
                { "type": "stdio", "command": "/bin/tasks", "args": [] } } })
        );
    }

    #[cfg(feature = "safety")]
    #[test]
    fn the_entry_never_takes_the_brake_off() {
        use mcp_aql_safety::operator::MemoryChannel;
        use mcp_aql_safety::safety_loop::SafetyLoop;

        let builder = || Adapter::builder("guard").without_config();
        let plain = builder().build().unwrap();
        let guard = builder()
            .safety_loop(SafetyLoop::new().channel(MemoryChannel::default()))
            .store(mcp_aql_core::store::MemoryState::default())
            .build()
            .unwrap();
        for (adapter, mode, captured) in [
            (&guard, "disabled", false),
            (&guard, "monitoring", false),
            (&guard, "enforcing", true),
            (&guard, "", false),
            (&plain, "enforcing", false),
        ] {
            let variables = [
                ("MCPAQL_SAFETY_LOOP", mode),
                ("MCP_AQL_TOOL_PREFIX", "my_"),
                ("MCP_AQL_RESULT_BUDGET", "70000"),
                ("MCP_AQL_HTTP_ADDRESS", "127.0.0.1:1"),
                ("MCP_AQL_SAFETY_LOOP", "disabled"),
                ("MCP_AQL_LOG_FORMAT", ""),
                ("OTEL_SERVICE_NAME", "guard"),
                ("RUST_LOG", "debug"),
                ("PATH", "/bin"),
            ];
            let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let mut forwarded = forwarded_variables(variables.into_iter(), adapter);
            assert_eq!(forwarded.remove("MCPAQL_SAFETY_LOOP").is_some(), captured, "{mode}");
            assert_eq!(
                Value::from(forwarded),
                json!({
                    "MCP_AQL_TOOL_PREFIX": "my_", "MCP_AQL_RESULT_BUDGET": "70000",
                    "OTEL_SERVICE_NAME": "guard", "RUST_LOG": "debug",
                })
            );
        }
    }

    #[test]
    fn options_stay_with_their_paths_from_the_root() {
        use clap::{Arg, ArgAction, value_parser};

        let parser = clap::Command::new("tasks")
            .arg(
                Arg::new("db")
                    .long("db")
                    .alias("database")
                    .short('d')
                    .value_parser(value_parser!(PathBuf)),
            )
            .arg(Arg::new("level").long("level"))
            .arg(Arg::new("loud").long("loud").action(ArgAction::SetTrue));
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let there = |name: &str| here.join(name).display().to_string();
        let (new, cargo) = (there("new.db"), there("Cargo.toml"));
        for (given, captured) in [
            ("--db new.db config claude", format!("--db {new}")),
            ("config claude -d new.db --loud", format!("-d {new} --loud")),
            ("--database new.db config claude", format!("--database {new}")),
            ("--loud config --db=new.db claude", format!("--loud --db={new}")),
            ("--level config config claude --json", "--level config".to_owned()),
            ("--level Cargo.toml --level=5 config claude", format!("--level {cargo} --level=5")),
            ("config claude", String::new()),
        ] {
            let args = given.split(' ').map(str::to_owned);
            assert_eq!(options(args, &parser, here).join(" "), captured, "{given}");
        }
    }
}
