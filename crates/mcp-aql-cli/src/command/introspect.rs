//! The command `introspect`: shows operations, types and danger levels as tables.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use mcp_aql_core::{Adapter, Error, Result};
use mcp_aql_protocol::{nearest_name, probable_operation};
use serde_json::{Map, Value, json};

use super::render::{Output, Table, member, plain};
use super::{Exit, request};

/// The queries that every adapter answers.
const COMMON_QUERIES: [&str; 3] = ["operations", "types", "danger"];

/// A value parser that accepts any word and suggests the known queries.
///
/// The parser can be built before the adapter. In this case, the adapter's queries are added later.
#[derive(Debug, Clone)]
pub(super) struct QueryParser(Vec<&'static str>);

impl QueryParser {
    /// Creates a parser with the queries that every adapter answers.
    pub(super) fn common() -> Self {
        Self(COMMON_QUERIES.to_vec())
    }

    /// Creates a parser with the queries of this adapter.
    pub(super) fn of(adapter: &Adapter) -> Self {
        let further = adapter.introspection().further.iter().map(|each| each.query());
        Self(["operations", "types"].into_iter().chain(further).collect())
    }
}

impl TypedValueParser for QueryParser {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> std::result::Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().copied().map(PossibleValue::new)))
    }
}

/// Adds the queries of this adapter to the parser's help and completions.
pub(super) fn with_adapter_queries(parser: clap::Command, adapter: &Adapter) -> clap::Command {
    let is_query = |argument: &clap::Arg| argument.get_id() == "query";
    // The author's own parser may use the name of this command for another purpose.
    let ours = parser
        .find_subcommand("introspect")
        .is_some_and(|introspect| introspect.get_arguments().any(is_query));
    if !ours {
        return parser;
    }
    let queries = QueryParser::of(adapter);
    parser.mut_subcommand("introspect", |introspect| {
        introspect.mut_arg("query", |query| query.value_parser(queries))
    })
}

/// Runs an introspection query and prints its answer.
pub(super) async fn run(
    adapter: &Adapter,
    output: &Output,
    query: &str,
    name: Option<&str>,
) -> Result<Exit> {
    let (query, name) = meant(adapter, query, name)?;
    let mut params = Map::new();
    params.insert("query".to_owned(), query.into());
    if let Some(name) = name {
        params.insert("name".to_owned(), name.into());
    }
    let mut arguments = Map::new();
    arguments.insert("operation".to_owned(), "introspect".into());
    arguments.insert("params".to_owned(), params.into());
    let answer = request::handle(adapter, arguments).await;
    if !answer.result.is_success() {
        return output.result(&answer);
    }
    let data = answer.result.data();
    if output.json() {
        output.result(&answer)?;
    }
    if let Some(name) = name
        && let Some(kind) = ["operation", "type"].into_iter().find(|kind| is_null(data, kind))
    {
        return unknown(adapter, kind, name);
    }
    if output.json() {
        return Ok(Exit::Success);
    }
    match (query, name) {
        ("operations", None) => {
            let columns = ["name", "semantic_category", "endpoint", "description"];
            output.table(&Table::of(member(data, "operations"), &columns))?;
        }
        ("operations", Some(name)) => operation(output, name, member(data, "operation"))?,
        ("types", None) => {
            output.table(&Table::of(member(data, "types"), &["name", "kind", "description"]))?;
        }
        ("types", Some(_)) => output.pretty(member(data, "type"))?,
        ("danger", None) => output.table(&danger(adapter, member(data, "operations")))?,
        ("danger", Some(_)) => {
            let one = Value::Array(vec![member(data, "operation").clone()]);
            output.table(&danger(adapter, &one))?;
        }
        _ => output.pretty(data)?,
    }
    Ok(Exit::Success)
}

