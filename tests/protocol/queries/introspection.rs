//! Tests the introspection of queries, and its agreement with the behavior of the adapter.

use mcp_aql::prelude::*;
use mcp_aql::query::Capabilities;
use mcp_aql::{Adapter, AdapterBuilder};
use serde_json::{Value, json};

use super::garden::{GARDEN, Garden, Plant, builder, plants};
use crate::support::{call, code, data, entry_names, message, names};

fn introspect(adapter: &Adapter, params: Value) -> Value {
    data(call(adapter, "introspect", params))
}

fn details_in(adapter: &Adapter, operation: &str) -> Value {
    introspect(adapter, json!({ "query": "operations", "name": operation }))["operation"].clone()
}

fn details_of(operation: &str) -> Value {
    details_in(&GARDEN, operation)
}

fn type_in(adapter: &Adapter, name: &str) -> Value {
    introspect(adapter, json!({ "query": "types", "name": name }))["type"].clone()
}

fn parameter(details: &Value, name: &str) -> Value {
    let all = details["parameters"].as_array().expect("parameters");
    all.iter().find(|parameter| parameter["name"] == name).cloned().unwrap_or_default()
}

const LISTED: [&str; 11] = [
    "list_plants",
    "search_plants",
    "query_plants",
    "list_slowly",
    "get_plant",
    "introspect",
    "",
    "",
    "",
    "",
    "",
];

fn offered() -> impl Iterator<Item = &'static str> {
    LISTED.into_iter().filter(|name| !name.is_empty())
}

#[test]
fn every_parameter_is_listed() {
    // REQ-INT-21, REQ-COL-08, REQ-COL-11, REQ-PAG-12
    let pages = ["first", "after", "last", "before"];
    let mut list =
        vec!["filter", "sort", "order", "fields", "preset", "aggregate", "include_items"];
    list.extend(pages);
    list.extend(["limit", "offset", "page", "page_size"]);
    let controls = |first: &[&'static str]| {
        let mut all = first.to_vec();
        all.extend(["filter", "sort", "fields", "aggregate", "include_items"]);
        all.extend(pages);
        all
    };
    for (operation, wanted) in [
        ("list_plants", list),
        ("search_plants", controls(&["query"])),
        ("query_plants", controls(&["query"])),
        ("list_slowly", controls(&["query"])),
        ("get_plant", vec!["plant_id", "fields", "preset"]),
    ] {
        let details = details_of(operation);
        assert_eq!(entry_names(&details["parameters"]), wanted, "{operation}");
        for parameter in details["parameters"].as_array().unwrap() {
            let required = matches!(
                (operation, parameter["name"].as_str()),
                ("search_plants" | "query_plants", Some("query")) | ("get_plant", Some("plant_id"))
            );
            assert_eq!(parameter["required"], required, "{operation} {parameter}");
            assert!(
                parameter["description"].as_str().is_some_and(|it| !it.is_empty()),
                "{parameter}"
            );
        }
        // The operation accepts exactly the listed parameters.
        for name in &wanted {
            let reply =
                call(&GARDEN, operation, json!({ "plant_id": 1, "query": "x", *name: null }));
            let unknown = code(&reply) == Some("VALIDATION_UNKNOWN_PARAM");
            let by_it = unknown && message(&reply).contains(&format!("'{name}'."));
            assert!(!by_it, "{operation} {name}: {reply}");
        }
    }
    let details = details_of("list_plants");
    for (name, wanted) in [
        ("filter", "PlantFilter"),
        ("fields", "string or array"),
        ("aggregate", "object"),
        ("include_items", "boolean"),
        ("first", "integer"),
        ("after", "string"),
        ("limit", "integer"),
    ] {
        assert_eq!(parameter(&details, name)["type"], wanted, "{name}");
    }
    // Only this `sort` also accepts a string.
    assert_eq!(parameter(&details, "sort")["type"], "object or array or string");
    assert_eq!(parameter(&details_of("list_slowly"), "sort")["type"], "object or array");
    assert_eq!(parameter(&details, "order")["enum"], json!(["asc", "desc"]));
    assert_eq!(
        parameter(&details, "preset")["enum"],
        json!(["minimal", "standard", "full", "brief", "place"])
    );
}

