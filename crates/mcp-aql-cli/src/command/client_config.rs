//! Prints the entry that starts this adapter for a client's configuration file.

use std::any::TypeId;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use mcp_aql_core::adapter::Adapter;
use mcp_aql_core::main_error::Result;

use super::safety::mode_variables;

/// Clients whose configuration format is known.
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

/// Environment variables of this process that the client's entry has to repeat.
const FORWARDED_VARIABLES: &[&str] = &[
    "MCP_AQL_ENDPOINT_MODE",
    "MCP_AQL_ENDPOINT_PROFILE",
    "MCP_AQL_TOOL_PREFIX",
    "MCP_AQL_LOG",
    // The directory of the state files.
    "XDG_STATE_HOME",
];

/// Collects the environment variables that the entry repeats.
fn forwarded_variables(
    variable: impl Fn(&str) -> Option<String>,
    adapter: &Adapter,
) -> Map<String, Value> {
    let set = |name: &'static str| {
        let value = variable(name).filter(|value| !value.is_empty())?;
        Some((name.to_owned(), Value::from(value)))
    };
    let mut forwarded: Map<_, _> =
        FORWARDED_VARIABLES.iter().filter_map(|name| set(name)).collect();
    // A client's entry is permanent, so it never disables the safety loop.
    let modes = mode_variables(adapter).iter().filter_map(|name| set(name));
    forwarded.extend(modes.filter(|(_, mode)| mode == "enforcing"));
    forwarded
}

/// Prints the entry to paste into a client's configuration.
pub(super) fn run(adapter: &Adapter, format: ConfigFormat, parser: &clap::Command) -> Result {
    // The client starts the adapter in another working directory.
    let command = std::env::current_exe()?;
    let given = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned());
    let set = forwarded_variables(|name| std::env::var(name).ok(), adapter);
    let here = std::env::current_dir()?;
    let args = options(given, parser, &here);
    let command = command.to_string_lossy();
    let config = config(format, adapter.name(), &command, &args, set);
    let text = serde_json::to_string_pretty(&config).unwrap_or_default();
    writeln!(std::io::stdout(), "{text}")?;
    if std::io::stdout().is_terminal() {
        writeln!(std::io::stderr(), "\nMerge this into {}.", format.file())?;
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

/// Returns the options before and after `config claude`. Relative paths become absolute, since the
/// client starts the adapter in another directory.
fn options(
    mut given: impl Iterator<Item = String>,
    parser: &clap::Command,
    here: &Path,
) -> Vec<String> {
    let known = |flag: &str| {
        parser.get_arguments().find(|option| match flag.strip_prefix("--") {
            Some(long) => option.get_long() == Some(long),
            None => option.get_short().is_some_and(|short| flag == format!("-{short}")),
        })
    };
    let mut options = Vec::new();
    while let Some(arg) = given.next() {
        if !arg.starts_with('-') {
            // `config`, or the client's name.
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
            .store(mcp_aql_core::store::MemoryStore::default())
            .build()
            .unwrap();
        for (adapter, mode, captured) in [
            (&guard, "disabled", false),
            (&guard, "monitoring", false),
            (&guard, "enforcing", true),
            (&guard, "", false),
            (&plain, "enforcing", false),
        ] {
            let variable = |name: &str| match name {
                "MCPAQL_SAFETY_LOOP" => Some(mode.to_owned()),
                "MCP_AQL_TOOL_PREFIX" => Some("my_".to_owned()),
                _ => None,
            };
            let forwarded_variables = forwarded_variables(variable, adapter);
            assert_eq!(forwarded_variables.contains_key("MCPAQL_SAFETY_LOOP"), captured, "{mode}");
            assert_eq!(forwarded_variables["MCP_AQL_TOOL_PREFIX"], "my_");
        }
    }

    #[test]
    fn options_stay_with_their_paths_from_the_root() {
        use clap::{Arg, ArgAction, value_parser};

        let parser = clap::Command::new("tasks")
            .arg(Arg::new("db").long("db").short('d').value_parser(value_parser!(PathBuf)))
            .arg(Arg::new("level").long("level"))
            .arg(Arg::new("loud").long("loud").action(ArgAction::SetTrue));
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let there = |name: &str| here.join(name).display().to_string();
        let (new, cargo) = (there("new.db"), there("Cargo.toml"));
        for (given, captured) in [
            ("--db new.db config claude", format!("--db {new}")),
            ("config claude -d new.db --loud", format!("-d {new} --loud")),
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
