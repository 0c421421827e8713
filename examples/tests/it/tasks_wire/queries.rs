//! Tests queries over all tasks.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::client::Client;

/// Creates a board with a few tasks.
fn board() -> (TempDir, Client) {
    let directory = TempDir::new().unwrap();
    let mut client = Client::start("tasks", directory.path(), &[]);
    for (title, status, priority, tags, due) in [
        ("Write the report", "doing", 1, &["office", "writing"][..], Some("2020-05-06")),
        ("Read the invoice", "todo", 3, &["office"], Some("2099-01-01")),
        ("Water the plants", "done", 2, &["garden"], Some("2020-01-01")),
        ("Écrire le rapport", "todo", 1, &["writing"], None),
        ("Sleep", "todo", 5, &[], None),
    ] {
        let mut task =
            json!({"title": title, "status": status, "priority": priority, "tags": tags});
        if let Some(due) = due {
            task["due_date"] = due.into();
        }
        client.data("create", "create_task", task);
    }
    (directory, client)
}

fn titles(page: &Value) -> Vec<&str> {
    page["items"].as_array().unwrap().iter().map(|it| it["title"].as_str().unwrap()).collect()
}

#[test]
fn one_request_combines_all_controls() {
    // REQ-COL-01, REQ-COL-02, REQ-COL-10, REQ-AGG-05
    let (_directory, mut client) = board();
    let page = client.data(
        "read",
        "search_tasks",
        json!({
            "query": "\"the report\" ecrire invoice",
            "filter": { "status": ["todo", "doing"], "priority": { "lte": 3 } },
            "sort": [{ "field": "priority" }, { "field": "title", "order": "desc" }],
            "fields": ["title", "_computed.is_overdue"],
            "aggregate": {
                "tasks": { "count": true },
                "by_status": { "group_by": "status", "count": true, "min": "priority" },
                "soonest": { "min": "due_date" },
            },
            "include_items": true,
            "first": 2,
        }),
    );
    assert_eq!(
        page["items"],
        json!([
            { "title": "Écrire le rapport", "_computed": { "is_overdue": false } },
            { "title": "Write the report", "_computed": { "is_overdue": true } },
        ])
    );
    assert_eq!(
        page["aggregations"],
        json!({
            "tasks": 3,
            "by_status": { "todo": { "count": 2, "min": 1 }, "doing": { "count": 1, "min": 1 } },
            "soonest": "2020-05-06",
        })
    );
    assert_eq!(page["pageInfo"]["hasNextPage"], true);
    assert_eq!(page["pageInfo"]["totalCount"], 3);
    let applied = &page["applied"];
    assert_eq!(applied["query"], json!(["\"the report\"", "ecrire", "invoice"]));
    assert_eq!(applied["fields"], json!(["title", "_computed.is_overdue"]));
    assert_eq!(applied["first"], 2);
    assert_eq!(
        applied["sort"],
        json!([{ "field": "priority", "order": "asc" }, { "field": "title", "order": "desc" }])
    );
}

#[test]
fn filters_find_matching_tasks() {
    // REQ-COL-04, REQ-CMP-03
    let (_directory, mut client) = board();
    for (filter, found) in [
        (json!({ "status": "done" }), &["Water the plants"][..]),
        (json!({ "status": { "ne": "todo" } }), &["Write the report", "Water the plants"]),
        (json!({ "tags": "writing" }), &["Write the report", "Écrire le rapport"]),
        (json!({ "tags": ["garden", "writing"], "priority": { "gt": 1 } }), &["Water the plants"]),
        (json!({ "tags": { "exists": false } }), &["Sleep"]),
        (json!({ "due_date": null }), &["Écrire le rapport", "Sleep"]),
        (json!({ "due_date": { "gte": "2020-01-02", "lt": "2021-01-01" } }), &["Write the report"]),
        (json!({ "title": { "contains": "the r" } }), &["Write the report"]),
        (json!({ "title": { "starts_with": "É" } }), &["Écrire le rapport"]),
        (json!({ "_computed.is_overdue": true }), &["Write the report"]),
        (
            json!({ "or": [{ "priority": 5 }, { "not": { "status": ["todo", "doing"] } }] }),
            &["Water the plants", "Sleep"],
        ),
        (json!({ "created_at": { "lt": "2020-01-01" } }), &[]),
    ] {
        let page = client.data("read", "list_tasks", json!({ "filter": filter }));
        assert_eq!(titles(&page), found, "{filter}");
    }
}