#[test]
fn the_members_are_those_of_the_protocol() {
    // REQ-INT-10, REQ-INT-13, REQ-INT-14, REQ-INT-15
    let only = |of: &str, object: &Value, may: &[&str]| {
        for name in names(object) {
            assert!(may.contains(&name), "{of} has {name}");
        }
    };
    for operation in offered() {
        let details = details_of(operation);
        only(
            operation,
            &details,
            &[
                "name",
                "semantic_category",
                "endpoint",
                "mcpTool",
                "description",
                "permissions",
                "parameters",
                "returns",
                "examples",
                "computed_fields",
                "aggregation_support",
            ],
        );
        for parameter in details["parameters"].as_array().unwrap() {
            only(
                "a parameter",
                parameter,
                &[
                    "name",
                    "type",
                    "required",
                    "description",
                    "default",
                    "enum",
                    "minimum",
                    "maximum",
                    "minLength",
                    "maxLength",
                    "pattern",
                    "format",
                    "items",
                    "sensitive",
                ],
            );
            assert!(parameter["type"].is_string(), "{parameter}");
            // A page that is too large is cut, so no maximum is published (choice C-43).
            assert_eq!(parameter.get("maximum"), None, "{parameter}");
        }
        only("returns", &details["returns"], &["name", "kind", "description"]);
        for example in details["examples"].as_array().into_iter().flatten() {
            only("an example", example, &["request", "description"]);
        }
        for field in details["computed_fields"].as_array().into_iter().flatten() {
            only(
                "a computed field",
                field,
                &["name", "type", "description", "filterable", "sortable"],
            );
        }
        if let Some(support) = details.get("aggregation_support") {
            only(
                "aggregation_support",
                support,
                &["supported", "default_mode", "functions", "groupable_fields", "numeric_fields"],
            );
        }
    }
    assert_eq!(details_of("introspect").get("aggregation_support"), None);
    assert_eq!(details_of("get_plant").get("aggregation_support"), None);
}

#[test]
fn computed_fields_are_described() {
    // REQ-CMP-02, REQ-CMP-04
    for operation in ["list_plants", "search_plants", "query_plants", "get_plant"] {
        assert_eq!(
            details_of(operation)["computed_fields"],
            json!([
                { "name": "age_days", "type": "integer", "description": "Days since planting.", "filterable": true, "sortable": true },
                { "name": "sign", "type": "string", "description": "Text of the sign.", "filterable": false, "sortable": false },
                { "name": "is_tall", "type": "boolean", "description": "Taller than a person.", "filterable": true, "sortable": false },
            ]),
            "{operation}"
        );
    }
    assert_eq!(details_of("introspect").get("computed_fields"), None);
}

#[test]
fn aggregations_are_described_and_it_is_true() {
    // REQ-AGG-09, REQ-COL-11
    let support = details_of("list_plants")["aggregation_support"].clone();
    assert_eq!(
        support,
        json!({
            "supported": true, "default_mode": "summary_only",
            "functions": ["count", "group_by", "sum", "avg", "min", "max"],
            "groupable_fields": ["kind", "health", "rank", "rare", "planted", "bed.zone", "_computed.is_tall"],
            "numeric_fields": ["rank", "change", "height", "mass", "bed.moisture", "bed.soil.acidity", "_computed.age_days"],
        })
    );
    let works = |expression: Value| {
        let params = json!({ "aggregate": { "it": expression } });
        let reply = call(&GARDEN, "list_plants", params.clone());
        assert_eq!(code(&reply), None, "{params}: {reply}");
    };
    for field in support["groupable_fields"].as_array().unwrap() {
        works(json!({ "group_by": field, "count": true }));
    }
    for field in support["numeric_fields"].as_array().unwrap() {
        for function in ["sum", "avg", "min", "max"] {
            works(json!({ function: field }));
        }
    }
    let about = parameter(&details_of("list_plants"), "aggregate");
    assert!(
        about["description"].as_str().unwrap().contains("min and max also of planted, seen_at")
    );
}

