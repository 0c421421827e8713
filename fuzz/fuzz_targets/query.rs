//! Parses bytes as the parameters of a collection query.
//!
//! The reply must be the same every time, cursors must continue where the page ended, and every returned row must match
//! the filter.
//!
//! If the target fails, you find the input in `fuzz/artifacts/query/`. An input has this form:
//!
//! ```json
//! {"query": "oak", "filter": {"number": {"gte": -2}}, "sort": [{"field": "ratio", "order": "desc"}], "first": 3}
//! ```
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use mcp_aql::prelude::*;
use mcp_aql::transport::{CallScope, Endpoint};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::runtime::{Builder, Runtime};

/// A row.
#[derive(Debug, Clone, Serialize, JsonSchema, Resource)]
#[resource(presets(brief = [key, inner.size, _computed.half]), default_sort(number desc))]
struct Thing {
    /// Identifier.
    #[resource(id, filter, sort)]
    key: u32,
    /// Text.
    #[resource(search, filter, sort, group)]
    text: String,
    /// A whole number.
    #[resource(filter, sort, numeric, group)]
    number: Option<i64>,
    /// A number.
    #[resource(filter, sort, numeric)]
    ratio: f64,
    /// Kind.
    #[resource(filter, sort, group)]
    kind: Kind,
    /// Labels.
    #[resource(filter)]
    tags: Vec<String>,
    /// Nested object.
    #[resource(nested)]
    inner: Option<Inner>,
}

/// A kind of row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// The first.
    Old,
    /// The second.
    New,
}

/// A nested object.
#[derive(Debug, Clone, Serialize, JsonSchema, Resource)]
struct Inner {
    /// Size.
    #[resource(filter, sort, numeric, group)]
    size: i8,
}

#[computed_fields]
impl Thing {
    /// Half of the number.
    #[computed(filter, sort)]
    fn half(&self) -> Option<i64> {
        self.number.map(|number| number / 2)
    }
}

struct Things(Vec<Thing>);

#[operations]
impl Things {
    /// List the things.
    #[operation(category = "READ")]
    fn list_things(
        &self,
        #[query(
            text = "optional",
            accept(offset, page, preset, order),
            page_size = 4,
            max_page_size = 8
        )]
        query: CollectionQuery<Thing>,
    ) -> Result<Page<Thing>, OperationError> {
        query.run(&self.0)
    }
}

fn things() -> Things {
    let words = ["oak", "Elm tree", "", "\"null\"", "été", "oak"];
    let rows = (0..24_u8).map(|number| Thing {
        key: number.into(),
        text: words.iter().cycle().nth(number.into()).copied().unwrap_or_default().to_owned(),
        number: (number % 5 != 0).then(|| i64::from(number % 7) - 3),
        ratio: f64::from(number % 4) / 2.0 - 0.5,
        kind: if number % 3 == 0 { Kind::New } else { Kind::Old },
        tags: words.iter().take((number % 3).into()).map(|word| (*word).to_owned()).collect(),
        inner: (number % 2 == 0).then(|| Inner { size: (number % 6) as i8 - 2 }),
    });
    Things(rows.collect())
}

static ADAPTER: LazyLock<Adapter> = LazyLock::new(|| {
    Adapter::builder("fuzz")
        .operations(things())
        .without_config()
        .build()
        .expect("the adapter is sound")
});

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread().build().expect("a runtime starts");
}

async fn ask(params: &Map<String, Value>) -> Value {
    let mut arguments = Map::new();
    arguments.insert("operation".to_owned(), "list_things".into());
    arguments.insert("params".to_owned(), params.clone().into());
    let reply = ADAPTER.handle(Endpoint::Unified, arguments, CallScope::default()).await;
    serde_json::from_str(&reply.text).expect("a reply is JSON")
}

/// Returns the keys of the rows on a page, or `None` if `fields` excludes them.
fn keys(reply: &Value) -> Option<Vec<u64>> {
    let items = reply["data"]["items"].as_array()?;
    items.iter().map(|item| item["key"].as_u64()).collect()
}

/// Reads all pages from `first` to the end and back. Checks that no row occurs twice.
async fn walk(params: &Map<String, Value>, first: &Value) {
    let mut params = params.clone();
    for name in ["after", "last", "before", "fields", "preset"] {
        params.remove(name);
    }
    params.insert("first".to_owned(), 5.into());
    // The search stays, because it may define the order. Aggregates have no influence on pages, so they are removed.
    params.remove("aggregate");
    params.remove("include_items");
    let mut seen: Vec<u64> = Vec::new();
    let mut cursor = first["data"]["pageInfo"]["endCursor"].clone();
    while cursor.is_string() {
        params.insert("after".to_owned(), cursor);
        let page = ask(&params).await;
        assert_eq!(page["success"], true, "{page}");
        for key in keys(&page).expect("rows have keys") {
            assert!(!seen.contains(&key), "{key} came twice");
            seen.push(key);
        }
        cursor = page["data"]["pageInfo"]["endCursor"].clone();
        if page["data"]["pageInfo"]["hasNextPage"] == false {
            break;
        }
    }
    if let Some(before) = keys(first) {
        assert!(before.iter().all(|key| !seen.contains(key)), "{before:?} and {seen:?}");
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(params) = serde_json::from_slice::<Map<String, Value>>(bytes) else { return };
    RUNTIME.with(|runtime| {
        runtime.block_on(async {
            let reply = ask(&params).await;
            assert_eq!(reply, ask(&params).await);
            if reply["success"] == false {
                let code = reply["error"]["code"].as_str().unwrap_or_default();
                assert!(code.starts_with("VALIDATION_"), "{reply}");
                let message = reply["error"]["message"].as_str().unwrap_or_default();
                assert!(!mcp_aql::testing::leaks_internals(message), "{message}");
                return;
            }
            if reply["data"]["pageInfo"].is_object() {
                walk(&params, &reply).await;
            }
        });
    });
});
