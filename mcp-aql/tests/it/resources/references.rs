//! Tests of `query_relationships` with references between records.

use mcp_aql::prelude::*;
use mcp_aql::resource::{MemoryRecords, ResourceRules, RowFilter};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A person.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput)]
#[resource(operations(create, get, list), plural = "people")]
struct Person {
    /// Identifier of the person.
    #[resource(id)]
    person_id: String,
    /// Friends of the person.
    #[serde(default)]
    #[resource(references = "person")]
    friend_ids: Vec<String>,
}

/// A club.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput)]
#[resource(operations(create, get, list))]
struct Club {
    /// Number of the club.
    #[resource(id)]
    club_id: u32,
    /// Person who speaks for the club.
    #[resource(references = "person")]
    speaker: String,
    /// Club to which the club belongs.
    #[resource(references = "club")]
    parent_id: Option<u32>,
    /// Whether the club is a secret.
    #[param(default = false)]
    secret: bool,
}

/// Rules that hide secret clubs from all callers.
struct Secrets;

impl ResourceRules for Secrets {
    type Resource = Club;

    fn visible(&self, _context: &Context) -> RowFilter<Club> {
        RowFilter::new(json!({ "secret": false }))
    }
}

fn person(name: &str, friends: &[&str]) -> Person {
    let friend_ids = friends.iter().map(|&friend| friend.to_owned()).collect();
    Person { person_id: name.to_owned(), friend_ids }
}

fn club(club_id: u32, speaker: &str, parent_id: Option<u32>) -> Club {
    Club { club_id, speaker: speaker.to_owned(), parent_id, secret: club_id == 9 }
}

fn adapter() -> Adapter {
    let people = [person("ada", &["eve", "007"]), person("eve", &["ada"]), person("007", &[])];
    let clubs = [
        club(1, "ada", None),
        club(2, "007", Some(1)),
        club(3, "eve", Some(2)),
        club(9, "eve", Some(1)),
    ];
    let stores =
        (MemoryRecords::from_iter(people), MemoryRecords::from_iter(clubs).with_rules(Secrets));
    Adapter::builder("town").resources(stores).without_config().build().unwrap()
}

/// Returns the relationships that a call finds, or the code of its error.
async fn found(adapter: &Adapter, root: (&str, &str), rest: Value) -> Vec<String> {
    let mut params = json!({ "root": { "element_type": root.0, "element_name": root.1 } });
    let (params_map, rest) = (params.as_object_mut().unwrap(), rest.as_object().unwrap().clone());
    params_map.extend(rest);
    let result = adapter.call("query_relationships", params).await;
    if let Some(error) = result.error() {
        return vec![error.code.to_string()];
    }
    let edges = result.data()["graph"]["edges"].as_array().unwrap();
    let text = |edge: &Value, name: &str| edge[name].as_str().unwrap().to_owned();
    edges
        .iter()
        .map(|edge| {
            format!("{} {} {}", text(edge, "source"), text(edge, "type"), text(edge, "target"))
        })
        .collect()
}

#[tokio::test]
async fn references_are_followed_between_the_records_of_all_stores() {
    // REQ-REL-01, REQ-REL-05, REQ-REL-06
    let adapter = adapter();
    let outgoing = found(&adapter, ("club", "2"), json!({ "direction": "outgoing", "depth": 2 }));
    assert_eq!(
        outgoing.await,
        ["club:2 parent club:1", "club:2 speaker person:007", "club:1 speaker person:ada"]
    );
    let incoming =
        found(&adapter, ("person", "ada"), json!({ "direction": "incoming", "depth": 2 }));
    assert_eq!(
        incoming.await,
        [
            "person:eve friend person:ada",
            "club:1 speaker person:ada",
            "club:2 parent club:1",
            "person:ada friend person:eve",
            "club:3 speaker person:eve",
        ],
        "a secret club is not among them"
    );
    let only = json!({ "direction": "both", "relationship": "friend" });
    assert_eq!(found(&adapter, ("person", "007"), only).await, ["person:ada friend person:007"]);
    let asked = json!({ "query": "operations", "name": "query_relationships" });
    let details = adapter.call("introspect", asked).await.data()["operation"].clone();
    assert_eq!(
        details["relationship_capabilities"]["relationship_types"],
        json!(["friend", "speaker", "parent"])
    );
}

#[tokio::test]
async fn a_walk_starts_at_a_record_that_exists_for_its_caller() {
    // REQ-REL-01, REQ-ERR-05
    let adapter = adapter();
    let direction = json!({ "direction": "both" });
    for (root, code) in [
        (("club", "9"), "NOT_FOUND_RESOURCE"),
        (("club", "4"), "NOT_FOUND_RESOURCE"),
        (("club", "02"), "NOT_FOUND_RESOURCE"),
        (("person", "7"), "NOT_FOUND_RESOURCE"),
        (("house", "1"), "VALIDATION_INVALID_VALUE"),
    ] {
        assert_eq!(found(&adapter, root, direction.clone()).await, [code], "{root:?}");
    }
}

#[tokio::test]
async fn a_store_without_references_adds_no_query() {
    // REQ-REL-01
    /// A stone.
    #[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource)]
    #[resource(operations(get, list))]
    struct Stone {
        /// Number of the stone.
        #[resource(id)]
        stone_id: u32,
    }
    let adapter =
        Adapter::builder("beach").resource(MemoryRecords::<Stone>::new()).without_config();
    let adapter = adapter.build().unwrap();
    let result = adapter.call("query_relationships", json!({})).await;
    assert_eq!(result.error().unwrap().code, "NOT_FOUND_OPERATION");
}

