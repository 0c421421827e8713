//! Tests of the tools that a client sees: names, schemas, annotations and descriptions.

use crate::support::adapter::builder;
use mcp_aql::table::DynamicOperation;
use mcp_aql::testing::{Client, ListedTool};
use mcp_aql::{Adapter, EndpointMode, EndpointProfile, SemanticCategory, SizeLimits};
use serde_json::{Value, json};

async fn tools(builder: mcp_aql::AdapterBuilder) -> Vec<ListedTool> {
    let adapter = builder.without_config().build().unwrap();
    Client::connect(&adapter).await.unwrap().list_tools().await.unwrap()
}

/// Panics unless the parts occur in this order.
fn assert_parts(description: &str, parts: &[&str]) {
    let mut rest = description;
    for part in parts {
        let Some(position) = rest.find(part) else {
            panic!("`{part}` is missing, or out of place, in:\n{description}");
        };
        rest = &rest[position + part.len()..];
    }
}

#[tokio::test]
async fn each_mode_has_its_tools() {
    // REQ-EPT-01, REQ-EPT-05, REQ-EPT-07, REQ-EPT-12, REQ-EPT-13, REQ-MCP-03, REQ-MCP-17,
    // REQ-MCP-18, REQ-MCP-19, REQ-MCP-20
    let families = ["create", "read", "update", "delete", "execute"];
    for (mode, prefix, unified, semantic) in [
        (EndpointMode::Semantic, "", false, true),
        (EndpointMode::Single, "", true, false),
        (EndpointMode::All, "", true, true),
        (EndpointMode::All, "work_", true, true),
    ] {
        let listed = tools(builder().mode(mode).tool_prefix(prefix)).await;
        let names: Vec<_> = listed.iter().map(|tool| tool.name.clone()).collect();
        let mut expected = Vec::new();
        if semantic {
            expected.extend(families.iter().map(|family| format!("{prefix}mcp_aql_{family}")));
        }
        if unified {
            expected.push(format!("{prefix}mcp_aql"));
        }
        assert_eq!(names, expected, "{mode:?}");
    }
}

#[tokio::test]
async fn annotations_follow_the_category() {
    // REQ-MCP-05, REQ-EPT-06
    let listed = tools(builder().mode(EndpointMode::All)).await;
    for (name, read_only, destructive) in [
        ("mcp_aql_create", false, false),
        ("mcp_aql_read", true, false),
        ("mcp_aql_update", false, true),
        ("mcp_aql_delete", false, true),
        ("mcp_aql_execute", false, true),
        ("mcp_aql", false, true),
    ] {
        let tool = listed.iter().find(|tool| tool.name == name).unwrap();
        assert_eq!(tool.annotations["readOnlyHint"], read_only, "{name}");
        assert_eq!(tool.annotations["destructiveHint"], destructive, "{name}");
    }
}

#[tokio::test]
async fn every_tool_announces_the_size_of_its_results() {
    // REQ-INT-30
    for (budget, characters) in [(None, 65_536), (Some(9_000), 9_000), (Some(1 << 20), 500_000)] {
        let builder = builder().mode(EndpointMode::All);
        let builder = match budget {
            Some(bytes) => {
                builder.limits(SizeLimits { result_budget: bytes, ..SizeLimits::default() })
            }
            None => builder,
        };
        let listed = tools(builder).await;
        assert_eq!(listed.len(), 6);
        for tool in listed {
            assert_eq!(tool.meta["anthropic/maxResultSizeChars"], characters, "{}", tool.name);
        }
    }
}

#[tokio::test]
async fn the_input_schema_is_the_protocols() {
    // REQ-MCP-07, REQ-MCP-08, choice C-40
    let listed = tools(builder().batch(false)).await;
    for tool in &listed {
        let schema = &tool.input_schema;
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["required"], json!(["operation"]));
        assert_eq!(schema["properties"]["operation"]["type"], "string");
        assert_eq!(schema["properties"]["params"]["type"], "object");
        assert_eq!(schema["properties"]["params"]["additionalProperties"], true);
        assert!(!tool.description.contains("operations: ["), "{}", tool.description);
    }
    for tool in tools(builder()).await {
        assert_eq!(tool.input_schema.get("required"), None);
        assert_eq!(tool.input_schema["properties"]["operations"]["type"], "array");
        // One tool explains batches on behalf of all tools.
        let explains = tool.name == "mcp_aql_read";
        assert_eq!(tool.description.contains("operations: ["), explains, "{}", tool.description);
    }
}

