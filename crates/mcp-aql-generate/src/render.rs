//! Renders the source of an adapter.

use std::fmt::Write as _;

use heck::ToSnakeCase as _;
use mcp_aql_text::visible;

use crate::database::{Database, Request};
use crate::names::identifier;
use crate::resource::{Field, Resource};
use crate::value_type::Enum;

/// The maximum length of a line.
const WIDTH: usize = 100;

/// The parts of the source that depend on the database.
struct Target {
    dialect: &'static str,
    database: &'static str,
    feature: &'static str,
    variable: &'static str,
    connect: &'static str,
    example: &'static str,
}

const POSTGRES: Target = Target {
    dialect: "Postgres",
    database: "PostgresDatabase",
    feature: "postgres",
    variable: "DATABASE_URL",
    connect: "PostgresDatabase::connect(&database).await?",
    example: "postgres://user:password@localhost/database",
};

const SQLITE: Target = Target {
    dialect: "Sqlite",
    database: "RusqliteDatabase",
    feature: "sqlite",
    variable: "DATABASE_FILE",
    connect: "RusqliteDatabase::open(database)?",
    example: "shop.db",
};

/// Renders the source of an adapter with these resources.
pub(crate) fn source(request: &Request, resources: &[Resource]) -> String {
    let target = match request.database {
        Database::Postgres(_) => POSTGRES,
        Database::Sqlite(_) => SQLITE,
    };
    let mut parts = vec![head(&target, resources)];
    for resource in resources {
        parts.push(structure(resource));
        parts.extend(resource.enums.iter().map(enumeration));
        parts.push(store(&target, resource));
    }
    parts.push(adapter(&target, &request.name, resources));
    parts.join("\n")
}

/// Returns `true` if a type occurs among the fields.
fn has(resources: &[Resource], name: &str) -> bool {
    let mut fields = resources.iter().flat_map(|resource| &resource.fields);
    fields.any(|field| {
        let words = |text: &str| {
            text.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == name)
        };
        words(&field.type_name) || field.new_value.as_deref().is_some_and(words)
    })
}

fn head(target: &Target, resources: &[Resource]) -> String {
    let Target { database, feature, variable, example, .. } = target;
    let dates: Vec<_> =
        ["DateTime", "NaiveDate", "Utc"].into_iter().filter(|name| has(resources, name)).collect();
    let has_json = has(resources, "Value");
    let schemars = if dates.is_empty() { "schemars" } else { "schemars --features chrono04" };
    let mut more = Vec::new();
    if !dates.is_empty() {
        more.push("chrono --features serde");
    }
    if has_json {
        more.push("serde_json");
    }
    let mut text = format!(
        "//! An adapter for tables of a database, which `mcp-aql-generate` has written.\n\
         //!\n\
         //! ```console\n\
         //! $ cargo add mcp-aql --features query,{feature}\n\
         //! $ cargo add serde --features derive\n\
         //! $ cargo add {schemars}\n"
    );
    for each in more {
        let _ = writeln!(text, "//! $ cargo add {each}");
    }
    let _ = write!(
        text,
        "//! $ cargo add tokio --features macros,rt-multi-thread\n\
         //! $ {variable}={example} cargo run -- introspect\n\
         //! ```\n\
         //!\n\
         //! A string is searched if its field is marked `search`. Give a large table a column for it, with\n\
         //! `SqlTable::search_column`.\n\
         //!\n\
         //! Every caller may read, change and refer to all rows. If rows belong to tenants, give each store\n\
         //! `ResourceRules` with a row filter, which also applies to references.\n\n"
    );
    match dates.as_slice() {
        [] => {}
        [one] => {
            let _ = writeln!(text, "use chrono::{one};");
        }
        several => {
            let _ = writeln!(text, "use chrono::{{{}}};", several.join(", "));
        }
    }
    let _ = write!(
        text,
        "use mcp_aql::prelude::*;\n\
         use mcp_aql::query::sql::{{Dialect, SqlTable}};\n\
         use mcp_aql::resource::{{{database}, SqlStore}};\n\
         use serde::{{Deserialize, Serialize}};\n"
    );
    if has_json {
        text.push_str("use serde_json::Value;\n");
    }
    text
}