#[test]
fn missing_values_are_sorted_last() {
    // REQ-COL-05
    let (_directory, mut client) = board();
    for (sort, found) in [
        (
            json!({ "field": "due_date" }),
            [
                "Water the plants",
                "Write the report",
                "Read the invoice",
                "Écrire le rapport",
                "Sleep",
            ],
        ),
        (
            json!({ "field": "due_date", "order": "desc" }),
            [
                "Read the invoice",
                "Write the report",
                "Water the plants",
                "Écrire le rapport",
                "Sleep",
            ],
        ),
        // A status is ordered by progress, not by name.
        (
            json!([{ "field": "status", "order": "desc" }, { "field": "title" }]),
            [
                "Water the plants",
                "Write the report",
                "Read the invoice",
                "Sleep",
                "Écrire le rapport",
            ],
        ),
    ] {
        let page = client.data("read", "list_tasks", json!({ "sort": sort }));
        assert_eq!(titles(&page), found, "{sort}");
    }
}

#[test]
fn fields_select_parts_of_rows() {
    // REQ-FLD-01, REQ-FLD-02, REQ-FLD-06, REQ-FLD-07, REQ-CMP-01
    let (_directory, mut client) = board();
    let names =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    let first = |client: &mut Client, operation: &str, params: Value| {
        names(&client.data("read", operation, params)["items"][0])
    };
    let minimal = ["task_id", "title"];
    let standard = ["due_date", "priority", "status", "tags", "task_id", "title"];
    assert_eq!(first(&mut client, "list_tasks", json!({})), standard);
    assert_eq!(first(&mut client, "search_tasks", json!({ "query": "report" })), minimal);
    assert_eq!(first(&mut client, "list_tasks", json!({ "fields": "minimal" })), minimal);
    let whole = client.data("read", "get_task", json!({ "task_id": "t-1" }))["task"].take();
    let full = client.data("read", "list_tasks", json!({ "fields": "full" }))["items"][0].take();
    assert_eq!(full, whole);
    let params = json!({ "task_id": "t-1", "fields": ["title", "_computed.is_overdue"] });
    let part = client.data("read", "get_task", params)["task"].take();
    assert_eq!(part, json!({ "title": "Write the report", "_computed": { "is_overdue": true } }));
    let input = json!({ "metadata": { "ticket": { "id": 7, "open": true }, "owner": "Ada" } });
    client.data("update", "update_task", json!({ "task_id": "t-1", "input": input }));
    let params = json!({ "fields": ["metadata.ticket.id", "title"], "first": 1 });
    let item = client.data("read", "list_tasks", params)["items"][0].take();
    assert_eq!(item, json!({ "title": "Write the report", "metadata": { "ticket": { "id": 7 } } }));
    // A path into a plain value selects that value and causes a warning, also in the database.
    for (operation, params) in [
        ("list_tasks", json!({ "fields": ["metadata.owner.name"], "first": 1 })),
        ("get_task", json!({ "fields": ["metadata.owner.name"], "task_id": "t-1" })),
    ] {
        let reply = client.call("read", operation, params);
        let row = match operation {
            "get_task" => &reply["data"]["task"],
            _ => &reply["data"]["items"][0],
        };
        assert_eq!(*row, json!({ "metadata": {} }), "{reply}");
        assert_eq!(reply["warnings"][0]["details"], json!({ "fields": ["metadata.owner.name"] }));
    }
}

#[test]
fn a_date_finds_what_was_created_on_that_day() {
    // REQ-COL-04, REQ-ENC-04
    let (_directory, mut client) = board();
    let params = json!({ "fields": ["created_at"], "first": 1 });
    let item = client.data("read", "list_tasks", params)["items"][0].take();
    let (day, _) = item["created_at"].as_str().unwrap().split_once('T').unwrap();
    let mut count = |condition: Value| {
        let params = json!({ "filter": { "created_at": condition }, "first": 1 });
        client.data("read", "list_tasks", params)["pageInfo"]["totalCount"].as_u64().unwrap()
    };
    // Midnight may pass while the tasks are created, so compare with the same count.
    assert!(count(json!(day)) > 0);
    assert_eq!(count(json!(day)), count(json!({ "gte": day, "lte": day })));
    assert_eq!(count(json!(day)) + count(json!({ "ne": day })), count(json!({ "exists": true })));
    assert_eq!(
        count(json!({ "lt": day })) + count(json!([day])) + count(json!({ "gt": day })),
        count(json!({ "exists": true }))
    );
}

