//! Tests of the merge for each kind of field.

use std::collections::{BTreeMap, HashMap};

use mcp_aql::Update;
use mcp_aql::update::FieldChange;
use serde_json::json;

use super::resource::{Kind, Metadata, Origin, Place, Status, Task, merged, task};

#[test]
fn an_empty_input_changes_nothing() {
    // REQ-UPD-11
    assert_eq!(merged(json!({})), task());
    let update: Update<Task> = Update::from_json(json!({})).unwrap();
    assert!(update.is_empty());
}

#[test]
fn scalars_enums_and_arrays_are_replaced() {
    // REQ-UPD-07, REQ-UPD-09
    let expected = Task {
        title: "Bread".into(),
        status: Status::Done,
        priority: 1,
        tags: vec!["x".into()],
        r#type: Kind::Errand { shop: "baker".into() },
        place: Place { x: 8, y: 9 },
        ..task()
    };
    let input = json!({
        "title": "Bread", "status": "done", "priority": 1, "tags": ["x"],
        "kind": {"errand": {"shop": "baker"}}, "place": {"x": 8, "y": 9}
    });
    assert_eq!(merged(input), expected);
}

#[test]
fn null_removes() {
    // REQ-UPD-10
    let expected = Task { due_date: None, secret: None, extra: json!(null), ..task() };
    assert_eq!(merged(json!({"due_date": null, "secret": null, "extra": null})), expected);
}

#[test]
fn structs_merge_field_by_field_at_every_depth() {
    // REQ-UPD-08, REQ-UPD-10
    let expected = Task {
        metadata: Metadata {
            note: None,
            origin: Origin { system: "fax".into(), number: Some(7) },
            ..task().metadata
        },
        ..task()
    };
    let input = json!({"metadata": {"note": null, "origin": {"system": "fax"}}});
    assert_eq!(merged(input), expected);
}

#[test]
fn a_struct_that_was_absent_starts_from_its_default() {
    // REQ-UPD-08
    let expected = Task {
        review: Some(Metadata {
            parent: Some(Box::new(Metadata::by("dora"))),
            ..Metadata::by("carol")
        }),
        ..task()
    };
    let input = json!({"review": {"author": "carol", "note": null, "parent": {"author": "dora"}}});
    assert_eq!(merged(input.clone()), expected);

    let mut twice = expected.clone();
    Update::from_json(input).unwrap().merge_into(&mut twice);
    assert_eq!(twice, expected);

    Update::from_json(json!({"review": {"parent": null}})).unwrap().merge_into(&mut twice);
    assert_eq!(twice.review, Some(Metadata::by("carol")));
    Update::from_json(json!({"review": null})).unwrap().merge_into(&mut twice);
    assert_eq!(twice, task());
}

#[test]
fn maps_merge_key_by_key() {
    // REQ-UPD-08, REQ-UPD-10
    let expected = Task {
        counts: BTreeMap::from([("b".into(), 5), ("c".into(), 6)]),
        people: HashMap::from([
            ("boss".into(), Metadata { note: Some("busy".into()), ..Metadata::by("bob") }),
            ("clerk".into(), Metadata::by("carl")),
        ]),
        rooms: Some(BTreeMap::from([(-1, BTreeMap::from([("cellar".into(), vec![1, 2])]))])),
        ..task()
    };
    let input = json!({
        "counts": {"a": null, "b": 5, "c": 6, "d": null},
        "people": {"boss": {"note": "busy"}, "clerk": {"author": "carl"}},
        "rooms": {"-1": {"cellar": [1, 2], "attic": null}, "7": null}
    });
    assert_eq!(merged(input), expected);
}