#[tokio::test]
async fn descriptions_have_the_parts_of_the_crude_templates() {
    // REQ-MCP-01, REQ-MCP-02, choice C-68
    let listed = tools(builder()).await;
    let by_name = |name: &str| {
        r#"{ operation: "introspect", params: { query: "operations", name: "{}" } }"#
            .replace("{}", name)
    };
    let (create, delete, execute) =
        (by_name("create_note"), by_name("delete_notes"), by_name("execute_export"));
    let all = r#"{ operation: "introspect", params: { query: "operations" } }"#;
    let required = "Discover required parameters:\n";
    let rows: [(&str, Vec<&str>); 4] = [
        (
            "mcp_aql_create",
            vec![
                "add data.",
                "Supported operations:\n- create_note: Create a note.\n  title string: Title.\n",
                "neither remove nor overwrite any.",
                "Quick start examples:\n{ operation: \"create_note\", params: { title: \"Milk\" } }",
                required,
                &create,
                "mcp_aql_read",
            ],
        ),
        (
            "mcp_aql_read",
            vec![
                "Safe, read-only operations.",
                "Supported operations:\n- introspect: List operations and types, or show one in full.\n- list_notes:",
                "- get_note: Show a note.\n  note_id integer: Which note.\n",
                "never change stored data",
                "Quick start examples:\n{ operation: \"list_notes\" }",
                "Discover all operations and parameters:\n",
                all,
            ],
        ),
        (
            "mcp_aql_delete",
            vec![
                "remove data.",
                "Supported operations:\n- delete_notes: Delete all notes.",
                "Use with caution",
                "Quick start examples:\n{ operation: \"delete_notes\" }",
                required,
                &delete,
                "mcp_aql_read",
            ],
        ),
        (
            "mcp_aql_execute",
            vec![
                "Execution lifecycle operations for export",
                "Supported operations:\n- execute_export: Export in steps.",
                "manage what runs",
                "IMPORTANT:",
                "Quick start examples:\n{ operation: \"execute_export\", params: { steps: 1 } }",
                required,
                &execute,
            ],
        ),
    ];
    for (name, parts) in &rows {
        let tool = listed.iter().find(|tool| tool.name == *name).unwrap();
        assert_parts(&tool.description, parts);
    }
    assert!(!listed[1].description.contains("mcp_aql_read"), "reading takes introspect itself");
}

#[tokio::test]
async fn an_empty_category_keeps_its_tool_and_says_so() {
    // REQ-EPT-05, choice G-07
    let listed = tools(builder()).await;
    let update = &listed[2];
    assert_eq!(update.name, "mcp_aql_update");
    let parts = [
        "overwrite data.",
        "Supported operations: none.\n",
        "Earlier values may be lost",
        "Quick start example: none",
        "Discover required parameters:",
        "introspect",
    ];
    assert_parts(&update.description, &parts);
}

#[tokio::test]
async fn a_single_tool_lists_the_categories() {
    // REQ-MCP-01, REQ-MCP-02, REQ-EPT-07
    let listed = tools(builder().mode(EndpointMode::Single).description_budget(0)).await;
    let parts = [
        "MCP-AQL notes adapter.",
        "one tool",
        "routed",
        "Supported operation categories:",
        "- Create: create_note",
        "- Read: introspect, list_notes",
        "- Update: none",
        "- Delete: delete_notes",
        "- Execute: execute_{export, wait, panic, hold}",
        "Quick start:\n{ operation: \"introspect\", params: { query: \"operations\", search: \"",
        "Introspection finds operations",
    ];
    assert_parts(&listed[0].description, &parts);
}