/// Returns the query and the name that the person means. The name of an operation or type is enough:
///
/// ```text
/// introspect create_task → query `operations`, name `create_task`
/// ```
///
/// # Errors
///
/// Returns [`Error::Usage`] if the adapter does not know the query.
fn meant<'a>(
    adapter: &Adapter,
    query: &'a str,
    name: Option<&'a str>,
) -> Result<(&'a str, Option<&'a str>)> {
    let QueryParser(known) = QueryParser::of(adapter);
    if known.contains(&query) {
        return Ok((query, name));
    }
    if name.is_none() && adapter.operations().any(|spec| spec.name == query) {
        return Ok(("operations", Some(query)));
    }
    if name.is_none() && adapter.introspection().types.contains_key(query) {
        return Ok(("types", Some(query)));
    }
    let hint = match nearest_name(query, known.iter().copied()) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("write one of {}, or the name of an operation or type", known.join(", ")),
    };
    Err(Error::Usage(format!("there is nothing to introspect called '{}'; {hint}", plain(query))))
}

fn is_null(data: &Value, kind: &str) -> bool {
    data.get(kind).is_some_and(Value::is_null)
}

fn operation(output: &Output, name: &str, details: &Value) -> Result {
    let text = |key: &str| plain(member(details, key).as_str().unwrap_or_default());
    output.heading(&format!("{} ({})", text("name"), text("semantic_category")))?;
    output.line(&text("description"))?;
    output.line(&format!("Tool: {}", text("mcpTool")))?;
    let parameters = member(details, "parameters");
    if parameters.as_array().is_some_and(|parameters| !parameters.is_empty()) {
        output.line("")?;
        output.table(&Table::of(
            parameters,
            &["name", "type", "required", "default", "description"],
        ))?;
    }
    let returns = member(details, "returns");
    output.line("")?;
    output.line(&format!(
        "Returns: {}",
        plain(member(returns, "name").as_str().unwrap_or("nothing"))
    ))?;
    for example in member(details, "examples").as_array().into_iter().flatten() {
        let params = example.pointer("/request/params").cloned().unwrap_or_else(|| json!({}));
        output.line(&format!("Example: call {name} '{}'", plain(&params.to_string())))?;
    }
    Ok(())
}

/// Lists the danger level of each operation, and the gates that its calls must pass.
fn danger(adapter: &Adapter, operations: &Value) -> Table {
    let category = |name: &Value| {
        let mut specs = adapter.operations();
        let spec = specs.find(|spec| name == spec.name)?;
        Some(spec.category.as_str())
    };
    let row = |operation: &Value| {
        let name = member(operation, "name");
        json!({
            "operation": name,
            "category": category(name),
            "level": member(operation, "level"),
            "permission": member(operation, "permission"),
            "why": why(operation),
        })
    };
    let rows: Value = operations.as_array().into_iter().flatten().map(row).collect();
    Table::of(&rows, &["operation", "category", "level", "permission", "why"])
}

/// Explains an operation's danger level, and lists other requirements of a call.
fn why(operation: &Value) -> String {
    let says = |key: &str| member(operation, key) == true;
    let mut parts: Vec<String> = Vec::new();
    let reasons = member(operation, "reasons").as_array();
    parts.extend(reasons.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned));
    if let Some(pattern) = member(operation, "inferred_from").as_str() {
        parts.push(format!("its name matches {pattern}"));
    }
    if says("requires_reauth") || says("by_operator") {
        parts.push("a person must confirm it".to_owned());
    }
    if let Some(seconds) = member(operation, "cooldown_seconds").as_u64() {
        parts.push(format!("it waits {seconds} s after the confirmation"));
    }
    if says("has_policies") {
        parts.push("policies decide about some calls".to_owned());
    }
    parts.join("; ")
}

