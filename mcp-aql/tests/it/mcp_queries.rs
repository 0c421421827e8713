//! Tests of queries by a third-party client over a stream.

use mcp_aql::prelude::*;
use mcp_aql::query::SelectedFields;
use rmcp::model::CallToolRequestParams;
use rmcp::service::RunningService;
use rmcp::{RoleClient, ServiceExt as _};
use serde::Serialize;
use serde_json::{Value, json};

/// A book on the shelf.
#[derive(Debug, Clone, Serialize, JsonSchema, Resource)]
struct Book {
    /// Its number on the shelf.
    #[resource(id)]
    book_id: u32,
    /// Its title.
    #[resource(search, filter, sort)]
    title: String,
    /// Its labels.
    #[resource(filter, group)]
    subject: String,
    /// How many pages it has.
    #[resource(filter, sort, numeric)]
    pages: u32,
}

#[computed_fields]
impl Book {
    /// Evenings needed to read it.
    #[computed(filter, sort)]
    fn evenings(&self) -> u32 {
        self.pages.div_ceil(60)
    }
}

struct Shelf(Vec<Book>);

#[operations]
impl Shelf {
    /// List the books.
    #[operation(category = "READ")]
    fn list_books(&self, query: CollectionQuery<Book>) -> Result<Page<Book>, OperationError> {
        query.run(&self.0)
    }

    /// Search the books.
    #[operation(category = "READ")]
    fn search_books(&self, query: CollectionQuery<Book>) -> Result<Page<Book>, OperationError> {
        query.run(&self.0)
    }

    /// Get a book.
    #[operation(category = "READ")]
    fn get_book(
        &self,
        /// Its number on the shelf.
        book_id: u32,
        fields: Fields<Book>,
    ) -> Result<SelectedFields<Book>, OperationError> {
        let book = self.0.iter().find(|book| book.book_id == book_id).cloned();
        book.map(|book| fields.of(book)).ok_or_else(|| OperationError::not_found("book", book_id))
    }
}

fn books() -> Vec<Book> {
    let book = |book_id, title: &str, subject: &str, pages| Book {
        book_id,
        title: title.to_owned(),
        subject: subject.to_owned(),
        pages,
    };
    vec![
        book(1, "The garden in winter", "plants", 120),
        book(2, "Apples", "plants", 80),
        book(3, "A history of gardens", "history", 400),
        book(4, "Über Gärten", "history", 61),
        book(5, "Birds", "animals", 60),
    ]
}

async fn connect() -> RunningService<RoleClient, ()> {
    let adapter =
        Adapter::builder("shelf").operations(Shelf(books())).without_config().build().unwrap();
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    tokio::spawn(async move { adapter.serve(theirs).await });
    ().serve(ours).await.unwrap()
}

/// Calls an operation and returns the reply and the tool's error flag.
async fn ask(
    client: &RunningService<RoleClient, ()>,
    operation: &str,
    params: Value,
) -> (Value, bool) {
    let arguments = json!({ "operation": operation, "params": params });
    let params = CallToolRequestParams::new("mcp_aql_read")
        .with_arguments(arguments.as_object().unwrap().clone());
    let result = client.call_tool(params).await.unwrap();
    let text = &result.content[0].as_text().unwrap().text;
    (serde_json::from_str(text).unwrap(), result.is_error == Some(true))
}

