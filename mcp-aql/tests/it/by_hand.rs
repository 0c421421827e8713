//! The code that the macros generate, written by hand. It must compile against the public API.

use mcp_aql::prelude::*;
use mcp_aql::table::{
    Call, DefaultSpec, ExampleSpec, Operation, OperationEntry, OperationSpec, ParameterEntry,
    ParameterSpec, ReturnsSpec, StateSpec,
};
use mcp_aql::{Operations, ParamGroup, constraint};

#[derive(serde::Serialize, JsonSchema)]
struct Note {
    title: String,
}

#[derive(Clone)]
struct Clock;

/// Create a note.
async fn create_note(
    State(_clock): State<Clock>,
    title: String,
    priority: u8,
    page: Paging,
) -> Result<Note, OperationError> {
    let _ = (priority, page.first);
    Ok(Note { title })
}

struct Paging {
    first: Option<u32>,
}

const _: () = {
    #[automatically_derived]
    impl ::mcp_aql::ParamGroup for Paging {
        const PARAMETERS: &'static [::mcp_aql::table::ParameterSpec] =
            &[::mcp_aql::table::ParameterSpec::optional::<u32>("first", "How many.")];
        fn decode(
            __call: &mut ::mcp_aql::table::Call,
        ) -> ::core::result::Result<Self, ::mcp_aql::OperationError> {
            ::core::result::Result::Ok(Self { first: __call.optional::<u32>()? })
        }
    }
};

#[doc(hidden)]
#[allow(non_camel_case_types)]
struct create_note {}

const _: () = {
    #[automatically_derived]
    impl Operation for create_note {
        const OPERATION: OperationEntry<()> = OperationEntry::new(
            OperationSpec::new("create_note", mcp_aql::SemanticCategory::Create, "Create a note.")
                .parameters(&[
                    ParameterEntry::One(
                        ParameterSpec::required::<String>("title", "Short title.").constraints(&[
                            constraint::Constraint::MinLength(1),
                            constraint::Constraint::MaxLength(200),
                        ]),
                    ),
                    ParameterEntry::One(
                        ParameterSpec::required::<u8>("priority", "1 is most urgent.")
                            .default(DefaultSpec::Json("3")),
                    ),
                    ParameterEntry::Group(<Paging as ParamGroup>::PARAMETERS),
                ])
                .returns(ReturnsSpec::of::<Result<Note, OperationError>, _>())
                .states(&[StateSpec::of::<Clock>()])
                .examples(&[ExampleSpec { description: "", params: r#"{"title":"Milk"}"# }]),
            |(), mut __call: Call| {
                Box::pin(async move {
                    let __state0 = __call.state::<Clock>()?;
                    let __arg0 = __call.param::<String>()?;
                    let __arg1 = __call.param::<u8>()?;
                    let __arg2 = __call.group::<Paging>()?;
                    __call.reply(create_note(__state0, __arg0, __arg1, __arg2).await)
                })
            },
        );
    }
};

struct Notes<S> {
    store: S,
}

impl<S: Send + Sync> Notes<S> {
    fn count_notes(&self) -> usize {
        size_of_val(&self.store)
    }
}

const _: () = {
    #[automatically_derived]
    impl<S: Send + Sync + 'static> Operations for Notes<S> {
        const OPERATIONS: &'static [OperationEntry<Self>] = &[OperationEntry::new(
            OperationSpec::new("count_notes", mcp_aql::SemanticCategory::Read, "Count the notes.")
                .returns(ReturnsSpec::of::<usize, _>()),
            |__receiver, __call: Call| {
                Box::pin(async move { __call.reply(__receiver.count_notes()) })
            },
        )];
    }
};

#[test]
fn tables_contain_the_declared_options() {
    let spec = create_note::OPERATION.spec;
    assert_eq!(spec.name, "create_note");
    assert_eq!(spec.parameters.len(), 3);
    assert_eq!(Notes::<u8>::OPERATIONS.len(), 1);
}

