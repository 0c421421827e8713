//! Tests field selection: presets, paths and computed fields.

use std::collections::BTreeMap;

use mcp_aql::Adapter;
use mcp_aql::prelude::*;
use mcp_aql::query::SelectedFields;
use serde::Serialize;
use serde_json::{Value, json};

use super::garden::{GARDEN, list};
use crate::support::{call, code, data, details, message, names};

/// Gets a plant with these fields.
fn get(plant_id: u32, fields: Value) -> Value {
    call(&GARDEN, "get_plant", json!({ "plant_id": plant_id, "fields": fields }))
}

#[track_caller]
fn shown(plant_id: u32, fields: Value) -> Value {
    data(get(plant_id, fields))["plant"].clone()
}

/// All members of a plant, in the order of the struct.
const ALL: [&str; 17] = [
    "plant_id", "name", "note", "kind", "health", "rank", "change", "height", "mass", "rare",
    "tags", "fruits", "planted", "seen_at", "bed", "visits", "extra",
];

#[test]
fn every_read_takes_fields_as_a_preset_or_as_paths() {
    // REQ-FLD-01
    for (operation, params) in [
        ("list_plants", json!({ "filter": { "plant_id": 5 } })),
        ("search_plants", json!({ "query": "yew" })),
        ("query_plants", json!({ "query": {}, "filter": { "plant_id": 5 } })),
        ("list_slowly", json!({ "filter": { "plant_id": 5 } })),
        ("get_plant", json!({ "plant_id": 5 })),
    ] {
        let ask = |fields: Value| {
            let mut params = params.clone();
            params["fields"] = fields;
            let data = data(call(&GARDEN, operation, params));
            if data["plant"].is_object() { data["plant"].clone() } else { data["items"][0].clone() }
        };
        assert_eq!(ask(json!("minimal")), json!({ "plant_id": 5, "name": "Yew" }), "{operation}");
        assert_eq!(ask(json!(["height", "rare"])), json!({ "height": 12.0, "rare": true }));
        assert_eq!(ask(json!("full"))["seen_at"], "2031-05-01T12:00:00Z");
    }
}

#[test]
fn presets_are_values_of_fields() {
    // REQ-FLD-02
    let whole = names(&json!(
        ALL.map(|name| (name, 0)).into_iter().collect::<std::collections::BTreeMap<_, _>>()
    ))
    .into_iter()
    .map(str::to_owned)
    .collect::<Vec<_>>();
    for preset in ["standard", "full"] {
        assert_eq!(names(&shown(1, json!(preset))), whole, "{preset}");
    }
    assert_eq!(shown(1, json!("minimal")), json!({ "plant_id": 1, "name": "Boskoop" }));
    // The resource itself defines two more presets.
    assert_eq!(
        shown(1, json!("brief")),
        json!({ "name": "Boskoop", "bed": { "zone": "north" }, "_computed": { "age_days": 11_023 } })
    );
    assert_eq!(
        shown(1, json!("place")),
        json!({ "plant_id": 1, "bed": {
            "zone": "north", "moisture": 33.5, "soil": { "acidity": 6, "colour": "brown" },
        } })
    );
}

#[test]
fn paths_keep_the_nesting() {
    // REQ-FLD-03
    assert_eq!(
        shown(1, json!(["bed.soil.colour", "name", "bed.zone"])),
        json!({ "name": "Boskoop", "bed": { "zone": "north", "soil": { "colour": "brown" } } })
    );
    // A path into a list selects from each entry.
    assert_eq!(
        shown(1, json!(["visits.by"])),
        json!({ "visits": [{ "by": "ann" }, { "by": "bob" }] })
    );
    // A path may lead into a map without fixed keys.
    assert_eq!(
        shown(1, json!(["extra.lamp.watts"])),
        json!({ "extra": { "lamp": { "watts": 5 } } })
    );
    assert_eq!(shown(1, json!(["extra.pump"])), json!({ "extra": {} }));
    // The whole value wins if parts of it are selected as well.
    let whole = shown(1, json!(["bed"]));
    assert_eq!(shown(1, json!(["bed", "bed.zone"])), whole);
    assert_eq!(shown(1, json!(["bed.zone", "bed"])), whole);
    assert_eq!(shown(1, json!(["name", "name"])), json!({ "name": "Boskoop" }));
}

