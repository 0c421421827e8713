//! Tests row filters: a query must not read, count or aggregate rows hidden from the caller.
//!
//! After you changed how queries read rows, run more cases than usual:
//!
//! ```console
//! $ ROW_FILTER_GARDENS=5000 cargo test -p mcp-aql-tests-protocol row_filters
//! ```

use mcp_aql::query::{CollectionQuery, CursorKey, QueryOptions, TextSearch};
use mcp_aql::resource::RowFilter;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use super::garden::Plant;
use super::naive;
use super::properties::{expression, filter, rows, sort, sort_param};

const OPTIONS: QueryOptions =
    QueryOptions::new().text(TextSearch::Optional).page_size(4).accept_offset();

fn parse(params: &Value) -> CollectionQuery<Plant> {
    let params = params.as_object().cloned().unwrap_or_default();
    CollectionQuery::parse(&OPTIONS, params, &CursorKey::new([7; 16])).expect("the query is valid")
}

/// Runs a query with a row filter. Returns the page in the form that callers see.
fn restricted(params: &Value, visible: &Value, plants: &[Plant]) -> Value {
    let query = parse(params).restricted(&RowFilter::new(visible.clone())).unwrap();
    serde_json::to_value(query.run(plants).unwrap()).unwrap()
}

/// Generates a query with any combination of controls.
fn query() -> impl Strategy<Value = Value> {
    let text = option::of(select(vec!["oak", "elm red", "x-ray", "\"red elm\""]));
    let window = (0..5_usize, 0..6_usize, 0..6_usize);
    let aggregates = vec(expression(), 0..3);
    (text, option::of(filter()), sort(), aggregates, any::<bool>(), window).prop_map(
        |(text, filter, keys, aggregates, include_items, (window, size, skipped))| {
            let mut params = Map::new();
            params.extend(text.map(|text| ("query".to_owned(), json!(text))));
            params.extend(filter.map(|filter| ("filter".to_owned(), filter)));
            if !keys.is_empty() {
                params.insert("sort".to_owned(), sort_param(&keys));
            }
            let labels = (0..).map(|number| format!("label {number}"));
            let labelled: Map<_, _> =
                labels.zip(aggregates.into_iter().map(Value::Object)).collect();
            if !labelled.is_empty() {
                params.insert("aggregate".to_owned(), labelled.into());
                params.insert("include_items".to_owned(), json!(include_items));
            }
            match window {
                0 => {}
                1 => drop(params.insert("first".to_owned(), json!(size))),
                2 => drop(params.insert("last".to_owned(), json!(size))),
                _ => {
                    params.insert("limit".to_owned(), json!(size));
                    params.insert("offset".to_owned(), json!(skipped));
                }
            }
            Value::Object(params)
        },
    )
}

/// Number of random gardens, each with 10 queries. For a longer run, you can set `ROW_FILTER_GARDENS`.
fn gardens() -> u32 {
    let number = std::env::var("ROW_FILTER_GARDENS").ok().and_then(|text| text.parse().ok());
    number.unwrap_or(100)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: gardens(), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn a_restricted_query_equals_one_of_the_visible_rows(
        plants in rows(30),
        visible in filter(),
        queries in vec(query(), 10),
    ) {
        // REQ-AGG-06, REQ-COL-04, REQ-PAG-01
        let (seen, hidden): (Vec<_>, Vec<_>) =
            plants.iter().cloned().partition(|plant| naive::holds(&naive::row(plant), &visible));
        for params in queries {
            let page = restricted(&params, &visible, &plants);
            let wanted = serde_json::to_value(parse(&params).run(&seen).unwrap()).unwrap();
            prop_assert_eq!(&page, &wanted, "{} of {}", params, visible);
            // A cursor may come from a caller who sees the other rows. It must not lead to them.
            let other = serde_json::to_value(parse(&params).run(&hidden).unwrap()).unwrap();
            let cursor = &other["pageInfo"]["endCursor"];
            if cursor.is_string() && params.get("last").or(params.get("limit")).is_none() {
                let mut next = params.clone();
                next["first"] = json!(3);
                next["after"] = cursor.clone();
                let page = restricted(&next, &visible, &plants);
                let wanted = serde_json::to_value(parse(&next).run(&seen).unwrap()).unwrap();
                prop_assert_eq!(&page, &wanted, "{} of {}", next, visible);
            }
        }
    }
}

#[test]
fn a_faulty_row_filter_hides_everything() {
    for condition in [json!({ "nmae": "x" }), json!({ "rank": "high" }), json!([])] {
        let error = parse(&json!({})).restricted(&RowFilter::new(condition)).unwrap_err();
        assert_eq!(error.code(), mcp_aql::ErrorCode::InternalError);
        assert!(!error.message().contains("nmae"), "{}", error.message());
    }
}

#[test]
fn conditions_combine() {
    let plants = super::garden::plants();
    let all = restricted(&json!({}), &json!({}), &plants);
    assert_eq!(all["pageInfo"]["totalCount"], plants.len());
    let none: RowFilter<Plant> = RowFilter::none();
    assert!(!none.matches(&plants[0]).unwrap());
    let both = RowFilter::<Plant>::new(json!({ "kind": "tree" })).and(RowFilter::none());
    assert!(!both.matches(&plants[0]).unwrap());
}
