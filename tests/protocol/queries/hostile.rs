//! Tests requests made to be expensive, unusual numbers, and resources with mistakes.

use mcp_aql::Adapter;
use mcp_aql::prelude::*;
use mcp_aql::query::{Capabilities, CursorKey, QueryOptions};
use serde::Serialize;
use serde_json::{Value, json};

use super::garden::{adapter_of, found, ids, list, plant};
use crate::support::{call, code, message};

#[test]
fn empty_groups_count_as_conditions() {
    let empty: Vec<_> = (0..5_000).map(|_| json!({ "not": {} })).collect();
    let filter: serde_json::Map<_, _> =
        [("or".to_owned(), json!(empty)), ("and".to_owned(), json!(empty))].into_iter().collect();
    let reply = list(json!({ "filter": filter }));
    assert_eq!(code(&reply), Some("VALIDATION_INVALID_VALUE"));
    assert!(message(&reply).contains("more than 100 conditions or 200 groups"), "{reply}");
    let few: Vec<_> = (0..90).map(|_| json!({})).collect();
    assert!(ids(&list(json!({ "filter": { "or": few } }))).len() > 1, "an empty group holds");
}

#[test]
fn long_lists_of_errors_are_truncated() {
    let unknown: serde_json::Map<_, _> =
        (0..20_000).map(|index| (format!("nmae{index}"), Value::Null)).collect();
    let reply = list(json!({ "filter": unknown }));
    assert_eq!(code(&reply), Some("VALIDATION_INVALID_VALUE"));
    assert!(message(&reply).matches("unknown key").count() <= 20, "{reply}");
}

#[test]
fn a_number_of_fewer_bits_is_what_its_reply_shows() {
    let mut plants = vec![plant(1, "a"), plant(2, "b"), plant(3, "c")];
    plants[0].mass = Some(0.1);
    plants[1].mass = Some(0.2);
    let (adapter, _) = adapter_of(plants);
    for (filter, wanted) in [
        (json!({ "mass": 0.1 }), &[1][..]),
        (json!({ "mass": [0.2, 7] }), &[2]),
        (json!({ "mass": { "gt": 0.1 } }), &[2]),
        (json!({ "mass": { "gte": 0.1, "lte": 0.1 } }), &[1]),
        (json!({ "mass": { "ne": 0.1 } }), &[2, 3]),
    ] {
        let params = json!({ "filter": filter, "sort": { "field": "plant_id" } });
        assert_eq!(ids(&call(&adapter, "list_plants", params)), wanted, "{filter}");
    }
    let params = json!({ "aggregate": { "least": { "min": "mass", "max": "mass" } } });
    let data = call(&adapter, "list_plants", params)["data"].take();
    assert_eq!(data["aggregations"]["least"], json!({ "min": 0.1, "max": 0.2 }));
    // A cursor can also continue after such a number.
    let sort = json!({ "field": "mass" });
    let page = call(&adapter, "list_plants", json!({ "sort": sort, "first": 1 }));
    let after = &page["data"]["pageInfo"]["endCursor"];
    let page = call(&adapter, "list_plants", json!({ "sort": sort, "first": 5, "after": after }));
    assert_eq!(ids(&page), [2, 3]);
}

#[test]
fn deep_offsets_are_rejected() {
    for params in [
        json!({ "offset": 100_001 }),
        json!({ "offset": 9_000_000_000_000_000_000_u64, "limit": 1 }),
        json!({ "page": u64::MAX, "page_size": 7 }),
    ] {
        let reply = list(params.clone());
        assert_eq!(code(&reply), Some("VALIDATION_INVALID_VALUE"), "{params}: {reply}");
        assert!(message(&reply).contains("use 'first' and 'after'"), "{reply}");
    }
    assert_eq!(ids(&list(json!({ "offset": 100_000 }))), [] as [u64; 0]);
}

#[test]
fn dates_have_one_form() {
    // REQ-ENC-03
    for (field, value) in [
        ("planted", "2031-5-6"),
        ("planted", "+2031-05-06"),
        ("planted", "2031 - 05 - 06"),
        ("seen_at", "2031-5-6"),
    ] {
        let reply = list(json!({ "filter": { field: { "gt": value } } }));
        assert_eq!(code(&reply), Some("VALIDATION_INVALID_VALUE"), "{field} {value}: {reply}");
    }
}