#[test]
fn filter_keys_have_types_and_operators() {
    // REQ-COL-11
    let told = type_in(&GARDEN, "PlantFilter");
    assert_eq!(told["kind"], "object");
    let fields = told["fields"].as_array().unwrap();
    let keys = [
        "plant_id",
        "name",
        "note",
        "kind",
        "health",
        "rank",
        "change",
        "height",
        "mass",
        "rare",
        "tags",
        "fruits",
        "planted",
        "seen_at",
        "bed.zone",
        "bed.moisture",
        "bed.soil.acidity",
        "_computed.age_days",
        "_computed.is_tall",
        "and",
        "or",
        "not",
    ];
    assert_eq!(entry_names(&told["fields"]), keys);
    // Each key accepts the values in its description.
    for field in &fields[..keys.len() - 3] {
        let name = field["name"].as_str().unwrap();
        assert_eq!(field["required"], false);
        let description = field["description"].as_str().unwrap();
        let (_, operators) = description.split_once("Operators: ").unwrap();
        for operator in operators.trim_end_matches('.').split(", ") {
            let value = match (operator, name) {
                ("exists", _) => json!(true),
                (_, "kind") => json!("tree"),
                (_, "health") => json!("fine"),
                (_, "planted") => json!("2030-01-01"),
                (_, "seen_at") => json!("2030-01-01T00:00:00Z"),
                (_, "fruits") => json!(3),
                (_, "tags") => json!("old"),
                (_, _) => match field["type"].as_str().unwrap() {
                    "string" => json!("x"),
                    "boolean" => json!(true),
                    _ => json!(3),
                },
            };
            let value = if ["in", "nin"].contains(&operator) { json!([value]) } else { value };
            let params = json!({ "filter": { name: { operator: value } } });
            let reply = call(&GARDEN, "list_plants", params.clone());
            assert_eq!(code(&reply), None, "{params}: {reply}");
        }
    }
    // The descriptions of the parameters contain the keys, too.
    let details = details_of("list_plants");
    let about = |name: &str| parameter(&details, name)["description"].as_str().unwrap().to_owned();
    for key in &keys[..keys.len() - 3] {
        assert!(about("filter").contains(key), "{key}");
    }
    for field in ["plant_id", "height", "bed.soil.acidity", "_computed.age_days"] {
        assert!(about("sort").contains(field), "{field}");
    }
    assert!(about("sort").contains("rank desc"), "{}", about("sort"));
    assert!(!about("sort").contains("tags"));
}

#[test]
fn the_form_of_paging_is_published() {
    // REQ-COL-08, REQ-PAG-12
    let details = details_of("list_slowly");
    let about = |name: &str| parameter(&details, name)["description"].as_str().unwrap().to_owned();
    assert!(about("first").contains("cursor paging"), "{}", about("first"));
    assert!(about("first").contains("default 2, maximum 3"), "{}", about("first"));
    assert!(about("after").contains("'endCursor'") && about("after").contains("'first'"));
    assert!(about("before").contains("'startCursor'") && about("before").contains("'last'"));
    let details = details_of("list_plants");
    for name in ["limit", "offset", "page", "page_size"] {
        assert!(parameter(&details, name)["description"].is_string(), "{name}");
    }
    let list = introspect(&GARDEN, json!({ "query": "operations" }));
    assert_eq!(list["_protocol"]["capabilities"]["pagination"], true);
}

#[test]
fn introspection_publishes_the_capabilities_of_queries() {
    // REQ-INT-06, REQ-INT-07, REQ-FLD-09, REQ-CNF-02
    let protocol = |adapter: &Adapter| {
        introspect(adapter, json!({ "query": "operations" }))["_protocol"].clone()
    };
    let of_garden = protocol(&GARDEN);
    for name in
        ["field_selection", "aggregations", "computed_fields", "pagination", "warnings", "batch"]
    {
        assert_eq!(of_garden["capabilities"][name], true, "{name}");
    }
    assert_eq!(of_garden["capabilities"].get("relationship_queries"), None);
    assert_eq!(of_garden["conformance"], "level-2");
    let bare = bare(Bare(plants())).build().unwrap();
    let of_bare = protocol(&bare);
    for name in ["field_selection", "aggregations", "computed_fields"] {
        assert_eq!(of_bare["capabilities"].get(name), None, "{name}");
    }
    assert_eq!(of_bare["capabilities"]["pagination"], true);
    assert_eq!(of_bare["conformance"], "level-1");
    let single = builder(Garden::new(plants())).batch(false).build().unwrap();
    assert_eq!(protocol(&single)["conformance"], "level-1");
}