#[test]
fn json_merges_key_by_key_at_every_depth() {
    // REQ-UPD-08, REQ-UPD-09, REQ-UPD-10
    let task = merged(json!({
        "extra": {"deep": {"x": null, "y": [null]}, "gone": null, "new": {"a": null, "b": 1}},
        "settings": {"dark": null, "font": {"face": "serif"}, "more": {"x": null}}
    }));
    assert_eq!(task.extra, json!({"deep": {"y": [null]}, "new": {"b": 1}}));
    assert_eq!(json!(task.settings), json!({"font": {"pt": 9, "face": "serif"}, "more": {}}));
    assert_eq!(merged(json!({"extra": [1]})).extra, json!([1]));
}

#[test]
fn json_stores_get_the_same_merge() {
    // REQ-UPD-08: an enum with data and a field that is replaced whole are not merged as objects.
    let input = json!({
        "kind": {"errand": {"shop": "baker"}}, "place": {"x": 8, "y": 9}, "due_date": null,
        "metadata": {"note": null, "origin": {"number": 9}}, "counts": {"a": null, "z": 1},
        "review": {"author": "carol"}, "extra": {"gone": null}
    });
    let mut stored = serde_json::to_value(task()).unwrap();
    Update::<Task>::from_json(input.clone()).unwrap().apply_to_json(&mut stored);
    assert_eq!(stored["kind"], json!({"errand": {"shop": "baker"}}));
    assert_eq!(stored["place"], json!({"x": 8, "y": 9}));
    assert!(stored.get("due_date").is_none());
    assert_eq!(stored["review"], json!({"author": "carol"}));
    assert_eq!(stored["metadata"]["origin"], json!({"system": "mail", "number": 9}));
}

#[test]
fn an_update_says_what_it_changes() {
    // REQ-UPD-10, REQ-UPD-11
    let input = json!({
        "title": "Bread", "due_date": null,
        "metadata": {"note": "x", "origin": {"system": null}}, "place": {"x": 1, "y": 1}
    });
    assert!(Update::<Task>::from_json(input).is_err());

    let input = json!({
        "title": "Bread", "due_date": null, "counts": {"a": null, "b": 1}, "people": {},
        "metadata": {"note": "x", "origin": {"number": null}}, "place": {"x": 1, "y": 1},
        "extra": {"deep": {"x": 1}}
    });
    let update: Update<Task> = Update::from_json(input.clone()).unwrap();
    let mut changes: Vec<_> = update.changed_fields().collect();
    changes.sort_unstable();
    let names = ["counts", "due_date", "extra", "metadata", "people", "place", "title"];
    assert_eq!(changes, names);
    let mut paths = update.changed_paths();
    paths.sort_unstable();
    assert_eq!(
        paths,
        [
            "counts.a",
            "counts.b",
            "due_date",
            "extra.deep.x",
            "metadata.note",
            "metadata.origin.number",
            "people",
            "place",
            "title"
        ]
    );

    assert!(update.contains("title") && !update.contains("tags"));
    assert_eq!(update.get("title"), Some(&json!("Bread")));
    assert_eq!(update.change("tags"), FieldChange::Keep);
    assert_eq!(update.change("due_date"), FieldChange::Remove);
    assert_eq!(update.change("title"), FieldChange::Set(&json!("Bread")));
    assert_eq!(update.to_merge_patch(), input);
    assert_eq!(serde_json::to_value(&update).unwrap(), input);
    assert_eq!(update.into_merge_patch(), input);
}

#[test]
fn a_clone_merges_as_well() {
    let update: Update<Task> = Update::from_json(json!({"tags": ["x"], "extra": 1})).unwrap();
    let (mut first, mut second) = (task(), task());
    update.clone().merge_into(&mut first);
    update.merge_into(&mut second);
    assert_eq!(first, second);
    assert_eq!(first.tags, ["x"]);
}

#[test]
fn debug_output_holds_no_values() {
    let update: Update<Task> = Update::from_json(json!({"secret": "hunter"})).unwrap();
    let text = format!("{update:?}");
    assert!(text.contains("secret") && !text.contains("hunter"), "{text}");
}

#[test]
fn updates_cross_threads() {
    fn travels<T: Send + Sync + 'static>() {}
    travels::<Update<Task>>();
}