#[tokio::test]
async fn operations_are_described_while_they_fit_into_the_budget() {
    // REQ-MCP-02, REQ-MCP-08
    let read = async |tokens: usize| {
        let listed = tools(builder().description_budget(tokens)).await;
        listed[1].description.clone()
    };
    let names = "Supported operations: introspect, list_notes, get_note, show_caller\n";
    let signature = "\n- get_note: Show a note.";
    assert!(read(0).await.contains(names));
    assert!(read(1_500).await.contains(signature));
    let one = tools(builder().mode(EndpointMode::Single)).await;
    let described = "- Create:\n  - create_note: Create a note.\n    title string: Title.";
    assert!(one[0].description.contains(described), "{}", one[0].description);
    // In mode `all`, only the tools of the families contain signatures.
    let all = tools(builder().mode(EndpointMode::All)).await;
    let (unified, families) = all.split_last().unwrap();
    assert!(!unified.description.contains("title string"), "{}", unified.description);
    assert!(families[0].description.contains("title string"), "{}", families[0].description);
}

#[tokio::test]
async fn descriptions_grow_with_the_budget_and_stay_within_it() {
    // REQ-MCP-02, REQ-MCP-08
    for mode in [EndpointMode::Semantic, EndpointMode::Single, EndpointMode::All] {
        let size = async |tokens: usize| {
            let listed = tools(builder().mode(mode).description_budget(tokens)).await;
            listed.iter().map(|tool| tool.description.len()).sum::<usize>()
        };
        let names = size(0).await;
        let mut before = names;
        for tokens in (0..4_000).step_by(250) {
            let bytes = size(tokens).await;
            assert!(bytes >= before, "{mode:?}, {tokens} tokens: {bytes} bytes after {before}");
            // The names of the operations are always shown, even if they alone exceed the budget.
            assert!(bytes == names || bytes <= tokens * 4, "{mode:?}, {tokens} tokens: {bytes}");
            before = bytes;
        }
        assert!(before > names, "{mode:?}");
    }
}

/// A condition that may contain itself.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
enum Condition {
    /// A text.
    Text(String),
    /// All of these.
    All(Vec<Condition>),
    /// A field.
    Field {
        /// Its name.
        name: String,
    },
}

impl Condition {
    fn count(&self) -> usize {
        match self {
            Self::Text(text) => text.len().min(1),
            Self::All(parts) => parts.iter().map(Self::count).sum(),
            Self::Field { name } => name.len().min(1),
        }
    }
}

/// Count the texts of a condition.
#[mcp_aql::operation(category = "READ")]
fn count_texts(
    /// The condition.
    condition: Condition,
) -> usize {
    condition.count()
}

#[tokio::test]
async fn a_type_that_contains_itself_is_described() {
    // REQ-MCP-02, REQ-INT-13
    let builder = mcp_aql::Adapter::builder("counts").operation(count_texts {});
    let listed = tools(builder).await;
    let form = "condition string | (string | Condition[] | { name string })[] | { name string }: ";
    assert!(listed[1].description.contains(form), "{}", listed[1].description);
}

#[tokio::test]
async fn families_of_an_own_profile_are_described_by_their_template() {
    // REQ-EPT-08, REQ-MCP-02, REQ-MCP-04, REQ-MCP-06
    use SemanticCategory::{Create, Delete, Execute, Read, Update};
    let profile = EndpointProfile::custom("office")
        .family("look", "Look things up.", [Read])
        .family("manage", "Change things.", [Create, Delete])
        .family("operate", "Run jobs.", [Execute])
        .family("edit", "Edit things.", [Update])
        .introspect_in("look");
    let listed = tools(builder().profile(profile)).await;
    let names: Vec<_> = listed.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["mcp_aql_look", "mcp_aql_manage", "mcp_aql_operate", "mcp_aql_edit"]);
    let parts = [
        "Change things.",
        "Primary semantic categories: CREATE, DELETE",
        "Supported operations:\n- create_note: Create a note.\n  title string: Title.\n- delete_notes: Delete all notes.",
        "Quick start example:\n{ operation: \"create_note\"",
        "Discover all operations and parameters:\n{ operation: \"introspect\"",
        "mcp_aql_look",
    ];
    assert_parts(&listed[1].description, &parts);
    assert_eq!(listed[1].annotations["readOnlyHint"], false);
    assert_eq!(listed[1].annotations["destructiveHint"], true);
    let parts = ["Primary semantic categories: UPDATE", "Supported operations: none."];
    assert_parts(&listed[3].description, &parts);
}