#[tokio::test]
async fn a_client_combines_all_controls() {
    // REQ-COL-01, REQ-COL-10, REQ-AGG-04, REQ-AGG-05, REQ-FLD-07, REQ-CMP-01, REQ-PAG-04
    let client = connect().await;
    let (reply, failed) = ask(
        &client,
        "search_books",
        json!({
            "query": "garden gärten", "filter": { "pages": { "gt": 60 } },
            "sort": { "field": "pages", "order": "desc" }, "fields": ["title", "_computed.evenings"],
            "aggregate": { "by_subject": { "group_by": "subject", "sum": "pages" } },
            "include_items": true, "first": 2,
        }),
    )
    .await;
    assert!(!failed, "{reply}");
    let data = &reply["data"];
    assert_eq!(
        data["items"],
        json!([
            { "title": "A history of gardens", "_computed": { "evenings": 7 } },
            { "title": "The garden in winter", "_computed": { "evenings": 2 } },
        ])
    );
    assert_eq!(data["aggregations"], json!({ "by_subject": { "history": 461, "plants": 120 } }));
    assert_eq!(data["pageInfo"]["hasNextPage"], true);
    assert_eq!(data["pageInfo"]["totalCount"], 3);
    assert_eq!(data["applied"]["query"], json!(["garden", "garten"]));
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn a_client_walks_all_pages() {
    // REQ-PAG-01, REQ-PAG-04, REQ-PAG-09
    let client = connect().await;
    let mut titles = Vec::new();
    let mut params = json!({ "sort": { "field": "title" }, "fields": ["title"], "first": 2 });
    loop {
        let (reply, _) = ask(&client, "list_books", params.clone()).await;
        let items = reply["data"]["items"].as_array().unwrap();
        titles.extend(items.iter().map(|item| item["title"].as_str().unwrap().to_owned()));
        let info = &reply["data"]["pageInfo"];
        if info["hasNextPage"] == false {
            break;
        }
        params["after"] = info["endCursor"].clone();
    }
    assert_eq!(
        titles,
        ["A history of gardens", "Apples", "Birds", "The garden in winter", "Über Gärten"]
    );
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn a_cursor_belongs_to_its_adapter() {
    // REQ-PAG-10
    let (one, other) = (connect().await, connect().await);
    let (reply, _) = ask(&one, "list_books", json!({ "first": 2 })).await;
    let after = &reply["data"]["pageInfo"]["endCursor"];
    let (reply, failed) = ask(&other, "list_books", json!({ "first": 2, "after": after })).await;
    assert_eq!(reply["error"]["code"], "VALIDATION_INVALID_VALUE");
    assert_eq!(reply["error"]["details"]["param_name"], "after");
    assert!(!failed, "another call helps");
    one.cancel().await.unwrap();
    other.cancel().await.unwrap();
}

#[tokio::test]
async fn a_client_receives_the_reason_of_an_error() {
    // REQ-COL-04, REQ-COL-05, REQ-COL-07, REQ-AGG-08, REQ-FLD-09, REQ-PAG-02, REQ-PAG-03
    let client = connect().await;
    for (params, code, param, part) in [
        (
            json!({ "filter": { "titel": "x" } }),
            "VALIDATION_INVALID_VALUE",
            "filter",
            "Did you mean 'title'?",
        ),
        (
            json!({ "sort": { "field": "page" } }),
            "VALIDATION_INVALID_VALUE",
            "sort.field",
            "Did you mean 'pages'?",
        ),
        (
            json!({ "fields": ["page"] }),
            "VALIDATION_INVALID_VALUE",
            "fields[0]",
            "Did you mean 'pages'?",
        ),
        (
            json!({ "aggregate": { "a": { "sum": "title" } } }),
            "VALIDATION_INVALID_VALUE",
            "aggregate.a.sum",
            "which cannot be added; these can: pages",
        ),
        (json!({ "first": 1, "last": 1 }), "VALIDATION_INVALID_TYPE", "pagination", "not both"),
        (json!({ "limit": 1 }), "VALIDATION_UNKNOWN_PARAM", "limit", "'limit'"),
    ] {
        let (reply, failed) = ask(&client, "list_books", params.clone()).await;
        assert_eq!(reply["error"]["code"], code, "{params}: {reply}");
        if code != "VALIDATION_UNKNOWN_PARAM" {
            assert_eq!(reply["error"]["details"]["param_name"], param, "{params}");
        }
        assert!(reply["error"]["message"].as_str().unwrap().contains(part), "{params}: {reply}");
        assert!(!failed, "{params}");
    }
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn a_client_discovers_every_control_through_introspection() {
    // REQ-INT-21, REQ-COL-11, REQ-AGG-09, REQ-CMP-04, REQ-FLD-01, REQ-FLD-10
    let client = connect().await;
    let (reply, _) =
        ask(&client, "introspect", json!({ "query": "operations", "name": "search_books" })).await;
    let details = &reply["data"]["operation"];
    let names: Vec<_> =
        details["parameters"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    for name in
        ["query", "filter", "sort", "fields", "aggregate", "include_items", "first", "after"]
    {
        assert!(names.contains(&json!(name)), "{name}");
    }
    assert_eq!(details["computed_fields"][0]["name"], "evenings");
    assert_eq!(details["aggregation_support"]["groupable_fields"], json!(["subject"]));
    // The published example is a valid call.
    let params = details["examples"][0]["request"]["params"].clone();
    let (reply, _) = ask(&client, "search_books", params).await;
    assert_eq!(reply["success"], true, "{reply}");
    let (reply, _) =
        ask(&client, "introspect", json!({ "query": "types", "name": "FieldSelection" })).await;
    assert_eq!(reply["data"]["type"]["kind"], "object");
    let (reply, _) = ask(&client, "get_book", json!({ "book_id": 4, "fields": "minimal" })).await;
    assert_eq!(reply["data"]["book"], json!({ "book_id": 4, "title": "Über Gärten" }));
    client.cancel().await.unwrap();
}