#[test]
fn rejects_empty_list_and_treats_null_as_missing() {
    for filter in [json!({ "tags": [] }), json!({ "name": [] }), json!({ "not": { "rank": [] } })] {
        let reply = list(json!({ "filter": filter }));
        assert_eq!(code(&reply), Some("VALIDATION_INVALID_VALUE"), "{filter}: {reply}");
        assert!(message(&reply).contains("{'exists': false}"), "{reply}");
    }
    assert_eq!(found(json!({ "tags": null })), found(json!({ "tags": { "exists": false } })));
}

#[test]
fn applied_controls_can_be_sent_again() {
    // REQ-COL-10
    let adapter = adapter_of(super::garden::plants()).0;
    let ask = |params| call(&adapter, "search_plants", params);
    let page = ask(json!({ "query": "apple tree" }));
    let sort = &page["data"]["applied"]["sort"];
    assert_eq!(*sort, json!([{ "field": "relevance", "order": "desc" }]));
    let again = ask(json!({ "query": "apple tree", "sort": sort }));
    assert_eq!(again["data"]["items"], page["data"]["items"]);
    // Without a search, it is impossible to sort by relevance.
    assert_eq!(code(&list(json!({ "sort": sort[0] }))), Some("VALIDATION_INVALID_VALUE"));
}

#[test]
fn a_field_that_exists_is_not_called_unknown() {
    for (params, words) in [
        (json!({ "filter": { "extra": 1 } }), "'extra', which cannot be filtered by"),
        (json!({ "sort": { "field": "rare" } }), "'rare', which cannot be sorted by"),
        (json!({ "aggregate": { "a": { "sum": "name" } } }), "'name', which cannot be added"),
    ] {
        let reply = list(params.clone());
        assert!(message(&reply).contains(words), "{params}: {reply}");
    }
}

/// Contains the other resource.
#[derive(Clone, Serialize, JsonSchema, Resource)]
struct Hen {
    /// Which one.
    #[resource(id)]
    hen_id: u32,
    /// The egg that it hatched from or laid.
    #[resource(nested)]
    egg: Option<Egg>,
}

/// Contains the first resource.
#[derive(Clone, Serialize, JsonSchema, Resource)]
struct Egg {
    /// Weight.
    #[resource(filter)]
    weight: u32,
    /// The hen that laid it or hatched from it.
    #[resource(nested)]
    hen: Option<Box<Hen>>,
}

struct Coop;

#[operations]
impl Coop {
    /// List the hens.
    #[operation(category = "READ")]
    fn list_hens(&self, query: CollectionQuery<Hen>) -> Result<Page<Hen>, OperationError> {
        query.run(Vec::<Hen>::new())
    }
}

#[test]
fn build_rejects_mutually_nested_resources() {
    let error = Adapter::builder("coop").operations(Coop).without_config().build().unwrap_err();
    let problems = error.problems().join("\n");
    assert!(problems.contains("contains itself"), "{problems}");
}

/// Returns half of a value.
#[derive(Clone, Serialize, JsonSchema, Resource)]
#[resource(default_sort(_computed.half))]
struct Thing {
    /// Which one.
    #[resource(id)]
    thing_id: u32,
}

#[computed_fields]
impl Thing {
    /// Half of its number.
    #[computed(sort)]
    fn half(&self) -> u32 {
        self.thing_id / 2
    }
}

struct Things;

#[operations]
impl Things {
    /// List the things.
    #[operation(category = "READ")]
    fn list_things(
        &self,
        #[query(backend = Capabilities::all().without_sort("_computed.half"))]
        query: CollectionQuery<Thing>,
    ) -> Result<Page<Thing>, OperationError> {
        query.run(Vec::<Thing>::new())
    }
}

#[test]
fn build_rejects_an_order_that_the_backend_lacks() {
    let error = Adapter::builder("things").operations(Things).without_config().build().unwrap_err();
    let problems = error.problems().join("\n");
    assert!(problems.contains("`default_sort` names `_computed.half`"), "{problems}");
}

#[test]
fn pages_stay_within_the_bound_of_the_protocol() {
    // REQ-PAG-08
    let things: Vec<_> = (0..1_200).map(|thing_id| Thing { thing_id }).collect();
    let options = QueryOptions::new().page_size(5_000).max_page_size(9_000);
    let key = CursorKey::random();
    for params in [json!({}), json!({ "first": 3_000 })] {
        let Value::Object(params) = params else { unreachable!() };
        let query = CollectionQuery::<Thing>::parse(&options, params, &key).unwrap();
        assert_eq!(query.run(&things).unwrap().items.len(), 1_000);
    }
}