#[test]
fn field_selections_have_a_type() {
    // REQ-FLD-09, REQ-FLD-10, choice C-69
    let types = introspect(&GARDEN, json!({ "query": "types" }));
    for name in ["FieldSelection", "PlantFilter", "Plant", "PlantPage", "Bed", "Soil", "PageInfo"] {
        assert!(entry_names(&types["types"]).contains(&name), "{name}");
    }
    let told = type_in(&GARDEN, "FieldSelection");
    assert_eq!(told["kind"], "object");
    assert_eq!(entry_names(&told["fields"]), ["presets", "fields", "computed_fields"]);
    for field in told["fields"].as_array().unwrap() {
        assert_eq!(field["required"], false);
        assert_eq!(field["type"], "array");
    }
    let about = parameter(&details_of("search_plants"), "fields");
    let about = about["description"].as_str().unwrap();
    assert!(about.contains("minimal, standard, full, brief, place; default minimal"), "{about}");
    assert!(about.contains("_computed.age_days"), "{about}");
    // The type of the page lists all possible members.
    let page = type_in(&GARDEN, "PlantPage");
    assert!(entry_names(&page["fields"]).contains(&"items"), "{page}");
}

#[test]
fn examples_show_the_controls_together() {
    // REQ-COL-11
    for operation in ["list_plants", "search_plants", "list_slowly"] {
        let details = details_of(operation);
        let params = details["examples"][0]["request"]["params"].clone();
        for name in ["filter", "sort", "fields", "aggregate", "first"] {
            assert!(params.get(name).is_some(), "{operation} lacks {name}: {params}");
        }
        assert_eq!(params.get("query").is_some(), operation != "list_plants", "{params}");
        let reply = call(&GARDEN, operation, params);
        assert_eq!(code(&reply), None, "{reply}");
    }
}

struct Bare(Vec<Plant>);

#[operations]
impl Bare {
    /// List plants.
    #[operation(category = "READ")]
    fn list_bare(
        &self,
        #[query(without(filter, sort, fields, aggregate))] query: CollectionQuery<Plant>,
    ) -> Result<Page<Plant>, OperationError> {
        query.run(&self.0)
    }
}

fn bare(bare: Bare) -> AdapterBuilder {
    Adapter::builder("bare").operations(bare).without_config()
}

#[test]
fn disabled_controls_are_published_and_rejected() {
    // REQ-COL-12
    assert!(
        details_of("list_plants")["description"].as_str().unwrap().contains("Not offered: query.")
    );
    assert!(!details_of("search_plants")["description"].as_str().unwrap().contains("Not offered"));
    let adapter = bare(Bare(plants())).build().unwrap();
    let details = details_in(&adapter, "list_bare");
    let description = details["description"].as_str().unwrap();
    assert!(
        description.contains("Not offered: query, filter, sort, fields, aggregate."),
        "{description}"
    );
    assert_eq!(entry_names(&details["parameters"]), ["first", "after", "last", "before"]);
    let query = json!({ "query": "operations", "names": ["list_bare"], "parameters": true });
    let listed = introspect(&adapter, query);
    let brief = listed["operations"][0]["description"].as_str().unwrap();
    let parameters = "query parameters without filter, sort, fields, aggregate";
    assert!(brief.ends_with(parameters) && !brief.contains("Not offered"), "{brief}");
    for name in ["query", "filter", "sort", "fields", "aggregate", "include_items"] {
        let reply = call(&adapter, "list_bare", json!({ name: {} }));
        assert_eq!(code(&reply), Some("VALIDATION_UNKNOWN_PARAM"), "{name}");
    }
    let types = introspect(&adapter, json!({ "query": "types" }));
    assert!(!entry_names(&types["types"]).contains(&"PlantFilter"));
    // The other controls still work.
    let page = data(call(&adapter, "list_bare", json!({ "first": 1 })));
    assert_eq!(page["items"][0]["name"], "Apple mint");
}

