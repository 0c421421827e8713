//! What was answered lasts, whatever becomes of the process, and processes do not undo each other.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Client, reply};

/// Every title in the file, page by page.
fn titles(client: &mut Client) -> Vec<String> {
    let mut titles = Vec::new();
    let mut after = Value::Null;
    loop {
        let page = client.data("read", "list_tasks", json!({"first": 100, "after": after}));
        for task in page["items"].as_array().unwrap() {
            titles.push(task["title"].as_str().unwrap().to_owned());
        }
        if page["pageInfo"]["hasNextPage"] == false {
            return titles;
        }
        after = page["pageInfo"]["endCursor"].clone();
    }
}

#[test]
fn tasks_outlive_the_process() {
    let directory = TempDir::new().unwrap();
    let mut client = Client::start("tasks", directory.path(), &[]);
    let created = client.data("create", "create_task", json!({"title": "Write"}));
    client.close();

    // The default file, by its name.
    let mut client = Client::start("tasks", directory.path(), &["--db", "tasks.db"]);
    let id = &created["task"]["task_id"];
    assert_eq!(client.data("read", "get_task", json!({"task_id": id})), created);
    client.close();

    let mut client = Client::start("tasks", directory.path(), &["--db", "other.db"]);
    assert!(titles(&mut client).is_empty());
}

#[test]
fn what_was_answered_survives_a_kill() {
    let directory = TempDir::new().unwrap();
    let mut answered = BTreeSet::new();
    for round in 0..5 {
        let mut client = Client::start("tasks", directory.path(), &[]);
        for index in 0..300 {
            client.send("create", "create_task", json!({"title": format!("{round}-{index}")}));
        }
        // In the midst of it, earlier or later.
        for _ in 0..20 * (round + 1) {
            let answer = client.receive().unwrap();
            let reply = reply(&answer);
            answered.insert(reply["data"]["task"]["title"].as_str().unwrap().to_owned());
        }
        client.kill();
        while let Some(answer) = client.receive() {
            let reply = reply(&answer);
            answered.insert(reply["data"]["task"]["title"].as_str().unwrap().to_owned());
        }
    }
    let mut client = Client::start("tasks", directory.path(), &[]);
    let stored: BTreeSet<_> = titles(&mut client).into_iter().collect();
    let lost: Vec<_> = answered.difference(&stored).collect();
    assert!(lost.is_empty(), "{} of {} lost: {lost:?}", lost.len(), answered.len());
    assert!(answered.len() >= 300);
}

#[test]
fn processes_on_one_file_lose_no_write() {
    let directory = TempDir::new().unwrap();
    let mut client = Client::start("tasks", directory.path(), &[]);
    let shared = client.data("create", "create_task", json!({"title": "Shared"}));
    let id = &shared["task"]["task_id"];
    thread::scope(|scope| {
        for field in ["title", "description"] {
            let (directory, id) = (directory.path(), id.clone());
            scope.spawn(move || {
                let mut client = Client::start("tasks", directory, &[]);
                for index in 1..=100 {
                    let title = format!("new {field} {index}");
                    client.data("create", "create_task", json!({"title": title}));
                    let metadata = json!({format!("{field}-{index}"): index});
                    let input = json!({field: format!("{field} {index}"), "metadata": metadata});
                    client.data("update", "update_task", json!({"task_id": id, "input": input}));
                    thread::sleep(Duration::from_micros(index % 7 * 100));
                }
                client.close();
            });
        }
    });
    let task = client.data("read", "get_task", json!({"task_id": id}))["task"].take();
    assert_eq!(task["title"], "title 100");
    assert_eq!(task["description"], "description 100");
    assert_eq!(task["metadata"].as_object().unwrap().len(), 200);
    assert_eq!(task["_version"], 201);
    let titles = titles(&mut client);
    assert_eq!(titles.len(), 201);
    assert_eq!(titles.into_iter().collect::<BTreeSet<_>>().len(), 201);
}