/// A resource with members of every kind that a path can lead into.
#[derive(Debug, Clone, Serialize, JsonSchema, Resource)]
struct Good {
    /// Its number.
    #[resource(id)]
    good_id: u32,
    /// Its name.
    name: String,
    /// Its labels.
    labels: Vec<String>,
    /// The forms in which it is sold, by name.
    variants: BTreeMap<String, Form>,
    /// Number in stock, by warehouse.
    stock: BTreeMap<String, u32>,
    /// Anything else.
    metadata: Value,
}

/// A form in which a good is sold.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct Form {
    /// In cents.
    price: u32,
}

struct Shop(Vec<Good>);

#[operations]
impl Shop {
    /// List the goods.
    #[operation(category = "READ")]
    fn list_goods(&self, query: CollectionQuery<Good>) -> Result<Page<Good>, OperationError> {
        query.run(&self.0)
    }

    /// Get the first good.
    #[operation(category = "READ")]
    fn get_good(&self, fields: Fields<Good>) -> Option<SelectedFields<Good>> {
        self.0.first().map(|good| fields.of(good.clone()))
    }
}

/// Returns two goods. The second has a metadata entry that the first one lacks.
fn shop() -> Adapter {
    let good = |good_id: u32, stock: &str, metadata: Value| Good {
        good_id,
        name: "Lamp".to_owned(),
        labels: vec!["new".to_owned()],
        variants: BTreeMap::from([("red".to_owned(), Form { price: 3 })]),
        stock: BTreeMap::from([(stock.to_owned(), 7)]),
        metadata,
    };
    let goods = vec![
        good(1, "north", json!({ "a": 1, "list": [1, { "b": 2 }], "plain": [1, 2], "none": null })),
        good(2, "south", json!("none")),
    ];
    Adapter::builder("shop").operations(Shop(goods)).without_config().build().unwrap()
}

#[test]
fn a_path_ends_at_a_plain_value() {
    // REQ-FLD-07, REQ-FLD-08
    let shop = shop();
    for (path, first, second, warns) in [
        ("metadata.a", json!({ "metadata": { "a": 1 } }), json!({}), false),
        ("metadata.a.b.c1", json!({ "metadata": {} }), json!({}), true),
        ("metadata.list.b", json!({ "metadata": { "list": [{ "b": 2 }] } }), json!({}), false),
        ("metadata.plain.b", json!({ "metadata": {} }), json!({}), true),
        ("metadata.none.b", json!({ "metadata": { "none": null } }), json!({}), true),
        ("metadata.missing", json!({ "metadata": {} }), json!({}), true),
        ("stock.south", json!({ "stock": {} }), json!({ "stock": { "south": 7 } }), false),
        ("stock.west", json!({ "stock": {} }), json!({ "stock": {} }), true),
        ("variants.price", json!({ "variants": {} }), json!({ "variants": {} }), true),
        (
            "variants.red.price",
            json!({ "variants": { "red": { "price": 3 } } }),
            json!({ "variants": { "red": { "price": 3 } } }),
            false,
        ),
    ] {
        let reply = call(&shop, "list_goods", json!({ "fields": [path] }));
        assert_eq!(reply["data"]["items"], json!([first, second]), "{path}");
        let warned = reply["warnings"].as_array().map_or(0, Vec::len);
        assert_eq!(warned, usize::from(warns), "{path}: {}", reply["warnings"]);
        if warns {
            let warning = &reply["warnings"][0];
            assert_eq!(warning["code"], "VALIDATION_FIELD_ABSENT_WARNING");
            assert_eq!(warning["details"], json!({ "fields": [path] }));
            assert!(warning["message"].as_str().unwrap().contains(&format!("'{path}'")));
        }
        // The same rule applies to a single resource.
        let reply = call(&shop, "get_good", json!({ "fields": [path] }));
        assert_eq!(reply["data"]["good"], first, "{path}");
        assert_eq!(reply["warnings"].is_array(), warns || path == "stock.south", "{path}");
    }
    let reply = call(&shop, "list_goods", json!({ "fields": ["variants.price", "stock.west"] }));
    let message = reply["warnings"][0]["message"].as_str().unwrap();
    assert!(message.contains("'stock.west', 'variants.price'"), "{message}");
    assert!(message.contains("'variants.KEY.price'"), "{message}");
    // Without rows, there are no warnings about their values.
    let reply = call(&shop, "list_goods", json!({ "fields": ["stock.west"], "first": 0 }));
    assert_eq!(reply.get("warnings"), None, "{reply}");
}