#[test]
fn summaries_come_without_rows() {
    // REQ-AGG-04, REQ-AGG-05
    let (_directory, mut client) = board();
    let data = client.data(
        "read",
        "list_tasks",
        json!({
            "filter": { "status": { "ne": "done" } },
            "aggregate": {
                "by_priority": { "group_by": "priority", "count": true },
                "all": { "count": true, "avg": "priority", "sum": "priority", "max": "due_date" },
            },
        }),
    );
    let expected = json!({
        "by_priority": { "1": 2, "3": 1, "5": 1 },
        "all": { "count": 4, "sum": 10, "avg": 2.5, "max": "2099-01-01" },
    });
    assert_eq!(data["aggregations"], expected);
    assert!(data.get("items").is_none() && data.get("pageInfo").is_none(), "{data}");
}

#[test]
fn pages_go_both_ways_and_over_restarts() {
    // REQ-PAG-01, REQ-PAG-09, REQ-PAG-10
    let (directory, mut client) = board();
    let ask = |client: &mut Client, page: Value| {
        let mut params = json!({ "sort": { "field": "due_date", "order": "desc" } });
        params.as_object_mut().unwrap().extend(page.as_object().unwrap().clone());
        client.data("read", "list_tasks", params)
    };
    let one = ask(&mut client, json!({ "first": 2 }));
    client.close();
    // The cursor is also valid in another process with the same file.
    let mut client = Client::start("tasks", directory.path(), &[]);
    let two = ask(&mut client, json!({ "first": 2, "after": one["pageInfo"]["endCursor"] }));
    let three = ask(&mut client, json!({ "first": 2, "after": two["pageInfo"]["endCursor"] }));
    assert_eq!(titles(&one), ["Read the invoice", "Write the report"]);
    assert_eq!(titles(&two), ["Water the plants", "Écrire le rapport"]);
    assert_eq!(titles(&three), ["Sleep"]);
    let back = ask(&mut client, json!({ "last": 2, "before": three["pageInfo"]["startCursor"] }));
    assert_eq!(back["items"], two["items"]);
    let end = ask(&mut client, json!({ "last": 2 }));
    assert_eq!(titles(&end), ["Écrire le rapport", "Sleep"]);
    // A different file has a different key.
    let mut other = Client::start("tasks", directory.path(), &["--db", "other.db"]);
    let params = json!({ "first": 2, "after": one["pageInfo"]["endCursor"] });
    assert_eq!(other.error("read", "list_tasks", params)["details"]["param_name"], "after");
}

#[test]
fn rejects_impossible_queries_with_a_correction() {
    // REQ-COL-04, REQ-COL-05, REQ-COL-07, REQ-AGG-08, REQ-FLD-09, REQ-PAG-02, REQ-PAG-03
    let (_directory, mut client) = board();
    let end =
        client.data("read", "list_tasks", json!({ "first": 2 }))["pageInfo"]["endCursor"].take();
    for (params, code, name, hint) in [
        (json!({ "filter": { "statu": "todo" } }), "INVALID_VALUE", "filter", "'status'"),
        (json!({ "filter": { "metadata": { "a": 1 } } }), "INVALID_VALUE", "filter", "tags"),
        (json!({ "filter": { "_computed.age_days": 1 } }), "INVALID_VALUE", "filter", "is_overdue"),
        (
            json!({ "filter": { "priority": { "above": 1 } } }),
            "INVALID_VALUE",
            "filter.priority",
            "gte",
        ),
        (json!({ "filter": { "priority": "1" } }), "INVALID_TYPE", "filter.priority", "'integer'"),
        (json!({ "filter": { "status": "dong" } }), "INVALID_VALUE", "filter.status", "'doing'"),
        (json!({ "filter": { "due_date": "6 May" } }), "INVALID_VALUE", "filter.due_date", "2031"),
        (json!({ "filter": [] }), "INVALID_TYPE", "filter", "object"),
        (json!({ "sort": { "field": "prio" } }), "INVALID_VALUE", "sort.field", "'priority'"),
        (json!({ "sort": { "order": "desc" } }), "INVALID_VALUE", "sort", "due_date"),
        (
            json!({ "sort": { "field": "title", "order": "down" } }),
            "INVALID_VALUE",
            "sort.order",
            "desc",
        ),
        (json!({ "fields": "all" }), "INVALID_VALUE", "fields", "full"),
        (json!({ "fields": ["titel"] }), "INVALID_VALUE", "fields[0]", "'title'"),
        (json!({ "fields": ["_computed.age"] }), "INVALID_VALUE", "fields[0]", "age_days"),
        (
            json!({ "aggregate": { "a": { "sum": "title" } } }),
            "INVALID_VALUE",
            "aggregate.a.sum",
            "priority",
        ),
        (
            json!({ "aggregate": { "a": { "median": "priority" } } }),
            "INVALID_VALUE",
            "aggregate.a",
            "avg",
        ),
        (
            json!({ "aggregate": { "a": { "group_by": "status" } } }),
            "INVALID_VALUE",
            "aggregate.a",
            "'count': true",
        ),
        (json!({ "include_items": true }), "INVALID_VALUE", "include_items", "'aggregate'"),
        (json!({ "first": 1, "last": 1 }), "INVALID_TYPE", "pagination", "not both"),
        (json!({ "after": end }), "INVALID_TYPE", "pagination", "'first'"),
        (json!({ "before": end }), "INVALID_TYPE", "pagination", "'last'"),
        (json!({ "first": 1, "before": end }), "INVALID_TYPE", "pagination", "'last'"),
        (json!({ "last": 1, "after": end }), "INVALID_TYPE", "pagination", "'first'"),
        (json!({ "first": -1 }), "INVALID_VALUE", "first", "0"),
        (json!({ "first": 1.5 }), "INVALID_TYPE", "first", "integer"),
        (json!({ "limit": 1 }), "UNKNOWN_PARAM", "limit", "first"),
        (
            json!({ "first": 1, "after": end, "sort": { "field": "title" } }),
            "INVALID_VALUE",
            "after",
            "'sort'",
        ),
    ] {
        let error = client.error("read", "list_tasks", params.clone());
        assert_eq!(error["code"], format!("VALIDATION_{code}"), "{params}: {error}");
        let text = error.to_string();
        assert!(text.contains(&format!("\"{name}\"")) && text.contains(hint), "{params}: {error}");
        assert!(!error["message"].as_str().unwrap().contains("see the details"), "{error}");
    }
}

