//! Tests the operations on tasks.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::client::Client;

fn tasks() -> (TempDir, Client) {
    let directory = TempDir::new().unwrap();
    let client = Client::start("tasks", directory.path(), &[]);
    (directory, client)
}

fn fields(task: &Value) -> Vec<&str> {
    task.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn the_deepest_metadata_is_listed_in_full() {
    // REQ-ENC-12
    let (_directory, mut client) = tasks();
    // Arguments may have 32 levels. The arguments object and `params` use two of them.
    let metadata = (1..30).fold(json!({}), |inner, _| json!({ "a": inner }));
    let params = json!({"title": "Deep", "metadata": metadata});
    client.data("create", "create_task", params);
    let listed = client.data("read", "list_tasks", json!({"fields": "full"}));
    assert_eq!(listed["items"][0]["metadata"], metadata);
    client.close();
}

#[test]
fn a_task_does_not_grow_beyond_what_a_reply_holds() {
    // REQ-ENC-09
    let (_directory, mut client) = tasks();
    client.data("create", "create_task", json!({"title": "Large"}));
    let text = "x".repeat(900_000);
    let change = |name: &str| json!({"task_id": "t-1", "input": {"metadata": {name: text}}});
    client.data("update", "update_task", change("a"));
    client.data("update", "update_task", change("b"));
    let error = client.error("update", "update_task", change("c"));
    assert_eq!(error["code"], "VALIDATION_INVALID_VALUE");
    let task = client.data("read", "get_task", json!({"task_id": "t-1"}))["task"].take();
    assert_eq!(task["metadata"].as_object().unwrap().len(), 2, "nothing was changed");
    client.close();
}

#[test]
fn a_task_lives_from_create_to_delete() {
    // REQ-RSP-11, REQ-RQ-09, REQ-UPD-11
    let (_directory, mut client) = tasks();
    let created = client.data("create", "create_task", json!({"title": "Write"}))["task"].take();
    let shown = ["_version", "created_at", "metadata", "priority", "status", "tags", "task_id"];
    assert_eq!(fields(&created), [&shown[..], &["title", "updated_at"]].concat());
    assert_eq!(created["status"], "todo");
    assert_eq!(created["priority"], 3);
    assert_eq!(created["_version"], 1);
    assert!(created["created_at"].as_str().unwrap().ends_with('Z'), "{created}");

    let id = &created["task_id"];
    let read = client.data("read", "get_task", json!({"task_id": id}));
    assert_eq!(read["task"], created);

    let input = json!({"status": "done", "due_date": "2031-05-06"});
    let params = json!({"task_id": id, "input": input});
    let changed = client.data("update", "update_task", params)["task"].take();
    let mut expected = created.clone();
    expected["status"] = "done".into();
    expected["due_date"] = "2031-05-06".into();
    expected["_version"] = 2.into();
    expected["updated_at"] = changed["updated_at"].clone();
    assert_eq!(changed, expected);
    assert_eq!(client.data("read", "get_task", json!({"task_id": id}))["task"], changed);

    let deleted = client.data("delete", "delete_task", json!({"task_id": id}));
    assert_eq!(deleted, json!({"deleted": {"task_id": id}}));
    for (family, operation, params) in [
        ("read", "get_task", json!({"task_id": id})),
        ("update", "update_task", json!({"task_id": id, "input": {"status": "todo"}})),
        ("delete", "delete_task", json!({"task_id": id})),
    ] {
        let error = client.error(family, operation, params);
        assert_eq!(error["code"], "NOT_FOUND_RESOURCE", "{operation}");
        assert_eq!(error["message"], "Resource 'task' not found: 't-1'");
        assert_eq!(error["details"]["resource_id"], *id);
    }
    client.close();
}

#[test]
fn updates_merge() {
    let (_directory, mut client) = tasks();
    let created = client.data(
        "create",
        "create_task",
        json!({
            "title": "Write", "description": "All of it", "tags": ["a", "b"], "priority": 1,
            "metadata": {"ticket": {"id": 12, "open": true}, "owner": "Ada"},
            "due_date": "2031-05-06",
        }),
    );
    let id = &created["task"]["task_id"];
    for (shows, input, field, expected) in [
        // REQ-UPD-08
        (
            "objects merge at every depth",
            json!({"metadata": {"ticket": {"id": 13}}}),
            "/metadata",
            json!({"ticket": {"id": 13, "open": true}, "owner": "Ada"}),
        ),
        // REQ-UPD-10
        (
            "null removes a key",
            json!({"metadata": {"ticket": {"open": null}, "owner": null}}),
            "/metadata",
            json!({"ticket": {"id": 13}}),
        ),
        // REQ-UPD-09
        ("lists are replaced", json!({"tags": ["c"]}), "/tags", json!(["c"])),
        // REQ-UPD-07
        ("scalars are replaced", json!({"priority": 5}), "/priority", json!(5)),
        // REQ-UPD-11
        ("what is absent stays", json!({}), "/description", json!("All of it")),
    ] {
        let params = json!({"task_id": id, "input": input});
        let data = client.data("update", "update_task", params);
        assert_eq!(data["task"].pointer(field), Some(&expected), "{shows}");
    }
    // REQ-UPD-10
    let input = json!({"description": null, "due_date": null});
    let data = client.data("update", "update_task", json!({"task_id": id, "input": input}));
    assert!(data["task"].get("description").is_none() && data["task"].get("due_date").is_none());
}

#[test]
fn an_invalid_call_is_rejected_and_changes_nothing() {
    let (_directory, mut client) = tasks();
    let created = client.data("create", "create_task", json!({"title": "Write"}))["task"].take();
    let id = &created["task_id"];
    let long = "x".repeat(201);
    let many: Vec<_> = (0..21).map(|tag| tag.to_string()).collect();
    for (family, operation, params, code, name) in [
        ("create", "create_task", json!({}), "VALIDATION_MISSING_PARAM", "title"),
        ("create", "create_task", json!({"title": ""}), "VALIDATION_INVALID_VALUE", "title"),
        ("create", "create_task", json!({"title": long}), "VALIDATION_INVALID_VALUE", "title"),
        ("create", "create_task", json!({"title": 1}), "VALIDATION_INVALID_TYPE", "title"),
        (
            "create",
            "create_task",
            json!({"title": "a", "priority": 6}),
            "VALIDATION_INVALID_VALUE",
            "priority",
        ),
        (
            "create",
            "create_task",
            json!({"title": "a", "status": "late"}),
            "VALIDATION_INVALID_VALUE",
            "status",
        ),
        (
            "create",
            "create_task",
            json!({"title": "a", "tags": many}),
            "VALIDATION_INVALID_VALUE",
            "tags",
        ),
        (
            "create",
            "create_task",
            json!({"title": "a", "due_date": "2031-02-30"}),
            "VALIDATION_INVALID_VALUE",
            "due_date",
        ),
        (
            "create",
            "create_task",
            json!({"title": "a", "colour": "red"}),
            "VALIDATION_UNKNOWN_PARAM",
            "colour",
        ),
        (
            "read",
            "list_tasks",
            json!({"first": 1, "after": "t-1"}),
            "VALIDATION_INVALID_VALUE",
            "after",
        ),
        ("read", "list_tasks", json!({"query": "a"}), "VALIDATION_UNKNOWN_PARAM", "query"),
        ("read", "search_tasks", json!({}), "VALIDATION_MISSING_PARAM", "query"),
        ("read", "search_tasks", json!({"query": " \"\""}), "VALIDATION_INVALID_VALUE", "query"),
        // REQ-UPD-02, REQ-UPD-03
        ("update", "update_task", json!({"task_id": id}), "VALIDATION_MISSING_PARAM", "input"),
        (
            "update",
            "update_task",
            json!({"task_id": id, "input": "x"}),
            "VALIDATION_INVALID_TYPE",
            "input",
        ),
        // REQ-UPD-04
        (
            "update",
            "update_task",
            json!({"task_id": id, "input": {"title": ""}}),
            "VALIDATION_INVALID_VALUE",
            "input.title",
        ),
        // REQ-UPD-05
        (
            "update",
            "update_task",
            json!({"task_id": id, "input": {"titel": "a"}}),
            "VALIDATION_UNKNOWN_FIELD",
            "titel",
        ),
        // REQ-UPD-06
        (
            "update",
            "update_task",
            json!({"task_id": id, "input": {"task_id": "t-2"}}),
            "VALIDATION_UNKNOWN_FIELD",
            "task_id",
        ),
        (
            "update",
            "update_task",
            json!({"task_id": id, "input": {"title": "a", "created_at": "2031-05-06T07:08:09Z"}}),
            "VALIDATION_READ_ONLY_FIELD",
            "created_at",
        ),
        (
            "update",
            "update_task",
            json!({"task_id": id, "input": {"title": null}}),
            "VALIDATION_INVALID_VALUE",
            "input.title",
        ),
        // REQ-CON-03
        (
            "update",
            "update_task",
            json!({"task_id": id, "input": {"title": "a"}, "if_match": 7}),
            "CONFLICT_VERSION_MISMATCH",
            "if_match",
        ),
    ] {
        let error = client.error(family, operation, params.clone());
        assert_eq!(error["code"], code, "{operation} {params}: {error}");
        assert!(error.to_string().contains(name), "{operation} {params}: {error}");
    }
    let all = client.data("read", "list_tasks", json!({"fields": "full"}));
    assert_eq!(all["items"], json!([created]));
}

#[test]
fn if_match_lets_the_first_of_two_win() {
    // REQ-CON-02, REQ-CON-03
    let (directory, mut first) = tasks();
    let mut second = Client::start("tasks", directory.path(), &[]);
    let created = first.data("create", "create_task", json!({"title": "Write"}));
    let (id, version) = (&created["task"]["task_id"], &created["task"]["_version"]);
    let params = |title| json!({"task_id": id, "input": {"title": title}, "if_match": version});
    assert_eq!(first.data("update", "update_task", params("a"))["task"]["_version"], 2);
    let error = second.error("update", "update_task", params("b"));
    assert_eq!(error["code"], "CONFLICT_VERSION_MISMATCH");
    assert_eq!(error["details"]["actual_version"], "2");
    assert_eq!(second.data("read", "get_task", json!({"task_id": id}))["task"]["title"], "a");
}

#[test]
fn pages_follow_each_other() {
    // REQ-PAG-04, REQ-PAG-05, REQ-PAG-08, REQ-PAG-09
    let (_directory, mut client) = tasks();
    for index in 0..130 {
        client.data("create", "create_task", json!({"title": format!("{index}")}));
    }
    let page = client.data("read", "list_tasks", json!({}));
    assert_eq!(page["items"].as_array().unwrap().len(), 20);

    let page = client.data("read", "list_tasks", json!({"first": 50}));
    assert_eq!(page["items"][49]["title"], "49");
    assert_eq!(page["pageInfo"]["hasPreviousPage"], false);
    let after = &page["pageInfo"]["endCursor"];
    client.data("delete", "delete_task", json!({"task_id": "t-30"}));
    client.data("create", "create_task", json!({"title": "new"}));
    let page = client.data("read", "list_tasks", json!({"first": 100, "after": after}));
    assert_eq!(page["items"][0]["title"], "50");
    assert_eq!(page["items"].as_array().unwrap().len(), 81);
    assert_eq!(page["pageInfo"]["hasNextPage"], false);
    assert_eq!(page["pageInfo"]["hasPreviousPage"], true);

    // REQ-PAG-08, REQ-WRN-01
    let reply = client.call("read", "list_tasks", json!({"first": 1000}));
    assert_eq!(reply["data"]["items"].as_array().unwrap().len(), 100);
    assert_eq!(reply["warnings"][0]["code"], "VALIDATION_PAGE_SIZE_WARNING");
    let reply = client.call("read", "list_tasks", json!({"first": 100}));
    assert!(reply.get("warnings").is_none());
}

#[test]
fn a_search_is_paged_too() {
    let (_directory, mut client) = tasks();
    for title in ["Write the report", "Read the report", "Sleep", "File the report"] {
        client.data("create", "create_task", json!({"title": title}));
    }
    let params = json!({"query": "\"THE REPORT\"", "first": 2});
    let page = client.data("read", "search_tasks", params);
    assert_eq!(page["items"][1]["title"], "Read the report");
    assert_eq!(page["pageInfo"]["totalCount"], 3);
    let after = &page["pageInfo"]["endCursor"];
    let params = json!({"query": "\"THE REPORT\"", "first": 2, "after": after});
    let page = client.data("read", "search_tasks", params);
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
    assert_eq!(page["items"][0]["title"], "File the report");
}

#[test]
fn introspection_lists_all_operations() {
    // REQ-INT-25, REQ-UPD-12
    let (_directory, mut client) = tasks();
    let data = client.data("read", "introspect", json!({"query": "operations"}));
    let names: Vec<_> =
        data["operations"].as_array().unwrap().iter().map(|each| each["name"].clone()).collect();
    for name in [
        "create_task",
        "get_task",
        "list_tasks",
        "search_tasks",
        "query_relationships",
        "update_task",
        "link_tasks",
        "delete_task",
    ] {
        assert!(names.contains(&name.into()), "{name}: {data}");
    }
    let parameters = |client: &mut Client, name: &str| {
        let query = json!({"query": "operations", "name": name});
        let mut data = client.data("read", "introspect", query);
        data["operation"]["parameters"].take()
    };
    let names = |parameters: &Value| -> Vec<String> {
        let each = parameters.as_array().unwrap().iter();
        each.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect()
    };
    let list = parameters(&mut client, "list_tasks");
    let rest = ["filter", "sort", "fields", "aggregate", "include_items"];
    let pages = ["first", "after", "last", "before"];
    assert_eq!(names(&list), [&rest[..], &pages].concat());
    assert!(list[5].get("maximum").is_none(), "a page that is too large is cut, not refused");
    let search = parameters(&mut client, "search_tasks");
    assert_eq!(names(&search), [&["query"][..], &rest, &pages].concat());
    assert_eq!(names(&parameters(&mut client, "get_task")), ["task_id", "fields"]);
    let update = parameters(&mut client, "update_task");
    assert_eq!(names(&update), ["task_id", "input", "if_match"]);
    assert_eq!(update[1]["type"], "object");
}