#[tokio::test]
async fn the_server_instructions_explain_how_to_start() {
    // REQ-MCP-01
    let adapter =
        builder().instructions("Notes are short.").tool_prefix("a_").without_config().build();
    let client = Client::connect(&adapter.unwrap()).await.unwrap();
    let info = client.server_info();
    assert_eq!(info["serverInfo"]["name"], "notes");
    assert_eq!(info["serverInfo"]["version"], "1.2.3");
    let instructions = info["instructions"].as_str().unwrap();
    assert_parts(instructions, &["introspect", "a_mcp_aql_read", "Notes are short."]);
    // The tools show all operations, so there is no hint about the search.
    assert!(!instructions.contains("search"), "{instructions}");
    assert_eq!(info["capabilities"], json!({ "tools": {} }));
}

/// Returns the first call in a description, as JSON.
fn call_in(text: &str) -> Value {
    let (_, call) = text.split_once("{ operation").unwrap();
    let (call, _) = call.split_once("} }").unwrap();
    let mut call = format!("{{ operation{call}}} }}");
    for name in ["operation", "params", "query", "search", "name"] {
        call = call.replace(&format!("{name}: "), &format!("\"{name}\": "));
    }
    serde_json::from_str(&call).unwrap()
}

/// Builds an adapter with operations for many kinds of things.
fn large_adapter(mode: EndpointMode, kinds: usize) -> Adapter {
    let mut builder = builder().mode(mode);
    for kind in 0..kinds {
        for (verb, category) in [
            ("create", SemanticCategory::Create),
            ("get", SemanticCategory::Read),
            ("delete", SemanticCategory::Delete),
        ] {
            let name = format!("{verb}_record_of_kind_{kind}");
            let description = format!("The operation to {verb} a record of kind {kind}.");
            let operation = DynamicOperation::new(name, category, description, |_, _| async {
                Ok(Value::Null)
            });
            builder = builder.dynamic_operation(operation);
        }
    }
    builder.without_config().build().unwrap()
}

#[tokio::test]
async fn a_large_adapter_keeps_to_the_budget_and_points_at_the_search() {
    // REQ-MCP-01, REQ-MCP-08
    for (mode, tokens, tool) in
        [(EndpointMode::Semantic, 1_500, "mcp_aql_read"), (EndpointMode::Single, 600, "mcp_aql")]
    {
        for kinds in [20, 60, 400] {
            let adapter = large_adapter(mode, kinds);
            let client = Client::connect(&adapter).await.unwrap();
            let listed = client.list_tools().await.unwrap();
            let bytes: usize = listed.iter().map(|tool| tool.description.len() + 300).sum();
            assert!(bytes <= tokens * 4, "{mode:?}, {kinds} kinds: {bytes} bytes");
            // Clients of Claude truncate longer descriptions and instructions.
            for tool in &listed {
                assert!(tool.description.len() <= 2_048, "{}", tool.description);
            }
            let is_cut = listed.iter().any(|tool| tool.description.contains(" more"));
            assert_eq!(is_cut, kinds > 20, "{mode:?}, {kinds} kinds: {listed:?}");
            // The call in the instructions must work as it is written.
            let info = client.server_info();
            let instructions = info["instructions"].as_str().unwrap();
            let call = call_in(instructions);
            let reply = client.call_raw(tool, call.clone()).await.unwrap();
            let reply = reply["result"]["content"][0]["text"].as_str().unwrap();
            assert!(reply.contains("\"operations\":[{\"name\":"), "{call}: {reply}");
        }
    }
}