fn unknown(adapter: &Adapter, kind: &str, name: &str) -> Result<Exit> {
    let near = if kind == "type" {
        nearest_name(name, adapter.introspection().types.keys().map(String::as_str))
    } else {
        let names: Vec<_> = adapter.operations().map(|spec| spec.name).collect();
        probable_operation(name, names)
    };
    let hint = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
    super::render::problem(&format!("there is no {kind} '{}'{hint}", plain(name)));
    Ok(Exit::Failure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_aql_core::internal::gatekeeper::Condition;
    use mcp_aql_core::internal::operation::ParameterEntry;
    use mcp_aql_core::table::{DangerSpec, OperationEntry, OperationSpec, ParameterSpec};
    use mcp_aql_core::{Operations, Policy, SemanticCategory};

    struct Garden;

    const fn spec(name: &'static str, category: SemanticCategory) -> OperationSpec {
        OperationSpec::new(name, category, "Does it.")
    }

    impl Operations for Garden {
        const OPERATIONS: &'static [OperationEntry<Self>] = &[
            OperationEntry::new(spec("get_bed", SemanticCategory::Read), |_, call| {
                Box::pin(async move { call.reply(()) })
            }),
            OperationEntry::new(
                spec("delete_bed", SemanticCategory::Delete)
                    .parameters(
                        const {
                            &[ParameterEntry::One(ParameterSpec::optional::<String>(
                                "bed_id", "The bed.",
                            ))]
                        },
                    )
                    .danger(DangerSpec::UNDECLARED.reasons(&["The bed is gone", "So is the soil"])),
                |_, call| Box::pin(async move { call.reply(()) }),
            ),
            OperationEntry::new(spec("purge_beds", SemanticCategory::Delete), |_, call| {
                Box::pin(async move { call.reply(()) })
            }),
        ];
    }

    fn garden() -> Adapter {
        Adapter::builder("garden")
            .operations(Garden)
            .policy(Policy::allow("delete_bed").when(Condition::present("bed_id")))
            .without_config()
            .build()
            .unwrap()
    }

    #[tokio::test]
    async fn unknown_names_set_the_exit_code() {
        let adapter = garden();
        for (query, name, expected) in [
            ("operations", "get_bed", Exit::Success),
            ("danger", "get_bed", Exit::Success),
            ("operations", "get_bett", Exit::Failure),
            ("danger", "get_bett", Exit::Failure),
            ("types", "Nothing", Exit::Failure),
        ] {
            for json in [false, true] {
                let output = Output::captured(json);
                let ended = run(&adapter, &output, query, Some(name)).await.unwrap();
                assert_eq!(ended, expected, "{query} {name}");
                // A program reads the answer in JSON, but a person reads an error message instead.
                let silent = !json && expected != Exit::Success;
                assert_eq!(output.text().is_empty(), silent, "{query} {name}");
            }
        }
    }

    #[test]
    fn queries_that_are_not_there_are_refused_with_a_hint() {
        let adapter = garden();
        let message = |query| meant(&adapter, query, None).unwrap_err().to_string();
        assert!(message("danjer").ends_with("did you mean 'danger'?"), "{}", message("danjer"));
        let found = meant(&adapter, "get_bed", None).unwrap();
        assert_eq!(found, ("operations", Some("get_bed")));
        let listed = "write one of operations, types, danger, or the name of an operation or type";
        assert!(message("quota_status").ends_with(listed));
    }

    #[test]
    fn help_and_completions_offer_what_the_adapter_has() {
        let help = |adapter: &Adapter| {
            let mut parser = super::super::parser(adapter);
            parser.find_subcommand_mut("introspect").unwrap().render_help().to_string()
        };
        let plain = help(&garden());
        assert!(plain.contains("[possible values: operations, types, danger]"), "{plain}");
        let trusted = Adapter::builder("garden")
            .trust(mcp_aql_core::internal::gatekeeper::Trust::new(
                mcp_aql_core::TrustLevel::Generated,
            ))
            .without_config()
            .build()
            .unwrap();
        let trusted = help(&trusted);
        assert!(trusted.contains("types, danger, adapter_info]"), "{trusted}");
    }

    #[tokio::test]
    async fn danger_is_a_table_on_a_terminal() {
        let adapter = garden();
        let output = Output::captured(false);
        run(&adapter, &output, "danger", None).await.unwrap();
        let rows = output.text();
        for expected in [
            "OPERATION   CATEGORY  LEVEL        PERMISSION  WHY",
            "get_bed     READ      safe         allow",
            "delete_bed  DELETE    destructive  confirm     The bed is gone; So is the soil; \
             policies decide about some calls",
            "purge_beds  DELETE    dangerous    confirm     its name matches purge_*",
        ] {
            assert!(rows.lines().any(|row| row == expected), "{expected}\n{rows}");
        }
        let output = Output::captured(false);
        run(&adapter, &output, "danger", Some("purge_beds")).await.unwrap();
        assert_eq!(output.text().lines().count(), 2, "{}", output.text());
        let output = Output::captured(true);
        run(&adapter, &output, "danger", None).await.unwrap();
        assert!(output.text().starts_with('{'), "{}", output.text());
    }
}
