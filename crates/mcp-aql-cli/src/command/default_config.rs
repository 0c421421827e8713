//! The command `config default`: every key of the configuration file, made from the declarations of the keys.

use std::fmt::Write as _;

use mcp_aql_core::Adapter;
use mcp_aql_core::internal::config::{Key, ProjectRule};
use serde_json::Value;

/// How `config default` writes the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[non_exhaustive]
pub enum KeyFormat {
    /// A complete mcp-aql.toml
    Toml,
    /// Tables for a page of documentation, and the complete file
    Markdown,
}

/// A table of the file: its name, and the names of its keys with their declarations and defaults.
type KeyTable = (&'static str, Vec<(&'static str, &'static Key, Value)>);

/// Writes all keys of an adapter.
pub(super) fn render(adapter: &Adapter, format: KeyFormat) -> String {
    let tables = tables(adapter);
    match format {
        KeyFormat::Toml => toml(&tables),
        KeyFormat::Markdown => format!("{}```toml\n{}```\n", markdown(&tables), toml(&tables)),
    }
}

/// Groups the keys by the tables of the file. The keys at the root come first.
fn tables(adapter: &Adapter) -> Vec<KeyTable> {
    let mut tables: Vec<KeyTable> = vec![("", Vec::new())];
    for (key, default) in adapter.keys() {
        let (name, inner) = key.path.rsplit_once('.').unwrap_or(("", key.path));
        match tables.iter_mut().find(|(known, _)| *known == name) {
            Some((_, keys)) => keys.push((inner, key, default)),
            None => tables.push((name, vec![(inner, key, default)])),
        }
    }
    tables
}

/// Writes a complete file. All keys are comments, so that the file changes nothing.
fn toml(tables: &[KeyTable]) -> String {
    let mut file = "# Every key with its default. Remove the `#` before a key to set it, and before the table of the \
                    key.\n"
        .to_owned();
    for (table, keys) in tables {
        if !table.is_empty() {
            _ = write!(file, "\n#[{table}]\n");
        }
        for (name, key, default) in keys {
            let details = [Some(key.type_and_range()), set_by(key)].into_iter().flatten();
            let details = details.collect::<Vec<_>>().join("; ").replace('`', "");
            let value = key.toml_value(default);
            let unset = match default {
                Value::Null => format!("; default: {}", key.describe_default(default)),
                _ => String::new(),
            };
            _ = write!(
                file,
                "\n# {}.\n# {details}{}\n#{name} = {value}\n",
                key.summary(),
                unset.replace('`', "")
            );
        }
    }
    file
}

/// Returns the flag and the variable that set a key.
fn set_by(key: &Key) -> Option<String> {
    let flag = key.flag.map(|flag| match flag.value_name {
        "" => format!("`{}`", flag.name),
        value => format!("`{} {value}`", flag.name),
    });
    let names: Vec<_> = flag.into_iter().chain(key.variable.map(|it| format!("`{it}`"))).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Writes the keys as tables, one for each table of the file.
fn markdown(tables: &[KeyTable]) -> String {
    let mut page = String::new();
    for (table, keys) in tables {
        if !table.is_empty() {
            _ = write!(page, "`[{table}]`\n\n");
        }
        page.push_str(
            "| key | meaning | value | default | flag, variable | in the working directory |\n\
             |---|---|---|---|---|---|\n",
        );
        for (name, key, default) in keys {
            _ = writeln!(
                page,
                "| `{name}` | {} | {} | {} | {} | {} |",
                key.summary(),
                key.type_and_range(),
                key.describe_default(default),
                set_by(key).unwrap_or_default(),
                in_project(key),
            );
        }
        page.push('\n');
    }
    page
}

/// Describes the effect of a key in a file of the working directory.
fn in_project(key: &Key) -> &'static str {
    match key.project {
        ProjectRule::Ignored => "ignored",
        ProjectRule::Applied => "applied",
        ProjectRule::Lower => "applied if lower",
        ProjectRule::True => "applied if `true`",
        ProjectRule::Stricter(words) => words,
    }
}
