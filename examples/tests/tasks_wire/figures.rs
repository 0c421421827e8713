//! Checks the size of the tool list that the book states.

use serde_json::json;

use crate::mcp::Mcp;

/// Returns the bytes of the tool list as compact JSON, and the number of tools.
async fn tools(mode: &str) -> (usize, usize) {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("tasks.db");
    let variables = [("MCP_AQL_ENDPOINT_MODE", mode)];
    let client = Mcp::start("tasks", &["--db", db.to_str().unwrap()], &variables).await;
    let tools = client.tools().await;
    client.close().await;
    (serde_json::to_string(&json!(tools)).unwrap().len(), tools.len())
}

#[tokio::test]
async fn the_book_states_the_size_of_the_tool_list() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("tasks.db");
    let client = Mcp::start("tasks", &["--db", db.to_str().unwrap()], &[]).await;
    let list = json!({ "query": "operations" });
    let list = client.data("mcp_aql_read", "introspect", list).await;
    client.close().await;
    // Every adapter has `introspect`.
    let operations = list["operations"].as_array().unwrap().len() - 1;
    let (five, five_tools) = tools("semantic").await;
    let (one, one_tools) = tools("single").await;
    assert_eq!((five_tools, one_tools), (5, 1));
    let says = format!(
        "`examples/tasks`, {operations} operations, measured as compact JSON: {} bytes with five \
         tools, {} with one.",
        thousands(five),
        thousands(one)
    );
    let chapter = include_str!("../../../book/src/tokens.md")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(chapter.contains(&says), "the chapter should say: {says}");
}

fn thousands(number: usize) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", number / 1_000, number % 1_000),
    }
}