#[test]
fn tasks_that_hang_together_are_followed() {
    // REQ-REL-01, REQ-REL-03, REQ-REL-06
    let (_directory, mut client) = board();
    for (from, how, to) in
        [("t-1", "composes", "t-2"), ("t-2", "composes", "t-3"), ("t-3", "references", "t-1")]
    {
        let params = json!({ "task_id": from, "relationship": how, "target_id": to });
        let link = client.data("create", "link_tasks", params.clone());
        assert_eq!(link["link"], params);
    }
    let root = json!({ "element_type": "task", "element_name": "t-1" });
    let graph = client.data(
        "read",
        "query_relationships",
        json!({ "root": root, "direction": "outgoing", "depth": 5 }),
    );
    assert_eq!(graph["root"], root);
    let edges = graph["graph"]["edges"].as_array().unwrap();
    assert_eq!((edges.len(), graph["graph"]["nodes"].as_array().unwrap().len()), (3, 3));
    let one = client.data(
        "read",
        "query_relationships",
        json!({ "root": root, "direction": "incoming", "include": ["relationships"] }),
    );
    assert_eq!(one["relationships"][0]["target"]["element_name"], "t-3");
    assert!(one.get("graph").is_none());
    for (params, code) in [
        (
            json!({ "root": { "element_type": "task", "element_name": "t-9" } }),
            "NOT_FOUND_RESOURCE",
        ),
        (
            json!({ "root": { "element_type": "note", "element_name": "t-1" } }),
            "NOT_FOUND_RESOURCE",
        ),
        (json!({ "root": root, "relationship": "extends" }), "VALIDATION_INVALID_VALUE"),
        (json!({ "root": root, "depth": 6 }), "VALIDATION_INVALID_VALUE"),
    ] {
        let mut params = params;
        params["direction"] = "both".into();
        assert_eq!(client.error("read", "query_relationships", params)["code"], code);
    }
    for (target, code) in [
        ("t-1", "VALIDATION_INVALID_VALUE"),
        ("t-2", "CONFLICT_ALREADY_EXISTS"),
        ("t-99", "NOT_FOUND_RESOURCE"),
    ] {
        let params = json!({ "task_id": "t-1", "relationship": "composes", "target_id": target });
        assert_eq!(client.error("create", "link_tasks", params)["code"], code, "{target}");
    }
    client.data("delete", "delete_task", json!({ "task_id": "t-2" }));
    let left = client.data(
        "read",
        "query_relationships",
        json!({ "root": root, "direction": "outgoing", "depth": 5 }),
    );
    assert_eq!(left["relationships"], json!([]));
}