#[tokio::test]
async fn tables_by_hand_run() {
    let adapter = mcp_aql::Adapter::builder("by_hand")
        .state(Clock)
        .operation(create_note {})
        .operations(Notes { store: 7_u8 })
        .without_config()
        .build()
        .unwrap();
    let result = adapter.call("create_note", serde_json::json!({ "title": "Milk" })).await;
    assert_eq!(result.data()["note"]["title"], "Milk");
    let result = adapter.call("count_notes", serde_json::json!({})).await;
    assert_eq!(result.data(), 1);
    let details = adapter
        .call("introspect", serde_json::json!({ "query": "operations", "name": "create_note" }))
        .await;
    let parameters = details.data()["operation"]["parameters"].as_array().unwrap();
    let names: Vec<_> = parameters.iter().map(|parameter| &parameter["name"]).collect();
    assert_eq!(names, ["title", "priority", "first"]);
    for (params, code) in [
        (serde_json::json!({}), "VALIDATION_MISSING_PARAM"),
        (serde_json::json!({ "title": 1 }), "VALIDATION_INVALID_TYPE"),
        (serde_json::json!({ "title": "" }), "VALIDATION_INVALID_VALUE"),
        (serde_json::json!({ "title": "a", "colour": 1 }), "VALIDATION_UNKNOWN_PARAM"),
    ] {
        let result = adapter.call("create_note", params.clone()).await;
        assert_eq!(result.code(), Some(code), "{params}");
    }
}

/// An address.
#[derive(Default, serde::Serialize, serde::Deserialize, JsonSchema, UpdateInput)]
struct Address {
    /// Street and number.
    #[param(min_length = 1)]
    street: String,
}

/// A person.
#[derive(serde::Serialize, serde::Deserialize, JsonSchema, UpdateInput)]
struct Person {
    /// Their address.
    home: Address,
    /// A list of themselves, with lists of their own.
    friends: Option<Circle>,
    /// The previous person.
    #[serde(default)]
    parent: Option<Box<Parent>>,
}

/// A list that contains itself.
#[derive(Default, Clone, serde::Serialize, serde::Deserialize, JsonSchema)]
struct Circle(Vec<Circle>);

/// A resource that contains itself.
#[derive(Default, serde::Serialize, serde::Deserialize, JsonSchema, UpdateInput)]
struct Parent {
    /// The previous resource.
    #[serde(default)]
    parent: Option<Box<Parent>>,
}

/// Add someone.
#[operation(category = "CREATE")]
fn add_person(
    /// Their address.
    home: Address,
) -> Person {
    Person { home, friends: None, parent: None }
}

/// Change someone.
#[operation(category = "UPDATE")]
fn update_person(input: Update<Person>) -> Person {
    let home = Address { street: "Here".to_owned() };
    let mut person = Person { home, friends: None, parent: None };
    input.merge_into(&mut person);
    person
}

#[tokio::test]
async fn constraints_of_a_resource_hold_wherever_its_type_is_taken() {
    // REQ-RQ-12, REQ-INT-20
    let adapter = mcp_aql::Adapter::builder("people")
        .operation(add_person {})
        .operation(update_person {})
        .without_config()
        .build()
        .unwrap();
    let empty = serde_json::json!({ "home": { "street": "" } });
    let result = adapter.call("add_person", empty.clone()).await;
    assert_eq!(result.code(), Some("VALIDATION_INVALID_VALUE"));
    let result = adapter.call("update_person", serde_json::json!({ "input": empty })).await;
    assert_eq!(result.code(), Some("VALIDATION_INVALID_VALUE"));
    let shown = serde_json::json!({ "query": "types", "name": "Address" });
    let fields = adapter.call("introspect", shown).await.data()["type"]["fields"].clone();
    assert_eq!(fields[0]["minLength"], 1);
    let shown = serde_json::json!({ "query": "types", "name": "PersonUpdate" });
    let fields = adapter.call("introspect", shown).await.data()["type"]["fields"].clone();
    assert_eq!(fields[0]["type"], "AddressUpdate");
    let deep = serde_json::json!({ "input": { "parent": { "parent": { "parent": {} } } } });
    assert!(adapter.call("update_person", deep).await.is_success());
}