#[tokio::test]
async fn many_records_refer_to_one() {
    // REQ-REL-06
    const CLUBS: u32 = 1_300;
    let clubs = MemoryRecords::from_iter((1..=CLUBS).map(|number| club(number + 10, "ada", None)));
    let people = MemoryRecords::from_iter([person("ada", &[])]);
    let adapter = Adapter::builder("town").resources((people, clubs)).without_config();
    let adapter = adapter.build().unwrap();
    let mut params = json!({
        "root": { "element_type": "person", "element_name": "ada" },
        "direction": "incoming",
        "include": ["relationships"],
        "first": 100,
    });
    let mut names = std::collections::BTreeSet::new();
    loop {
        let result = adapter.call("query_relationships", params.clone()).await;
        let data = result.data();
        for relationship in data["relationships"].as_array().unwrap() {
            names.insert(relationship["target"]["element_name"].to_string());
        }
        if data["pageInfo"]["hasNextPage"] == false {
            break;
        }
        params["after"] = data["pageInfo"]["endCursor"].clone();
    }
    assert_eq!(names.len(), usize::try_from(CLUBS).unwrap());
}

/// A reference in a form that is not an identifier.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct Nested {
    /// Identifier of the person.
    id: String,
}

/// A reference in one of two forms.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum EitherForm {
    Plain(String),
    Nested(Nested),
}

/// A reference with a tag.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
enum Tagged {
    Person(String),
    Nobody,
}

type Named = std::collections::BTreeMap<String, String>;
type Fraction = f64;
type Flag = bool;
type Plain = Option<Vec<Option<String>>>;
type Number = u64;

/// Tests the fields `owner_id` of these types: whether the adapter can be built.
macro_rules! owner_types {
    ($($ty:ty => $is_accepted:literal,)+) => {
        $({
            /// A thing of a person.
            #[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource)]
            #[resource(operations(get, list))]
            struct Thing {
                /// Number of the thing.
                #[resource(id)]
                thing_id: u32,
                /// Owner of the thing.
                #[resource(references = "person")]
                owner_id: $ty,
            }
            let stores = (MemoryRecords::<Thing>::new(), MemoryRecords::<Person>::new());
            let built = Adapter::builder("town").resources(stores).without_config().build();
            let problem = built.err().map(|error| error.to_string());
            let shown = problem.clone().unwrap_or_default();
            assert_eq!(problem.is_none(), $is_accepted, "{}: {shown}", stringify!($ty));
            assert!($is_accepted || shown.contains("`owner_id` is marked `references`"), "{shown}");
        })+
    };
}

#[test]
fn a_reference_is_an_identifier() {
    owner_types! {
        Value => false,
        Nested => false,
        Option<Nested> => false,
        Vec<Nested> => false,
        EitherForm => false,
        Tagged => false,
        Named => false,
        Fraction => false,
        Flag => false,
        Plain => true,
        Number => true,
        Option<String> => true,
        Vec<u32> => true,
    }
}

/// A note about people. Its schema does not describe what serde accepts.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations(create, get, update))]
struct Note {
    /// Number of the note.
    #[resource(id)]
    note_id: u32,
    /// Text of the note.
    text: String,
    /// Person of the note.
    #[resource(references = "person")]
    person_id: AnyForm,
}

/// Any JSON, described as a string.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct AnyForm(Value);

impl JsonSchema for AnyForm {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AnyForm".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

/// Rules that hide a person.
struct Hidden;

impl ResourceRules for Hidden {
    type Resource = Person;

    fn visible(&self, _context: &Context) -> RowFilter<Person> {
        RowFilter::new(json!({ "person_id": { "ne": "eve" } }))
    }
}

/// Rules that read a form of their own.
struct Forms;

impl ResourceRules for Forms {
    type Resource = Note;

    fn before_create(&self, _: &Context, new: &mut Note) -> Result<(), OperationError> {
        let text = new.person_id.0.as_str().unwrap_or_default();
        new.person_id.0 = serde_json::from_str(text).unwrap_or_default();
        Ok(())
    }
}

#[tokio::test]
async fn a_value_without_an_identifier_is_not_a_reference() {
    let people = MemoryRecords::from_iter([person("ada", &[]), person("eve", &[])]);
    let old =
        Note { note_id: 1, text: "old".to_owned(), person_id: AnyForm(json!({ "id": "eve" })) };
    let notes = MemoryRecords::from_iter([old]).with_rules(Forms);
    let stores = (people.with_rules(Hidden), notes);
    let adapter = Adapter::builder("town").resources(stores).without_config().build().unwrap();
    for (value, is_accepted) in [
        (json!("ada"), true),
        (json!(["ada", null]), true),
        (json!(null), true),
        (json!("eve"), false),
        (json!(["ada", "eve"]), false),
        (json!({ "id": "eve" }), false),
        (json!({ "id": "ada" }), false),
        (json!([{ "id": "eve" }]), false),
        (json!([["eve"]]), false),
        (json!({ "eve": 1 }), false),
        (json!(true), false),
        (json!(1.5), false),
    ] {
        let params = json!({ "text": "new", "person_id": value.to_string() });
        let created = adapter.call("create_note", params).await;
        let error = created.error();
        assert_eq!(error.is_none(), is_accepted, "{value}: {error:?}");
        let named =
            error.map(|error| (error.code.to_string(), error.details["param_name"].clone()));
        let expected = ("VALIDATION_INVALID_VALUE".to_owned(), json!("person_id"));
        assert!(is_accepted || named == Some(expected), "{value}: {error:?}");
    }
    // A record with such a value from before can still be changed.
    let params = json!({ "note_id": 1, "input": { "text": "changed" } });
    let changed = adapter.call("update_note", params).await;
    assert_eq!(changed.error().map(|error| &error.message), None);
}
