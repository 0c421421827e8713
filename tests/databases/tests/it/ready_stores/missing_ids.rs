//! Tables of SQLite with rows whose primary key is NULL, and checks of their pages. The tests of `mcp-aql-sqlx` include
//! this file.

use mcp_aql::Adapter;
use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A tag, which may have no code.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource)]
#[resource(operations(list))]
pub(crate) struct Tag {
    /// Code of the tag.
    #[resource(id, filter, sort)]
    code: String,
    /// A name that no two tags share.
    #[resource(filter, sort)]
    name: String,
    /// A rank that several tags share.
    #[resource(filter, sort)]
    rank: Option<i64>,
}

/// Returns SQL for several tables and the number of rows of each. In most, primary keys are NULL. In the others, the
/// row number is a column with another meaning, or missing.
pub(crate) fn tables() -> Vec<(String, usize)> {
    let rows = |is_missing: fn(usize) -> bool| {
        let row = |number: usize| {
            let code =
                if is_missing(number) { "NULL".to_owned() } else { format!("'c{number:02}'") };
            let rank =
                if number.is_multiple_of(3) { "NULL".to_owned() } else { (number % 2).to_string() };
            format!("INSERT INTO tag (code, name, rank) VALUES ({code}, 'n{number:02}', {rank});")
        };
        (0..14).map(row).collect::<String>()
    };
    let some = |number: usize| number % 4 != 1;
    let never = |_: usize| false;
    [
        ("code TEXT PRIMARY KEY, name TEXT, rank INTEGER", "", rows(some)),
        ("code TEXT PRIMARY KEY, name TEXT, rank INTEGER", "", rows(|_| true)),
        ("code TEXT UNIQUE, name TEXT, rank INTEGER", "", rows(some)),
        ("Code TEXT PRIMARY KEY, name TEXT, rank INTEGER, RowId TEXT", "", rows(some)),
        ("code TEXT, name TEXT, rank INTEGER, PRIMARY KEY (code, name)", "", rows(some)),
        ("code TEXT PRIMARY KEY, name TEXT, rank INTEGER", " WITHOUT ROWID", rows(never)),
        (
            "code TEXT PRIMARY KEY NOT NULL, name TEXT, rank INTEGER, oid, rowid, _rowid_",
            "",
            rows(never),
        ),
    ]
    .into_iter()
    .map(|(columns, rest, rows)| {
        let drop = "DROP TABLE IF EXISTS tag;";
        (format!("{drop} CREATE TABLE tag ({columns}){rest}; {rows}"), 14)
    })
    .collect()
}

/// Lists all rows in pages of each size, forwards and backwards. Compares them with the rows on a single page.
pub(crate) async fn every_row_is_on_a_page(adapter: &Adapter, table: &str, count: usize) {
    let list = async |window: &Value, sort: &Value| {
        let mut params = json!({ "sort": sort, "fields": ["name"] });
        params.as_object_mut().unwrap().extend(window.as_object().unwrap().clone());
        let page = adapter.call("list_tags", params).await;
        assert!(page.error().is_none(), "{table}: {:?}", page.error());
        page.data().clone()
    };
    let names = |page: &Value| {
        let items = page["items"].as_array().unwrap();
        items.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for sort in [
        json!([{ "field": "code" }]),
        json!([{ "field": "rank" }]),
        json!([{ "field": "rank", "order": "desc" }]),
        json!([{ "field": "code", "order": "desc" }]),
        json!([{ "field": "code" }, { "field": "rank" }]),
    ] {
        let all = names(&list(&json!({ "first": 100 }), &sort).await);
        let mut distinct = all.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), count, "{table}");
        for size in [1, 3] {
            let (mut found, mut window) = (Vec::new(), json!({ "first": size }));
            while found.len() <= all.len() {
                let page = list(&window, &sort).await;
                found.extend(names(&page));
                if page["pageInfo"]["hasNextPage"] != true {
                    break;
                }
                window["after"] = page["pageInfo"]["endCursor"].clone();
            }
            assert_eq!(found, all, "{table}: {sort} by {size}");
            let (mut found, mut window) = (Vec::new(), json!({ "last": size }));
            while found.len() <= all.len() {
                let page = list(&window, &sort).await;
                found.splice(..0, names(&page));
                if page["pageInfo"]["hasPreviousPage"] != true {
                    break;
                }
                window["before"] = page["pageInfo"]["startCursor"].clone();
            }
            assert_eq!(found, all, "{table}: {sort} by {size}, backwards");
        }
    }
}