/// Appends a string of the database as documentation lines.
///
/// The string must not become anything else: a hidden character could end the comment or hide a part of it,
/// documentation tests compile and run code samples, and a browser runs scripts. Words after several spaces are a code
/// sample, too, even after the mark of a list or quotation.
fn doc(text: &str, indent: &str, out: &mut String) {
    for line in text.trim().lines() {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = line.replace("```", "'''").replace("~~~", "'''");
        let line = visible(&without_tags(&line)).into_owned();
        let _ = writeln!(out, "{}", format!("{indent}/// {line}").trim_end());
    }
}

/// Adds a space after each `<` that would start a tag.
fn without_tags(line: &str) -> String {
    let mut parts = line.split('<');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // The number of a hidden character, such as `<U+202E>`, is not a tag.
        let is_tag = part.starts_with(|next: char| next.is_alphabetic() || "/!?".contains(next))
            && !part.starts_with("U+");
        text.push_str(if is_tag { "< " } else { "<" });
        text.push_str(part);
    }
    text
}

/// Appends `#[name(items)]`. A long attribute is written on several lines.
fn attribute(name: &str, items: &[String], indent: &str, out: &mut String) {
    if items.is_empty() {
        return;
    }
    let line = format!("{indent}#[{name}({})]", items.join(", "));
    if line.chars().count() <= WIDTH {
        let _ = writeln!(out, "{line}");
        return;
    }
    let _ = writeln!(out, "{indent}#[{name}(");
    for item in items {
        let _ = writeln!(out, "{indent}    {item},");
    }
    let _ = writeln!(out, "{indent})]");
}

fn structure(resource: &Resource) -> String {
    let Resource { type_name, singular, plural, has_create, has_update, .. } = resource;
    let mut text = String::new();
    for remark in &resource.remarks {
        let _ = writeln!(text, "// {remark}");
    }
    if !resource.remarks.is_empty() {
        text.push('\n');
    }
    doc(&resource.doc, "", &mut text);
    let mut derives: Vec<_> =
        ["Debug", "Clone", "Serialize", "Deserialize", "JsonSchema", "Resource"].into();
    derives.extend(has_create.then_some("CreateInput"));
    derives.extend(has_update.then_some("UpdateInput"));
    let derives: Vec<_> = derives.into_iter().map(str::to_owned).collect();
    attribute("derive", &derives, "", &mut text);
    let mut options = vec![if *has_create && *has_update {
        "operations".to_owned()
    } else {
        let create = has_create.then_some("create, ").unwrap_or_default();
        let update = has_update.then_some("update, ").unwrap_or_default();
        format!("operations({create}get, list, {update}delete)")
    }];
    // The derive macro splits the type's name into words in its own way, so the name is given if it differs.
    if *singular != type_name.to_snake_case() || !singular.chars().all(|it| it.is_ascii_lowercase())
    {
        options.push(format!("singular = \"{singular}\""));
    }
    if plural != singular {
        options.push(format!("plural = \"{plural}\""));
    }
    attribute("resource", &options, "", &mut text);
    let _ = writeln!(text, "struct {type_name} {{");
    for field in &resource.fields {
        member(field, *has_create, *has_update, &mut text);
    }
    text.push_str("}\n");
    text
}

fn member(field: &Field, has_create: bool, has_update: bool, text: &mut String) {
    const INDENT: &str = "    ";
    doc(&field.doc, INDENT, text);
    let mut marks = field.marks.clone();
    if !has_create && !has_update {
        marks.retain(|mark| mark != "read_only");
    }
    attribute("resource", &marks, INDENT, text);
    if field.is_chosen && has_create {
        attribute("create_input", &["chosen".to_owned()], INDENT, text);
    }
    if let Some(value) = field.new_value.as_ref().filter(|_| has_create) {
        attribute("create_input", &[format!("value = {value}")], INDENT, text);
    }
    if field.identifier.trim_start_matches("r#") != field.name {
        attribute("serde", &[format!("rename = {:?}", field.name)], INDENT, text);
    }
    // Only inputs use constraints, and only new records use defaults.
    let mut params = field.params.clone();
    let has_update = has_update && !field.is_chosen;
    params.retain(|param| has_create || has_update && !param.starts_with("default"));
    if field.new_value.is_none() {
        attribute("param", &params, INDENT, text);
    }
    let _ = writeln!(text, "{INDENT}{}: {},", field.identifier, field.type_name);
}