#[test]
fn a_path_into_a_value_that_is_shown_as_a_whole_warns_as_well() {
    // REQ-FLD-07, REQ-FLD-08
    let shop = shop();
    for (whole, inner, warns) in [
        ("metadata.a", "metadata.a.b", true),
        ("metadata.plain", "metadata.plain.b", true),
        ("metadata.list", "metadata.list.b", false),
        ("metadata.list", "metadata.list.c", true),
        ("metadata", "metadata.a", false),
        ("metadata", "metadata.a.b.c1", true),
        ("metadata", "metadata.missing", true),
        ("stock", "stock.south", false),
        ("stock", "stock.west", true),
        ("variants", "variants.red.price", false),
        ("variants.red", "variants.red.price", false),
        ("variants", "variants.price", true),
    ] {
        let alone = call(&shop, "list_goods", json!({ "fields": [whole] }));
        for fields in [[whole, inner], [inner, whole]] {
            let reply = call(&shop, "list_goods", json!({ "fields": fields }));
            assert_eq!(reply["data"]["items"], alone["data"]["items"], "{fields:?}");
            let absent = &reply["warnings"][0]["details"]["fields"];
            let expected = if warns { json!([inner]) } else { Value::Null };
            assert_eq!(*absent, expected, "{fields:?}: {reply}");
        }
    }
}

#[test]
fn many_paths_make_no_large_reply() {
    // REQ-FLD-08, REQ-WRN-08
    let shop = shop();
    let paths = |count: usize, length: usize| -> Vec<String> {
        (0..count).map(|it| format!("metadata.{:a<1$}{it}", "m", length)).collect()
    };
    for (count, length) in [(1, 490), (16, 490), (150, 40), (200, 20)] {
        for operation in ["list_goods", "get_good"] {
            let fields = paths(count, length);
            let reply = call(&shop, operation, json!({ "fields": fields }));
            let warning = &reply["warnings"][0];
            let named = warning["details"]["fields"].as_array().unwrap().len();
            assert_eq!(named, count.min(20), "{reply}");
            let more = format!("and {} other paths", count.saturating_sub(20));
            let message = warning["message"].as_str().unwrap();
            assert_eq!(message.contains(&more), count > 20, "{message}");
            let size = reply.to_string().len();
            assert!(size < 48 << 10, "{count} paths of {length} bytes: {size}");
        }
    }
    // Try known and unknown fields, with paths up to and beyond the maximum length.
    for name in ["metadata", "missing"] {
        for length in [60, 400, 600, 5_000] {
            let paths: Vec<_> =
                paths(190, length).iter().map(|it| it.replacen("metadata", name, 1)).collect();
            let reply = call(&shop, "list_goods", json!({ "fields": paths }));
            assert_eq!(code(&reply), Some("VALIDATION_INVALID_VALUE"), "{reply}");
            assert!(message(&reply).contains("more than 8192 bytes in its paths"), "{reply}");
            assert!(!mcp_aql::testing::leaks_internals(message(&reply)), "{reply}");
            assert!(reply.to_string().len() < 4 << 10, "{length}: {reply}");
        }
    }
}

#[test]
fn a_path_that_no_value_of_the_type_has_is_refused() {
    // REQ-FLD-09
    let shop = shop();
    for path in [
        "name.first",
        "labels.first",
        "variants.red.prize",
        "variants.red.price.x",
        "stock.north.x",
    ] {
        for operation in ["list_goods", "get_good"] {
            let reply = call(&shop, operation, json!({ "fields": [path] }));
            assert_eq!(code(&reply), Some("VALIDATION_INVALID_VALUE"), "{path}");
            assert!(message(&reply).contains(&format!("'{path}'")), "{}", message(&reply));
        }
    }
}

