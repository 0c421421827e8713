//! The example `library` as an adapter for these tests. It was not written with them in mind.

use mcp_aql::prelude::*;
use mcp_aql::{EndpointProfile, Policy, SemanticCategory as Category};
use serde_json::{Value, json};

use super::mistakes::Features;
use crate::operations::Library;
use crate::stock::Stock;

pub(crate) fn library() -> Adapter {
    let profile = EndpointProfile::custom("library")
        .family("discover", "Find books.", [])
        .family("query", "Read.", [Category::Read])
        .family("manage", "Write.", [Category::Create, Category::Update, Category::Delete])
        .family("operate", "Lend.", [Category::Execute])
        .introspect_in("discover");
    Adapter::builder("library")
        .profile(profile)
        .operations(Library::new(Stock::with_some_books()))
        .policy(Policy::allow("delete_book"))
        .without_config()
        .build()
        .expect("the library is sound")
}

pub(crate) fn features() -> Features {
    Features {
        enums: &["subject", "input.subject"],
        limits: vec![
            ("word", vec![json!(""), json!("x".repeat(101))]),
            ("place.floor", vec![json!(4), json!(-1)]),
            ("place.shelf", vec![json!("s7"), json!("7"), json!("S777")]),
            ("input.place.shelf", vec![json!("f4")]),
            ("input.copies", vec![json!(0), json!(101)]),
            ("weeks", vec![json!(0), json!(9), json!(52)]),
            ("title", vec![json!("")]),
            ("first", vec![json!(0), json!(100_000)]),
        ],
        ..Features::default()
    }
}

/// Returns valid calls. Most of them are the examples of the operations.
pub(crate) fn samples() -> Vec<(&'static str, Value)> {
    vec![
        ("find_books", json!({ "word": "whale" })),
        ("find_books", json!({ "subject": "science", "first": 50 })),
        ("get_book", json!({ "book_id": 1 })),
        ("get_member", json!({ "member_id": 1 })),
        ("list_loans", json!({ "member_id": 1, "returned": true, "first": 5 })),
        (
            "create_book",
            json!({
                "title": "Cosmos", "author": "Carl Sagan", "subject": "science",
                "place": { "floor": 1, "shelf": "S7", "hint": "by the door" }, "copies": 2,
            }),
        ),
        ("update_book", json!({ "book_id": 1, "input": { "place": { "shelf": "F4" } } })),
        ("update_book", json!({ "book_id": 1, "input": { "copies": 3 }, "if_match": 1 })),
        (
            "update_book",
            json!({
                "book_id": 2,
                "input": {
                    "title": "Frankenstein", "subject": "fiction",
                    "place": { "floor": 2, "hint": null },
                },
            }),
        ),
        ("delete_book", json!({ "book_id": 1 })),
        ("create_member", json!({ "name": "Ada" })),
        ("lend_book", json!({ "book_id": 1, "member_id": 1, "weeks": 2 })),
    ]
}