fn enumeration(values: &Enum) -> String {
    let mut text = String::new();
    doc(&values.doc, "", &mut text);
    text.push_str(
        "#[derive(\n    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,\n)]\n\
         #[serde(rename_all = \"snake_case\")]\n",
    );
    let _ = writeln!(text, "enum {} {{", values.name);
    for (variant, value) in &values.variants {
        doc(&format!("The value `{}`.", visible(value)), "    ", &mut text);
        // The attribute is needed if serde's name for the variant differs.
        if variant.to_snake_case() != *value || !value.chars().all(|it| it.is_ascii_lowercase()) {
            let _ = writeln!(text, "    #[serde(rename = {value:?})]");
        }
        let _ = writeln!(text, "    {variant},");
    }
    text.push_str("}\n");
    text
}

/// Returns the name of the function that returns a store.
fn function(resource: &Resource) -> String {
    // The names of other functions in the source, and words that cannot be names in Rust.
    const TAKEN: [&str; 5] = ["adapter", "main", "self", "super", "crate"];
    match TAKEN.contains(&resource.plural.as_str()) {
        true => format!("{}_rows", resource.plural),
        false => identifier(&resource.plural),
    }
}

fn store(target: &Target, resource: &Resource) -> String {
    let Target { dialect, database, .. } = target;
    let Resource { table, type_name, .. } = resource;
    let mut calls = Vec::new();
    if let Some(schema) = &resource.schema {
        calls.push(format!(".schema({schema:?})"));
    }
    for Field { name, column, column_type, is_computed, .. } in &resource.fields {
        if *is_computed {
            let column = column.as_deref().unwrap_or(name);
            calls.push(format!(
                ".expression({name:?}, |_| mcp_aql::query::sql::sea_query::Expr::col({column:?}))"
            ));
            continue;
        }
        calls.extend(column.as_ref().map(|column| format!(".column({name:?}, {column:?})")));
        calls.extend(column_type.as_ref().map(|kind| format!(".column_type({name:?}, {kind:?})")));
    }
    let mut text = String::new();
    doc(&format!("Returns the store of the table `{}`.", visible(table)), "", &mut text);
    let _ = writeln!(
        text,
        "fn {}(database: &{database}) -> SqlStore<{type_name}, {database}> {{",
        function(resource)
    );
    let new = format!("    let table = SqlTable::new(Dialect::{dialect}, {table:?})");
    let line = format!("{new}{};", calls.concat());
    if calls.is_empty() || line.chars().count() <= WIDTH && calls.len() < 2 {
        let _ = writeln!(text, "{line}");
    } else {
        let _ = writeln!(text, "{new}");
        let last = calls.len().saturating_sub(1);
        for (place, call) in calls.iter().enumerate() {
            let end = if place == last { ";" } else { "" };
            let _ = writeln!(text, "        {call}{end}");
        }
    }
    text.push_str("    SqlStore::new(table, database.clone())\n}\n");
    text
}

fn adapter(target: &Target, name: &str, resources: &[Resource]) -> String {
    let Target { database, variable, connect, .. } = target;
    let stores: Vec<_> =
        resources.iter().map(|resource| format!("{}(database)", function(resource))).collect();
    let call = match stores.as_slice() {
        [one] => format!(".resource({one})"),
        several => {
            let line = format!(".resources(({}))", several.join(", "));
            if line.chars().count() + 8 <= WIDTH {
                line
            } else {
                let stores = several.iter().fold(String::new(), |mut text, store| {
                    let _ = writeln!(text, "            {store},");
                    text
                });
                format!(".resources((\n{stores}        ))")
            }
        }
    };
    format!(
        "/// Builds the adapter.\n\
         pub(crate) fn adapter(database: &{database}) -> mcp_aql::Result<Adapter> {{\n\
         {}Ok(Adapter::builder({name:?})\n\
         {0}    .version(env!(\"CARGO_PKG_VERSION\"))\n\
         {0}    {}\n\
         {0}    .build()?)\n\
         }}\n\n\
         #[tokio::main]\n\
         async fn main() -> mcp_aql::Result<()> {{\n\
         {0}let database = std::env::var(\"{variable}\");\n\
         {0}let database = database.map_err(|_| mcp_aql::Error::other(\"set {variable}\"))?;\n\
         {0}let database = {connect};\n\
         {0}adapter(&database).run().await\n\
         }}\n",
        "    ", call,
    )
}