#[test]
fn a_path_has_the_form_of_a_path() {
    // REQ-FLD-04
    for path in [
        "",
        ".",
        "Name",
        "name.",
        ".name",
        "bed..zone",
        "bed.Zone",
        "1name",
        "na-me",
        "bed zone",
        " name",
        "_computed",
        "_computed.",
        "_computed.Age",
        "_computed.age_days.x",
        "__computed.age_days",
        "extra.Lamp",
        "extra.ünder",
        "bed[0]",
        "*",
        "name\u{0}",
    ] {
        let reply = get(1, json!([path]));
        let wanted = ["VALIDATION_INVALID_VALUE", "VALIDATION_INVALID_ENCODING"];
        assert!(code(&reply).is_some_and(|code| wanted.contains(&code)), "{path:?}: {reply}");
    }
    for path in ["name", "bed.soil.acidity", "plant_id", "extra.a1.b_2", "_computed.age_days"] {
        assert_eq!(code(&get(1, json!([path]))), None, "{path}");
    }
}

#[test]
fn a_preset_can_be_given_apart_and_fields_add_to_it() {
    // REQ-FLD-05
    let ask = |params: Value| data(list(params))["items"][0].clone();
    let filter = json!({ "plant_id": 1 });
    assert_eq!(
        ask(json!({ "filter": filter, "preset": "minimal" })),
        json!({ "plant_id": 1, "name": "Boskoop" })
    );
    assert_eq!(
        ask(
            json!({ "filter": filter, "preset": "minimal", "fields": ["bed.zone", "_computed.sign"] })
        ),
        json!({
            "plant_id": 1, "name": "Boskoop", "bed": { "zone": "north" },
            "_computed": { "sign": "Boskoop (1)" },
        })
    );
    let both = ask(json!({ "filter": filter, "preset": "full", "fields": ["_computed.is_tall"] }));
    assert_eq!(both.as_object().map(serde_json::Map::len), Some(ALL.len() + 1));
    let data = data(call(&GARDEN, "get_plant", json!({ "plant_id": 1, "preset": "minimal" })));
    assert_eq!(data["plant"], json!({ "plant_id": 1, "name": "Boskoop" }));
    // The parameter `preset` exists only for operations that enable it.
    let reply = call(&GARDEN, "search_plants", json!({ "query": "yew", "preset": "minimal" }));
    assert_eq!(code(&reply), Some("VALIDATION_UNKNOWN_PARAM"));
    let reply = list(json!({ "preset": "smal" }));
    assert_eq!(code(&reply), Some("VALIDATION_INVALID_VALUE"));
    assert!(message(&reply).contains("minimal, standard, full, brief, place"), "{reply}");
}

#[test]
fn by_default_single_resources_are_complete_and_search_results_short() {
    // REQ-FLD-06
    let one = data(call(&GARDEN, "get_plant", json!({ "plant_id": 1 })));
    assert_eq!(one["plant"].as_object().map(serde_json::Map::len), Some(ALL.len()));
    let listed = data(list(json!({ "filter": { "plant_id": 1 } })));
    assert_eq!(listed["items"][0], one["plant"]);
    assert_eq!(listed["applied"]["fields"], "standard");
    let searched = data(call(&GARDEN, "search_plants", json!({ "query": "boskoop" })));
    assert_eq!(searched["items"], json!([{ "plant_id": 1, "name": "Boskoop" }]));
    assert_eq!(searched["applied"]["fields"], "minimal");
    // A list with an optional search still returns complete rows by default.
    let both = data(call(&GARDEN, "list_slowly", json!({ "query": "boskoop" })));
    assert_eq!(both["applied"]["fields"], "standard");
}

#[test]
fn each_item_is_cut_and_the_page_is_not() {
    // REQ-FLD-07
    let data = data(list(json!({ "fields": ["rank"], "first": 2 })));
    assert_eq!(data["items"], json!([{ "rank": 3 }, { "rank": 3 }]));
    assert_eq!(
        names(&data["pageInfo"]),
        ["endCursor", "hasNextPage", "hasPreviousPage", "startCursor", "totalCount"]
    );
    assert_eq!(data["pageInfo"]["totalCount"], 7);
}

