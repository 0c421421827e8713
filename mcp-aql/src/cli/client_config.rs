use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::adapter::Adapter;
use crate::main_error::Result;

/// Clients whose configuration is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[non_exhaustive]
pub enum Client {
    /// Claude Desktop and Claude Code
    Claude,
    /// Cursor
    Cursor,
    /// Visual Studio Code
    Vscode,
}

impl Client {
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

/// Settings of this process that the client's has to have as well.
const VARIABLES: [&str; 4] =
    ["MCP_AQL_ENDPOINT_MODE", "MCP_AQL_ENDPOINT_PROFILE", "MCP_AQL_TOOL_PREFIX", "MCP_AQL_LOG"];

/// Prints what to paste into a client's configuration.
pub(super) fn run(adapter: &Adapter, client: Client) -> Result {
    // Where a client starts the adapter is not where we are now.
    let command = std::env::current_exe()?;
    let args: Vec<_> = std::env::args_os()
        .skip(1)
        .map(|arg| arg.to_string_lossy().into_owned())
        .take_while(|arg| arg != "config")
        .collect();
    let set = VARIABLES.into_iter().filter_map(|name| {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
        Some((name.to_owned(), Value::from(value)))
    });
    let here = std::env::current_dir()?;
    let args: Vec<_> = args.iter().map(|arg| absolute(arg, &here)).collect();
    let command = command.to_string_lossy();
    let config = config(client, adapter.name(), &command, &args, set.collect());
    let text = serde_json::to_string_pretty(&config).unwrap_or_default();
    writeln!(std::io::stdout(), "{text}")?;
    if std::io::stdout().is_terminal() {
        writeln!(std::io::stderr(), "\nMerge this into {}.", client.file())?;
    }
    Ok(())
}

fn config(
    client: Client,
    name: &str,
    command: &str,
    args: &[String],
    set: Map<String, Value>,
) -> Value {
    let mut server = Map::new();
    if client == Client::Vscode {
        server.insert("type".to_owned(), "stdio".into());
    }
    server.insert("command".to_owned(), command.into());
    server.insert("args".to_owned(), args.into());
    if !set.is_empty() {
        server.insert("env".to_owned(), set.into());
    }
    match client {
        Client::Claude | Client::Cursor => json!({ "mcpServers": { name: server } }),
        Client::Vscode => json!({ "servers": { name: server } }),
    }
}

/// A flag's value that names something in this directory, so that it does from elsewhere too.
fn absolute(arg: &str, here: &Path) -> String {
    let (flag, value) = match arg.split_once('=') {
        Some((flag, value)) if flag.starts_with('-') => (format!("{flag}="), value),
        _ => (String::new(), arg),
    };
    let path = here.join(value);
    if value.is_empty() || value.starts_with('-') || !path.exists() {
        return arg.to_owned();
    }
    format!("{flag}{}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_its_form() {
        let set: Map<_, _> = [("A".to_owned(), Value::from("b"))].into_iter().collect();
        let args = ["--db".to_owned()];
        assert_eq!(
            config(Client::Cursor, "tasks", "/bin/tasks", &args, set),
            json!({ "mcpServers": { "tasks":
                { "command": "/bin/tasks", "args": ["--db"], "env": { "A": "b" } } } })
        );
        assert_eq!(
            config(Client::Vscode, "tasks", "/bin/tasks", &[], Map::new()),
            json!({ "servers": { "tasks":
                { "type": "stdio", "command": "/bin/tasks", "args": [] } } })
        );
    }

    #[test]
    fn existing_files_are_named_from_the_root() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let file = here.join("Cargo.toml").display().to_string();
        assert_eq!(absolute("Cargo.toml", here), file);
        assert_eq!(absolute("--config=Cargo.toml", here), format!("--config={file}"));
        for unchanged in ["--db", "no-such-file", "--level=5", ""] {
            assert_eq!(absolute(unchanged, here), unchanged);
        }
    }
}