/// Returns the capabilities of a backend that does not support everything.
fn less() -> Capabilities {
    Capabilities::all()
        .without_search()
        .without_filter("tags")
        .without_sort("height")
        .without_field("visits")
        .without_field("_computed.sign")
        .without_field("mass")
        .without_field("bed.soil.colour")
}

struct Less(Vec<Plant>);

#[operations]
impl Less {
    /// List plants.
    #[operation(category = "READ")]
    fn list_less(
        &self,
        #[query(backend = less(), text = "optional")] query: CollectionQuery<Plant>,
    ) -> Result<Page<Plant>, OperationError> {
        query.run(&self.0)
    }
}

struct Deaf;

#[operations]
impl Deaf {
    /// Find plants.
    #[operation(category = "READ")]
    fn search_deaf(
        &self,
        #[query(backend = less().with_build_error("no such table"))] query: CollectionQuery<Plant>,
    ) -> Result<Page<Plant>, OperationError> {
        query.run(Vec::<Plant>::new())
    }
}

#[test]
fn build_rejects_a_backend_without_a_required_capability() {
    // REQ-COL-02, REQ-COL-12
    let error = Adapter::builder("deaf").operations(Deaf).without_config().build().unwrap_err();
    let problems = error.problems().join("\n");
    assert!(problems.contains("no field can be searched"), "{problems}");
    assert!(problems.contains("the backend of `Plant`: no such table"), "{problems}");
}

#[test]
fn missing_capabilities_are_not_offered() {
    // REQ-COL-12, REQ-COL-11
    let adapter =
        Adapter::builder("less").operations(Less(plants())).without_config().build().unwrap();
    let details = details_in(&adapter, "list_less");
    assert!(details["description"].as_str().unwrap().contains("Not offered: query."));
    assert_eq!(parameter(&details, "query"), Value::Null);
    let filter = type_in(&adapter, "PlantFilter");
    assert!(!entry_names(&filter["fields"]).contains(&"tags"));
    let numeric = details["aggregation_support"]["numeric_fields"].as_array().unwrap();
    assert!(!numeric.contains(&json!("mass")) && numeric.contains(&json!("height")));
    let computed = entry_names(&details["computed_fields"]);
    assert_eq!(computed, ["age_days", "is_tall"]);
    for (params, wanted) in [
        (json!({ "query": "x" }), "VALIDATION_UNKNOWN_PARAM"),
        (json!({ "filter": { "tags": "old" } }), "VALIDATION_INVALID_VALUE"),
        (json!({ "sort": { "field": "height" } }), "VALIDATION_INVALID_VALUE"),
        (json!({ "fields": ["visits"] }), "VALIDATION_INVALID_VALUE"),
        (json!({ "fields": ["visits.by"] }), "VALIDATION_INVALID_VALUE"),
        (json!({ "fields": ["_computed.sign"] }), "VALIDATION_INVALID_VALUE"),
        (json!({ "aggregate": { "a": { "sum": "mass" } } }), "VALIDATION_INVALID_VALUE"),
    ] {
        let reply = call(&adapter, "list_less", params.clone());
        assert_eq!(code(&reply), Some(wanted), "{params}: {reply}");
    }
    let page = data(call(&adapter, "list_less", json!({ "fields": ["name"], "first": 1 })));
    assert_eq!(page["items"], json!([{ "name": "Apple mint" }]));
    // Neither a preset nor the enclosing field returns it.
    let soil = json!({ "filter": { "bed.zone": { "exists": true } }, "first": 1 });
    for fields in [json!("full"), json!(["bed"]), json!(["bed.soil", "name"])] {
        let mut params = soil.clone();
        params["fields"] = fields.clone();
        let item = data(call(&adapter, "list_less", params))["items"][0].take();
        assert!(item.get("mass").is_none() && item.get("visits").is_none(), "{fields}: {item}");
        assert!(item["bed"]["soil"].get("acidity").is_some(), "{fields}: {item}");
        assert!(item["bed"]["soil"].get("colour").is_none(), "{fields}: {item}");
    }
}
