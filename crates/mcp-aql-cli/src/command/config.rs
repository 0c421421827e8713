//! The command `config`: checks and shows the configuration, and prints the entries for clients.

use mcp_aql_core::internal::config::{Setting, SettingSource};
use mcp_aql_core::{Adapter, Error, Result};
use serde_json::{Value, json};

use super::client_config::{self, ConfigFormat};
use super::default_config::{self, KeyFormat};
use super::render::{Output, Table, plain};
use super::serve::ServeArgs;

/// The commands about the configuration.
#[derive(Debug, Clone, clap::Subcommand)]
#[non_exhaustive]
pub enum ConfigCommand {
    /// Check the configuration, and the flags that `serve` would get, without serving
    Check(ServeArgs),
    /// Show every setting with its value, and where the value came from
    Show(ServeArgs),
    /// Print a complete mcp-aql.toml: every key with its default and its meaning
    Default {
        /// Output format
        #[arg(long, value_enum, default_value_t = KeyFormat::Toml)]
        format: KeyFormat,
    },
    /// Print what Claude Desktop and Claude Code need to start this adapter
    Claude,
    /// Print what Cursor needs to start this adapter
    Cursor,
    /// Print what Visual Studio Code needs to start this adapter
    Vscode,
    /// A word that is none of these, which the error lists.
    #[doc(hidden)]
    #[command(external_subcommand)]
    Unknown(Vec<String>),
}

impl ConfigCommand {
    /// Runs the command.
    pub(super) fn run(self, adapter: &Adapter, output: &Output, parser: &clap::Command) -> Result {
        let client = match self {
            Self::Check(serve) => return check(adapter, output, &serve),
            Self::Show(serve) => return show(adapter, output, &serve),
            Self::Default { format } => {
                return output.line(default_config::render(adapter, format).trim_end());
            }
            Self::Claude => ConfigFormat::Claude,
            Self::Cursor => ConfigFormat::Cursor,
            Self::Vscode => ConfigFormat::Vscode,
            Self::Unknown(words) => {
                let word = words.first().map_or("", String::as_str);
                return Err(Error::Usage(format!(
                    "there is no `config {}`: write check, show or default, or one of the clients claude, cursor and \
                     vscode. For another client, copy command, arguments and variables of one of them",
                    plain(word)
                )));
            }
        };
        client_config::run(adapter, client, parser)
    }
}

/// Checks the table `auth` and the address. The build of the adapter has already checked everything else.
fn check(adapter: &Adapter, output: &Output, serve: &ServeArgs) -> Result {
    let address = serve.check(adapter)?;
    let settings = adapter.settings();
    let files = settings.sources.files.iter().map(|file| file.display().to_string());
    let files: Vec<_> = files.collect();
    if output.json() {
        let report = json!({
            "valid": true, "files": files, "address": address, "warnings": settings.notices(),
        });
        return output.line(&report.to_string());
    }
    output.line("The configuration is valid.")?;
    for file in files {
        output.line(&format!("file  {file}"))?;
    }
    match address {
        Some(address) => output.line(&format!("`serve` listens on {address}")),
        None => output.line("`serve` uses standard input and output"),
    }
}

/// Prints the settings. Returns an error if `serve` would reject them. With `--json`, the output is a list:
///
/// ```json
/// [{ "key": "log_format", "value": "json", "source": "flag --log-format" }]
/// ```
fn show(adapter: &Adapter, output: &Output, serve: &ServeArgs) -> Result {
    let all = serve.configured(adapter)?.config_entries();
    let entry = |(setting, sources): &(Setting, Vec<SettingSource>)| {
        let sources: Vec<_> = sources.iter().map(ToString::to_string).collect();
        json!({ "key": setting.key, "value": setting.value, "source": sources.join(", ") })
    };
    let entries = Value::Array(all.iter().map(entry).collect());
    match output.json() {
        true => output.line(&entries.to_string()),
        false => output.table(&Table::of(&entries, &["key", "value", "source"])),
    }?;
    serve.check(adapter).map(drop)
}
