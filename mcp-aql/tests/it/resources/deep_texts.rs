//! Tests of parameters with an inner structure, such as paths and filters: long and deep strings must not overflow a
//! small stack.

use std::collections::BTreeMap;

use mcp_aql::prelude::*;
use mcp_aql::resource::MemoryRecords;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A page of a notebook.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Leaf {
    /// Number of the page.
    #[resource(id, filter, sort)]
    leaf_id: u32,
    /// Title of the page.
    #[resource(search, filter, sort, group)]
    title: String,
    /// Anything.
    metadata: Value,
    /// Anything by name.
    parts: BTreeMap<String, Value>,
}

/// The size of the stack, in bytes. tokio's threads have eight times as much.
const STACK: usize = 256 << 10;

/// The numbers of levels: around the limits, a number that once overflowed the stack, and a very large number.
const LEVELS: [usize; 6] = [1, 63, 64, 65, 4_250, 50_000];

/// Returns strings with this many levels.
fn texts(levels: usize) -> Vec<String> {
    let mut texts: Vec<_> = [
        ".", "..", ".a", "a,", "a/", "a(", "[", "{", "(", "!", "-", "\\", "\"", "'", "*", "?", "%",
    ]
    .iter()
    .map(|part| part.repeat(levels))
    .collect();
    for root in ["metadata", "parts", "parts.a", "_computed", "title", "and", "not"] {
        texts.push(format!("{root}{}", ".a".repeat(levels)));
    }
    texts.push(format!("{}1{}", "[".repeat(levels), "]".repeat(levels)));
    texts.push(format!("{}1{}", "{\"not\":".repeat(levels), "}".repeat(levels)));
    texts
}

/// Returns calls with a string at each position that accepts one.
fn calls(text: &str) -> Vec<(&str, Value)> {
    let nested = |levels: usize| (0..levels).fold(json!(text), |inner, _| json!({ "not": inner }));
    vec![
        ("get_leaf", json!({ "leaf_id": 1, "fields": [text] })),
        ("get_leaf", json!({ "leaf_id": 1, "fields": text })),
        ("list_leaves", json!({ "fields": [text, "metadata"] })),
        ("list_leaves", json!({ "fields": vec![text; 20] })),
        ("list_leaves", json!({ "filter": { text: 1 } })),
        ("list_leaves", json!({ "filter": text })),
        ("list_leaves", json!({ "filter": nested(20) })),
        ("list_leaves", json!({ "filter": { "title": { "contains": text } } })),
        ("list_leaves", json!({ "filter": { "title": { text: 1 } } })),
        ("list_leaves", json!({ "sort": [{ "field": text, "order": "asc" }] })),
        ("list_leaves", json!({ "sort": text })),
        ("list_leaves", json!({ "aggregate": { "group_by": [text] } })),
        ("list_leaves", json!({ "aggregate": { "max": text } })),
        ("list_leaves", json!({ "after": text })),
        ("list_leaves", json!({ text: 1 })),
        ("search_leaves", json!({ "query": text, "fields": [text] })),
        ("create_leaf", json!({ "title": text, "metadata": text, "parts": { text: text } })),
        (
            "update_leaf",
            json!({ "leaf_id": 1, "input": { text: text, "parts": { text: nested(20) } } }),
        ),
        ("introspect", json!({ "query": text, "name": text })),
        (text, json!({})),
    ]
}

#[test]
fn no_text_needs_more_stack_than_another() {
    // REQ-ENC-12, REQ-FLD-04
    let test = || {
        let leaves = MemoryRecords::<Leaf>::new();
        let adapter = Adapter::builder("notebook").resource(leaves).without_config();
        let adapter = adapter.build().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let deep = (0..20).fold(json!(1), |inner, _| json!({ "a": inner }));
            let leaf = json!({ "title": "a", "metadata": deep, "parts": { "a": deep } });
            assert!(adapter.call("create_leaf", leaf).await.error().is_none());
            let path = format!("metadata{}", ".a".repeat(20));
            let found = adapter.call("get_leaf", json!({ "leaf_id": 1, "fields": [path] })).await;
            assert!(found.error().is_none(), "{:?}", found.error());
            for text in LEVELS.iter().flat_map(|levels| texts(*levels)) {
                for (operation, params) in calls(&text) {
                    // Any answer is correct. A stack overflow would end the process.
                    adapter.call(operation, params).await;
                }
            }
            let path = format!("metadata{}", ".a".repeat(64));
            let refused = adapter.call("get_leaf", json!({ "leaf_id": 1, "fields": [path] })).await;
            let message = refused.error().unwrap().message.clone();
            assert!(message.contains("is longer than 64 names and 512 bytes"), "{message}");
        });
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(test).unwrap();
    assert!(thread.join().is_ok());
}
