//! Tests of the storage: durability, concurrent writers, pagination, search and migrations.

use std::path::PathBuf;

use mcp_aql::query::sql::SqlRecord;
use mcp_aql::query::{CollectionQuery, CursorKey, QueryOptions, TextSearch};
use mcp_aql::resource::Create;
use mcp_aql::{ErrorCode, IfMatch, Page, Update};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::TaskStore;
use crate::error::TaskError;
use crate::model::{Link, Relationship, Task};

/// Creates a temporary directory, and the path of a file in it.
fn file() -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("tasks.db");
    (directory, path)
}

async fn store() -> (TempDir, TaskStore) {
    let (directory, path) = file();
    (directory, TaskStore::open(path).await.unwrap())
}

fn new(fields: Value) -> Create<Task> {
    Create::from_json(fields).unwrap()
}

fn titled(title: &str) -> Create<Task> {
    new(json!({ "title": title }))
}

fn merge(input: Value) -> impl FnOnce(&mut Task) -> Result<(), mcp_aql::OperationError> {
    move |task| {
        Update::<Task>::from_json(input)?.merge_into(task);
        Ok(())
    }
}

/// Runs a query with these parameters.
async fn list(store: &TaskStore, params: Value) -> Page<SqlRecord<Task>> {
    let key = CursorKey::new([7; 16]);
    let options = QueryOptions::new().text(TextSearch::Optional).max_page_size(1_000);
    let Value::Object(params) = params else { panic!("{params}") };
    let query = CollectionQuery::parse(&options, params, &key).unwrap();
    store.list(query).await.unwrap()
}