#[test]
fn missing_fields_are_omitted() {
    // REQ-FLD-08, choice C-62
    let data = data(list(json!({ "fields": ["name", "note", "bed.zone"], "sort": "plant_id" })));
    let items = data["items"].as_array().unwrap();
    assert_eq!(items[0]["note"], "Old apple tree by the gate");
    assert_eq!(items[1], json!({ "name": "Café currant", "bed": { "zone": "south" } }));
    // An explicit null stays in the row.
    assert_eq!(items[4], json!({ "name": "Yew", "bed": null }));
    assert_eq!(items.len(), 7);
}

#[test]
fn unknown_names_are_refused_with_the_nearest() {
    // REQ-FLD-09, choice C-62
    for (fields, param, part) in [
        (json!(["nmae"]), "fields[0]", "Did you mean 'name'?"),
        (json!(["name", "bed.zoen"]), "fields[1]", "Did you mean 'bed.zone'?"),
        (json!(["name.first"]), "fields[0]", "unknown field 'name.first'"),
        (json!(["_computed.age"]), "fields[0]", "Did you mean '_computed.age_days'?"),
        (json!(["age_days"]), "fields[0]", "_computed.age_days"),
        // The computed fields of a nested resource are not available in the row.
        (json!(["bed._computed.is_wet"]), "fields[0]", "unknown field 'bed._computed.is_wet'"),
        (json!(["brief"]), "fields[0]", "unknown field 'brief'"),
        (json!("minimum"), "fields", "Did you mean 'minimal'?"),
        (json!("name"), "fields", "one of: minimal, standard, full, brief, place"),
        (json!([]), "fields", "1 to 200 fields"),
        (json!(vec!["name"; 201]), "fields", "1 to 200 fields"),
    ] {
        let reply = get(1, fields.clone());
        assert_eq!(code(&reply), Some("VALIDATION_INVALID_VALUE"), "{fields}");
        assert_eq!(details(&reply)["param_name"], param, "{fields}");
        assert!(message(&reply).contains(part), "{fields}: {}", message(&reply));
    }
    assert_eq!(code(&get(1, json!(vec!["name"; 200]))), None);
    for fields in [json!(7), json!({ "name": true }), json!([7]), json!([null]), json!([["name"]])]
    {
        assert_eq!(code(&get(1, fields.clone())), Some("VALIDATION_INVALID_TYPE"), "{fields}");
    }
}

#[test]
fn computed_fields_come_in_an_object_of_their_own() {
    // REQ-CMP-01
    assert_eq!(
        shown(1, json!(["name", "_computed.age_days", "_computed.sign"])),
        json!({ "name": "Boskoop", "_computed": { "age_days": 11_023, "sign": "Boskoop (1)" } })
    );
    assert_eq!(
        shown(5, json!(["_computed.age_days"])),
        json!({ "_computed": { "age_days": null } })
    );
    assert_eq!(shown(5, json!(["_computed.is_tall"])), json!({ "_computed": { "is_tall": true } }));
    for fields in [json!("full"), json!("standard"), json!("minimal"), json!(["name"])] {
        assert_eq!(shown(1, fields.clone()).get("_computed"), None, "{fields}");
    }
}

#[test]
fn computed_fields_filter_and_sort_where_they_say_so() {
    // REQ-CMP-03
    let ask = |params: Value| super::garden::ids(&list(params));
    assert_eq!(ask(json!({ "filter": { "_computed.age_days": { "gt": 1_000 } } })), [1]);
    assert_eq!(ask(json!({ "filter": { "_computed.is_tall": true }, "sort": "plant_id" })), [1, 5]);
    assert_eq!(ask(json!({ "sort": { "field": "_computed.age_days" } })), [3, 2, 6, 1, 4, 5, 7]);
    for params in [
        json!({ "filter": { "_computed.sign": "Yew (5)" } }),
        json!({ "filter": { "age_days": 4 } }),
        json!({ "sort": { "field": "_computed.sign" } }),
        json!({ "sort": { "field": "_computed.is_tall" } }),
    ] {
        let reply = list(params.clone());
        assert_eq!(code(&reply), Some("VALIDATION_INVALID_VALUE"), "{params}");
        assert!(message(&reply).contains("_computed.age_days"), "{params}: {}", message(&reply));
    }
}
