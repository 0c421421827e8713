//! The aggregator as an MCP-AQL adapter.

use serde_json::{Value, json};

use super::support::{Client, Setup, operation, scripted, until};

/// Queries until all servers have started.
async fn started(client: &Client) {
    for _ in 0..600 {
        let states = operation(client, "list_servers", json!({ "fields": ["state"] })).await;
        let starting = |server: &Value| server["state"] == "starting" || server["state"] == "idle";
        if !states["data"]["items"].as_array().unwrap().iter().any(starting) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the servers do not start");
}

#[tokio::test]
async fn three_operations_over_the_same_engine() {
    // REQ-AGR-01, REQ-AGR-08
    let setup = Setup::new(
        vec![
            scripted("docs", "--results 12 --text pin_version_{i}_of_{i}{i}_and_{i}{i}{i}"),
            scripted("mail", "--results 1 --text lunch_is_in_the_hall"),
            scripted("broken", "--call error:s3cret"),
        ],
        &json!({}),
    );
    let client = setup.connect(&["--face", "mcp-aql"]).await;
    let tools = client.list_all_tools().await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == "mcp_aql_read"), "{tools:?}");
    started(&client).await;

    let found =
        operation(&client, "search_servers", json!({ "query": "pin a version", "first": 2 })).await;
    let items = found["data"]["items"].as_array().unwrap();
    assert_eq!(items.len(), 2, "{found}");
    assert_eq!((&items[0]["rank"], &items[0]["server"]), (&json!(1), &json!("docs")));
    assert!(found["data"]["pageInfo"]["hasNextPage"].as_bool().unwrap());
    let warnings = found["warnings"].to_string();
    assert!(warnings.contains("PARTIAL_RESULTS_WARNING") && warnings.contains("broken"), "{found}");
    assert!(!found.to_string().contains("s3cret"), "{found}");

    // A query may contain any characters.
    let question = format!("how do I \"pin a version\"? {}", "please ".repeat(80));
    let told = operation(&client, "search_servers", json!({ "query": question, "first": 1 })).await;
    assert_eq!(told["data"]["items"][0]["server"], "docs", "{told}");
    let applied = told["data"]["applied"]["query"][0].as_str().unwrap();
    assert!(applied.starts_with("how do I \"pin a version\"? please"), "{applied}");
    let worst = json!({
        "query": "pin a version", "first": 1, "sort": { "field": "relevance", "order": "asc" },
    });
    let worst = operation(&client, "search_servers", worst).await;
    assert_eq!(worst["data"]["items"][0]["rank"], 13, "{worst}");

    let after = found["data"]["pageInfo"]["endCursor"].clone();
    let params =
        json!({ "query": "pin a version", "first": 2, "after": after, "fields": ["rank"] });
    let next = operation(&client, "search_servers", params).await;
    assert_eq!(next["data"]["items"], json!([{ "rank": 3 }, { "rank": 4 }]), "{next}");

    let params = json!({
        "query": "pin a version",
        "servers": ["docs", "mail"],
        "aggregate": { "by_server": { "group_by": "server", "count": true } },
    });
    let counted = operation(&client, "search_servers", params).await;
    let by_server = &counted["data"]["aggregations"]["by_server"];
    assert_eq!((&by_server["docs"], &by_server["mail"]), (&json!(12), &json!(1)), "{counted}");
    assert!(counted.get("warnings").is_none(), "the broken one was not asked: {counted}");

    // Servers that a filter excludes are not queried either.
    let params = json!({ "query": "pin a version", "filter": { "server": "mail" } });
    let filtered = operation(&client, "search_servers", params).await;
    assert_eq!(filtered["data"]["items"].as_array().unwrap().len(), 1, "{filtered}");
    assert!(filtered.get("warnings").is_none(), "{filtered}");

    let states =
        operation(&client, "list_servers", json!({ "fields": ["name", "state", "metrics"] })).await;
    let states = states["data"]["items"].as_array().unwrap();
    assert_eq!(states.len(), 3);
    assert!(states.iter().all(|server| server["state"] == "ready"), "{states:?}");
    let docs = operation(&client, "get_server", json!({ "name": "docs" })).await;
    let docs = &docs["data"]["server"];
    assert_eq!(docs["tools"], json!(["search_docs"]), "{docs}");
    let asks =
        json!([{ "tool": "search_docs", "arguments": { "query": "{query}", "limit": "{limit}" } }]);
    assert_eq!(docs["asks"], asks, "{docs}");
    assert!(docs["metrics"]["calls"].as_u64().unwrap() >= 3, "{docs}");
    let metrics = &docs["metrics"];
    assert!(metrics["latency_ms"]["p50"].as_f64().unwrap() > 0.0, "{docs}");
    assert!(metrics["bytes_in"].as_u64() > metrics["bytes_out"].as_u64(), "{docs}");
    assert_eq!((&docs["transport"], &metrics["breaker"]), (&json!("command"), &json!("closed")));
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn configuration_problems_are_reported() {
    let calls = json!([
        { "tool": "search_docs", "arguments": { "query": "{keywords}", "token": "s3cret" } },
        { "tool": "saerch_docs" },
    ]);
    let setup = Setup::new(
        vec![scripted("docs", "")],
        &json!({ "servers": { "docs": { "calls": calls } } }),
    );
    let client = setup.connect(&["--face", "mcp-aql"]).await;
    started(&client).await;
    let docs = operation(&client, "get_server", json!({ "name": "docs" })).await;
    let docs = &docs["data"]["server"];
    assert_eq!(docs["asks"][0]["arguments"], json!({ "query": "{keywords}", "token": "…" }));
    assert_eq!(docs["asks"][1], Value::Null);
    let note = docs["notes"][0].as_str().unwrap();
    assert!(note.contains("saerch_docs") && note.contains("`search_docs`"), "{note}");
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn partial_failures_are_reported() {
    // REQ-AGR-08, REQ-AGR-11
    let calls = json!([
        { "tool": "search_docs", "arguments": { "query": "a {query|raw}" } },
        { "tool": "search_docs", "arguments": { "query": "b {query|raw}" } },
    ]);
    let setup = Setup::new(
        vec![scripted("docs", "--results 3 --text {i}_cats --call tool-error:s3cret --times 1")],
        &json!({ "servers": { "docs": { "calls": calls } } }),
    );
    let client = setup.connect(&["--face", "mcp-aql"]).await;
    started(&client).await;
    let found = operation(&client, "search_servers", json!({ "query": "cats" })).await;
    assert_eq!(found["data"]["items"].as_array().unwrap().len(), 3, "{found}");
    let warnings = found["warnings"].to_string();
    assert!(warnings.contains("failed to answer some of its calls: 'tool error'"), "{found}");
    assert!(!found.to_string().contains("s3cret"), "{found}");
    // The second query succeeds completely.
    let found = operation(&client, "search_servers", json!({ "query": "cats" })).await;
    assert!(found.get("warnings").is_none(), "{found}");
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn errors_have_the_protocols_codes() {
    let setup = Setup::new(vec![scripted("broken", "--call tool-error:s3cret")], &json!({}));
    let client = setup.connect(&["--face", "mcp-aql"]).await;
    started(&client).await;
    for (name, params, code) in [
        ("search_servers", json!({}), "VALIDATION_MISSING_PARAM"),
        ("search_servers", json!({ "query": " " }), "VALIDATION_INVALID_VALUE"),
        ("search_servers", json!({ "query": "\u{200b}" }), "VALIDATION_INVALID_VALUE"),
        ("search_servers", json!({ "query": "x".repeat(10_001) }), "VALIDATION_INVALID_VALUE"),
        ("search_servers", json!({ "query": "a", "frist": 3 }), "VALIDATION_UNKNOWN_PARAM"),
        ("search_servers", json!({ "query": "a", "servers": ["docs"] }), "NOT_FOUND_RESOURCE"),
        ("search_servers", json!({ "query": "a" }), "INTERNAL_ERROR"),
        ("get_server", json!({ "name": "docs" }), "NOT_FOUND_RESOURCE"),
    ] {
        let reply = operation(&client, name, params.clone()).await;
        assert_eq!(reply["success"], false);
        assert_eq!(reply["error"]["code"], code, "{name} {params}: {reply}");
        assert!(!reply.to_string().contains("s3cret"), "{reply}");
    }
    let all = operation(&client, "search_servers", json!({ "query": "a" })).await;
    assert_eq!(all["error"]["details"]["errors"], json!(["broken: tool error"]), "{all}");
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn long_texts_are_shortened_until_a_page_of_them_fits() {
    let setup = Setup::new(
        vec![scripted(
            "docs",
            "--results 60 --text {i}_cats_{i}{i}_dogs_{i}{i}{i}_ships_{i}{i}{i}{i}_words_to_say_what_nobody_reads",
        )],
        &json!({ "maxOutputBytes": 4096 }),
    );
    let client = setup.connect(&["--face", "mcp-aql"]).await;
    started(&client).await;
    let params = json!({ "query": "cats", "first": 60, "fields": ["content", "truncated"] });
    let found = operation(&client, "search_servers", params).await;
    let items = found["data"]["items"].as_array().unwrap();
    assert_eq!(items.len(), 60, "{found}");
    let bytes: usize = items.iter().map(|item| item["content"].as_str().unwrap().len()).sum();
    assert!((3500..=4096).contains(&bytes), "{bytes}");
    assert!(items.iter().any(|item| item["truncated"] == true), "{found}");
    assert!(found["warnings"].to_string().contains("maxOutputBytes"), "{found}");
    // The content is not shortened unless it is selected.
    let params = json!({ "query": "cats", "first": 60, "fields": ["rank", "truncated"] });
    let found = operation(&client, "search_servers", params).await;
    let mut items = found["data"]["items"].as_array().unwrap().iter();
    assert!(items.all(|item| item["truncated"] == false), "{found}");
    assert!(found.get("warnings").is_none(), "{found}");
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn the_adapter_conforms() {
    use mcp_aql_aggregator::{Aggregator, Config, adapter};

    let setup = Setup::new(
        vec![
            scripted("docs", "--results 25 --text some_words_{i}_of_{i}{i}_and_{i}{i}{i}"),
            scripted("mail", "--results 5 --text words_of_{i}_mails"),
        ],
        &json!({}),
    );
    let aggregator = Aggregator::start(Config::from_file(&setup.config()).unwrap());
    aggregator.settled().await;
    until("the servers answer", || aggregator.servers().len() == 2).await;
    let adapter = adapter(aggregator.clone()).unwrap();
    mcp_aql::testing::assert_conforms(&adapter).await;
    aggregator.close().await;
}