/// Returns the titles of the tasks on a page.
fn titles(page: &Page<SqlRecord<Task>>) -> Vec<String> {
    page.items.iter().map(|task| task.get("title").unwrap().as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_task_is_the_same_after_the_file_was_closed_and_opened() {
    let (_directory, path) = file();
    let store = TaskStore::open(&path).await.unwrap();
    let created = store
        .create(new(json!({
            "title": "Write",
            "description": "Größe: 🐘",
            "status": "doing",
            "priority": 1,
            "tags": ["a", "b \"c\""],
            "metadata": { "deep": { "x": [1, 2.5, null, "y"] } },
            "due_date": "2031-05-06",
        })))
        .await
        .unwrap();
    assert_eq!(store.get(created.task_id.clone()).await.unwrap(), created);
    drop(store);
    let files = std::fs::read_dir(path.parent().unwrap()).unwrap().count();
    assert_eq!(files, 1, "what is closed is one file, which can be copied");

    let store = TaskStore::open(&path).await.unwrap();
    assert_eq!(store.get(created.task_id.clone()).await.unwrap(), created);
    let page = list(&store, json!({ "fields": "full" })).await;
    assert_eq!(serde_json::to_value(&page.items).unwrap(), json!([created]));
}

#[tokio::test]
async fn an_update_changes_only_named_fields() {
    // REQ-UPD-07, REQ-UPD-08, REQ-UPD-10, REQ-UPD-11
    let (_directory, store) = store().await;
    let before = store
        .create(new(json!({
            "title": "Write",
            "metadata": { "a": { "x": 1, "y": 2 } },
            "due_date": "2031-05-06",
        })))
        .await
        .unwrap();
    let input = json!({"priority": 1, "metadata": {"a": {"y": null, "z": 3}}, "due_date": null});
    let after = store.change(before.task_id.clone(), merge(input.clone())).await.unwrap();
    assert_eq!(Value::from(after.metadata.clone()), json!({"a": {"x": 1, "z": 3}}));
    assert!(after.updated_at >= before.updated_at);
    let expected = Task {
        priority: 1,
        metadata: after.metadata.clone(),
        due_date: None,
        updated_at: after.updated_at,
        version: 2,
        ..before
    };
    assert_eq!(after, expected);
    assert_eq!(store.get(after.task_id.clone()).await.unwrap(), expected);

    // The same input changes nothing, so the version stays the same.
    let again = store.change(after.task_id.clone(), merge(input)).await.unwrap();
    assert_eq!(again, after);
}

#[tokio::test]
async fn missing_tasks_are_not_found() {
    let (_directory, store) = store().await;
    let task = store.create(titled("Write")).await.unwrap();
    store.delete(task.task_id.clone(), |_| true).await.unwrap();
    let next = store.create(titled("Read")).await.unwrap();
    assert_ne!(next.task_id, task.task_id, "an identifier is given once");
    for id in [task.task_id.as_str(), "t-99", "t-02", "t-+2", "t--1", "2", "", "t-", "'"] {
        let id = id.to_owned();
        for outcome in [
            store.get(id.clone()).await.map(|_| ()),
            store.change(id.clone(), merge(json!({}))).await.map(|_| ()),
            store.delete(id.clone(), |_| true).await,
        ] {
            assert!(matches!(outcome, Err(TaskError::NotFound { .. })), "{id:?}: {outcome:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn handles_on_one_file_lose_no_write() {
    // Each handle has its own connections, like a process of its own.
    let (_directory, path) = file();
    let stores = [TaskStore::open(&path).await.unwrap(), TaskStore::open(&path).await.unwrap()];
    let shared = stores[0].create(titled("Shared")).await.unwrap().task_id;
    let mut work = JoinSet::new();
    for (handle, field) in [(0, "title"), (1, "description")] {
        for index in 0..50 {
            let (store, id) = (stores[handle].clone(), shared.clone());
            work.spawn(async move {
                store.create(titled(&format!("{handle} {index}"))).await.unwrap();
                let key = format!("{handle}-{index}");
                let input = json!({field: format!("{index}"), "metadata": {key: index}});
                store.change(id, merge(input)).await.unwrap();
            });
        }
    }
    work.join_all().await;
    let task = stores[0].get(shared).await.unwrap();
    assert_eq!(task.version, 101);
    assert_eq!(task.metadata.len(), 100);
    let mut found = titles(&list(&stores[1], json!({ "first": 1000 })).await);
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), 101);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_writers_of_a_version_succeeds() {
    // REQ-CON-02, REQ-CON-03
    let (_directory, path) = file();
    let stores = [TaskStore::open(&path).await.unwrap(), TaskStore::open(&path).await.unwrap()];
    let created = stores[0].create(titled("Count")).await.unwrap();
    let mut work = JoinSet::new();
    for index in 0..20 {
        let (store, id) = (stores[index % 2].clone(), created.task_id.clone());
        work.spawn(async move {
            store
                .change(id, move |task| {
                    IfMatch::new(1).check(&task.version)?;
                    task.title = index.to_string();
                    Ok(())
                })
                .await
        });
    }
    let (written, refused): (Vec<_>, Vec<_>) =
        work.join_all().await.into_iter().partition(Result::is_ok);
    assert_eq!(written.len(), 1);
    for outcome in refused {
        let Err(TaskError::Refused(error)) = outcome else { panic!("{outcome:?}") };
        assert_eq!(error.code(), ErrorCode::ConflictVersionMismatch);
    }
    let stored = stores[1].get(created.task_id).await.unwrap();
    assert_eq!(&stored, written[0].as_ref().unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_change_does_not_affect_the_others() {
    let (_directory, store) = store().await;
    let id = store.create(titled("Write")).await.unwrap().task_id;
    let mut work = JoinSet::new();
    for index in 0..60 {
        let (store, id) = (store.clone(), id.clone());
        work.spawn(async move {
            let change = move |task: &mut Task| {
                task.metadata.insert(index.to_string(), Value::Null);
                match index % 3 {
                    0 => Ok(()),
                    1 => Err(mcp_aql::OperationError::permission_denied("no")),
                    _ => panic!("a fault in a change"),
                }
            };
            (index % 3 == 0, store.change(id, change).await)
        });
    }
    for (succeeds, outcome) in work.join_all().await {
        assert_eq!(outcome.is_ok(), succeeds, "{outcome:?}");
    }
    let task = store.get(id).await.unwrap();
    assert_eq!((task.metadata.len(), task.version), (20, 21));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_may_create_the_file_at_once() {
    for _ in 0..10 {
        let (_directory, path) = file();
        let mut work = JoinSet::new();
        for index in 0..8 {
            let path = path.clone();
            work.spawn(async move {
                let store = TaskStore::open(path).await.unwrap();
                store.create(titled(&index.to_string())).await.unwrap();
            });
        }
        work.join_all().await;
        let store = TaskStore::open(path).await.unwrap();
        assert_eq!(list(&store, json!({ "first": 100 })).await.items.len(), 8);
    }
}

#[tokio::test]
async fn pages_neither_repeat_nor_skip_while_tasks_come_and_go() {
    // REQ-PAG-04, REQ-PAG-05, REQ-PAG-09
    let (_directory, store) = store().await;
    let mut ids = Vec::new();
    for index in 0..10 {
        ids.push(store.create(titled(&index.to_string())).await.unwrap().task_id);
    }
    let page = list(&store, json!({ "first": 4 })).await;
    assert!(page.page_info.has_next_page && !page.page_info.has_previous_page);

    // Delete the task at the cursor and one on each side, add another, and change one.
    for gone in [1, 3, 5] {
        store.delete(ids[gone].clone(), |_| true).await.unwrap();
    }
    store.create(titled("new")).await.unwrap();
    store.change(ids[0].clone(), merge(json!({"title": "changed"}))).await.unwrap();

    let next = async |page: &Page<SqlRecord<Task>>| {
        list(&store, json!({ "first": 4, "after": page.page_info.end_cursor })).await
    };
    let page = next(&page).await;
    assert_eq!(titles(&page), ["4", "6", "7", "8"]);
    assert!(page.page_info.has_next_page && page.page_info.has_previous_page);

    let page = next(&page).await;
    assert_eq!(titles(&page), ["9", "new"]);
    assert!(!page.page_info.has_next_page && page.page_info.has_previous_page);

    let page = next(&page).await;
    assert!(page.items.is_empty() && page.page_info.start_cursor.is_none());
    assert!(!page.page_info.has_next_page && page.page_info.has_previous_page);

    let page = list(&store, json!({ "first": 0 })).await;
    assert!(page.items.is_empty() && page.page_info.has_next_page);
}

#[tokio::test]
async fn tasks_are_listed_in_order_of_creation_even_if_the_clock_is_set_back() {
    let (_directory, path) = file();
    let store = TaskStore::open(&path).await.unwrap();
    store.create(titled("0")).await.unwrap();
    // A later creation time simulates that the system clock was set back afterwards.
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute("UPDATE task SET created_at = created_at + 3600000000", []).unwrap();
    drop(other);
    for index in 1..20 {
        store.create(titled(&index.to_string())).await.unwrap();
    }
    let expected: Vec<_> = (0..20).map(|index| index.to_string()).collect();
    assert_eq!(titles(&list(&store, json!({})).await), expected);
}

#[tokio::test]
async fn a_search_finds_any_word_and_exact_phrases() {
    // REQ-COL-09
    let (_directory, store) = store().await;
    for (title, description, tag) in [
        ("Write the report", None, "office"),
        ("Read the invoice", Some("from ÖLWERK"), "office"),
        ("Water the plants", Some("report to nobody"), "garden"),
    ] {
        let fields = json!({ "title": title, "description": description, "tags": [tag] });
        store.create(new(fields)).await.unwrap();
    }
    for (query, found) in [
        ("REPORT", vec!["Write the report", "Water the plants"]),
        ("invoice plants", vec!["Read the invoice", "Water the plants"]),
        ("\"the report\"", vec!["Write the report"]),
        // A phrase scores higher than a word.
        ("\"the report\" ölwerk", vec!["Write the report", "Read the invoice"]),
        ("garden", vec!["Water the plants"]),
        ("100% _ ' --", vec![]),
        ("report\nfrom", vec!["Write the report", "Read the invoice", "Water the plants"]),
    ] {
        let page = list(&store, json!({ "query": query })).await;
        assert_eq!(titles(&page), found, "{query}");
    }
    let page = list(&store, json!({ "query": "the", "first": 1 })).await;
    assert!(page.page_info.has_next_page && !page.page_info.has_previous_page);
    let after = page.page_info.end_cursor;
    let page = list(&store, json!({ "query": "the", "first": 2, "after": after })).await;
    assert!(!page.page_info.has_next_page && page.page_info.has_previous_page);
    assert_eq!(page.items.len(), 2);
}

#[tokio::test]
async fn a_changed_task_is_found_by_its_new_words() {
    let (_directory, store) = store().await;
    let id = store.create(titled("Write")).await.unwrap().task_id;
    let input = json!({"title": "Read", "description": "An Été", "tags": ["office"]});
    store.change(id, merge(input)).await.unwrap();
    for (query, found) in [("write", 0), ("read", 1), ("ete", 1), ("OFFICE", 1)] {
        let page = list(&store, json!({ "query": query })).await;
        assert_eq!(page.items.len(), found, "{query}");
    }
}

#[tokio::test]
async fn deleting_a_task_deletes_its_links() {
    let (_directory, path) = file();
    let store = TaskStore::open(&path).await.unwrap();
    let mut ids = Vec::new();
    for title in ["a", "b", "c"] {
        ids.push(store.create(titled(title)).await.unwrap().task_id);
    }
    let link = async |from: usize, to: usize| {
        let link = Link {
            task_id: ids[from].clone(),
            relationship: Relationship::Composes,
            target_id: ids[to].clone(),
        };
        store.link(link).await
    };
    link(0, 1).await.unwrap();
    link(1, 2).await.unwrap();
    assert!(matches!(link(0, 1).await, Err(TaskError::LinkedAlready { .. })));
    assert!(matches!(link(1, 1).await, Err(TaskError::LinkedToItself)));
    store.delete(ids[1].clone(), |_| true).await.unwrap();
    assert!(matches!(link(0, 1).await, Err(TaskError::NotFound { .. })));
    let file = rusqlite::Connection::open(&path).unwrap();
    let left: i64 = file.query_row("SELECT count(*) FROM link", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn a_file_of_the_first_layout_becomes_one_of_today() {
    let (_directory, path) = file();
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch(
        "CREATE TABLE task (
             number INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, description TEXT,
             status TEXT NOT NULL, priority INTEGER NOT NULL, tags TEXT NOT NULL,
             metadata TEXT NOT NULL, due_date TEXT, created_at INTEGER NOT NULL,
             updated_at INTEGER NOT NULL, version INTEGER NOT NULL, searched TEXT NOT NULL
         ) STRICT;
         INSERT INTO task VALUES
             (1, 'Écrire', NULL, 'todo', 3, '[\"x\"]', '{}', NULL, 1000, 2000, 1, 'écrire'),
             (2, 'Lire', 'Le rapport', 'done', 1, '[]', '{}', '2031-05-06', 1000, 1000, 4, 'lire');
         PRAGMA application_id = 1952543595; PRAGMA user_version = 1; PRAGMA journal_mode = WAL;",
    )
    .unwrap();
    drop(old);
    let store = TaskStore::open(&path).await.unwrap();
    assert_eq!(titles(&list(&store, json!({})).await), ["Écrire", "Lire"]);
    assert_eq!(titles(&list(&store, json!({ "query": "ecrire X" })).await), ["Écrire"]);
    assert_eq!(titles(&list(&store, json!({ "query": "rapport" })).await), ["Lire"]);
    let task = store.get("t-2".to_owned()).await.unwrap();
    assert_eq!((task.version, task.created_at.timestamp()), (4, 1));
    let key = format!("{:?}", store.cursor_key().await.unwrap());
    assert_eq!(key, "CursorKey", "a secret is not for a log");
}

#[tokio::test]
async fn a_file_that_is_not_ours_stays_as_it_is() {
    let (directory, path) = file();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE theirs (x); PRAGMA user_version = 1").unwrap();
    drop(other);
    let before = std::fs::read(&path).unwrap();
    assert!(matches!(TaskStore::open(&path).await, Err(TaskError::Foreign { .. })));
    assert_eq!(std::fs::read(&path).unwrap(), before);

    let text = directory.path().join("text.db");
    std::fs::write(&text, "no database at all, and long enough to be sure of it").unwrap();
    assert!(matches!(TaskStore::open(&text).await, Err(TaskError::Open { .. })));
    assert!(matches!(TaskStore::open(directory.path()).await, Err(TaskError::Open { .. })));
    assert!(matches!(TaskStore::open(":memory:").await, Err(TaskError::NotShareable { .. })));
}

#[tokio::test]
async fn a_commit_waits_for_the_disk() {
    // A test cannot cut the power, so it checks the settings for which SQLite documents durability.
    let (_directory, path) = file();
    drop(super::database::open(&path).unwrap());
    let connection = super::database::connect(&path).unwrap();
    let setting = |name| {
        connection.pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))
    };
    assert_eq!(setting("synchronous").unwrap(), 2.into(), "FULL");
    assert_eq!(setting("journal_mode").unwrap(), "wal".to_owned().into());
}

#[tokio::test]
async fn a_file_of_a_later_version_is_refused() {
    let (_directory, path) = file();
    drop(TaskStore::open(&path).await.unwrap());
    let later = rusqlite::Connection::open(&path).unwrap();
    later.pragma_update(None, "user_version", 7).unwrap();
    drop(later);
    let error = TaskStore::open(&path).await.err().unwrap();
    assert!(matches!(error, TaskError::Newer { found: 7, known: 2, .. }), "{error:?}");
    assert!(error.to_string().contains("use a newer version"));
}

#[tokio::test]
async fn only_what_was_confirmed_is_deleted() {
    let (_folder, store) = store().await;
    let mut ids = Vec::new();
    for title in ["a", "b"] {
        let Task { task_id, .. } = store.create(titled(title)).await.unwrap();
        store.change(task_id.clone(), merge(json!({ "status": "done" }))).await.unwrap();
        ids.push(task_id);
    }
    // The user confirmed version 1 of the first task, and a cleanup of that task alone. Both are outdated now.
    let one = store.delete(ids[0].clone(), |task| task.version == 1).await;
    let many = store.delete_done(|done| done.len() == 1).await;
    for refused in [one.err(), many.err()] {
        assert!(matches!(refused, Some(TaskError::Refused(_))), "{refused:?}");
    }
    assert_eq!(store.count().await.unwrap(), 2);
    store.delete(ids[0].clone(), |task| task.version == 2).await.unwrap();
    assert_eq!(store.delete_done(|done| done == [2]).await.unwrap(), 1);
}
