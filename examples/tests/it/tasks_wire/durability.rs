//! Tests that acknowledged changes survive crashes, and that processes do not overwrite each other's changes.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::client::{Client, reply};
use crate::support::program::program;

/// Reads all pages and returns the title of every task.
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

    // `tasks.db` is also the default.
    let mut client = Client::start("tasks", directory.path(), &["--db", "tasks.db"]);
    let id = &created["task"]["task_id"];
    assert_eq!(client.data("read", "get_task", json!({"task_id": id})), created);
    client.close();

    let mut client = Client::start("tasks", directory.path(), &["--db", "other.db"]);
    assert!(titles(&mut client).is_empty());
}

/// Number of processes to kill. You can override it with the variable `KILLS`.
const KILLS: usize = 24;
/// Number of concurrent clients. Each has its own process, and all share one file.
const CLIENTS: usize = 3;

/// A change that the adapter acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    /// A task with this title was created.
    Created(String),
    /// The metadata of the task with this number contains this value.
    Updated(i64, String),
}

/// A xorshift random number generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Writes until the process is killed. Returns the acknowledged changes.
fn write_until_killed(directory: &Path, name: &str, mut random: Random) -> Vec<Change> {
    let mut client = Client::start("tasks", directory, &[]);
    let title = format!("{name} first");
    let first = client.data("create", "create_task", json!({"title": title}))["task"].take();
    let id = &first["task_id"];
    let number = id.as_str().unwrap().trim_start_matches("t-").parse().unwrap();
    let mut answered = vec![Change::Created(title)];
    let mut asked = HashMap::new();
    for index in 0..random.below(300) {
        let key = format!("{name} {index}");
        let (request, change) = if random.below(2) == 0 {
            let request = client.send("create", "create_task", json!({"title": key}));
            (request, Change::Created(key))
        } else {
            let input = json!({"metadata": {&key: index}});
            let params = json!({"task_id": id, "input": input});
            (client.send("update", "update_task", params), Change::Updated(number, key))
        };
        asked.insert(request, change);
    }
    thread::sleep(Duration::from_micros(random.below(60_000)));
    client.kill();
    while let Some(answer) = client.receive() {
        let reply = reply(&answer);
        assert_eq!(reply["success"], true, "{reply}");
        answered.push(asked.remove(&answer["id"].as_u64().unwrap()).expect("one answer each"));
    }
    answered
}

/// Kills a process while it opens the file.
fn kill_at_the_start(directory: &Path, mut random: Random) {
    let mut process = Command::new(program("tasks"))
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_micros(random.below(30_000)));
    process.kill().unwrap();
    process.wait().unwrap();
}

/// Checks the integrity of the file. Returns the missing acknowledged changes.
fn lost(file: &Path, answered: &BTreeSet<Change>) -> Vec<Change> {
    let database = Connection::open(file).unwrap();
    let sound: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
    let mut statement = database.prepare("SELECT number, title, metadata FROM task").unwrap();
    let stored: BTreeSet<_> = statement
        .query_map([], |row| {
            let number = row.get(0)?;
            let metadata: serde_json::Map<_, _> =
                serde_json::from_str(&row.get::<_, String>(2)?).unwrap();
            let updates = metadata.into_iter().map(|(key, _)| Change::Updated(number, key));
            Ok(updates.chain([Change::Created(row.get(1)?)]).collect::<Vec<_>>())
        })
        .unwrap()
        .flat_map(Result::unwrap)
        .collect();
    answered.difference(&stored).cloned().collect()
}

#[test]
fn acknowledged_changes_survive_every_kill() {
    let wanted = std::env::var("KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let (mut kills, mut checks, mut changes, mut round) = (0, 0, 0, 0_u64);
    while kills < wanted {
        // Start with new files, so that processes are also killed while they create one.
        let directory = TempDir::new().unwrap();
        let mut answered = BTreeSet::new();
        for _ in 0..8 {
            thread::scope(|scope| {
                let path = directory.path();
                let seed = |client: u64| Random((round + 1) * 0x9e37_79b9 + client);
                let clients: Vec<_> = (0..CLIENTS)
                    .map(|client| {
                        let random = seed(client as u64);
                        let name = format!("{round}-{client}");
                        scope.spawn(move || write_until_killed(path, &name, random))
                    })
                    .collect();
                scope.spawn(move || kill_at_the_start(path, seed(99)));
                for client in clients {
                    answered.extend(client.join().unwrap());
                }
            });
            kills += CLIENTS + 1;
            round += 1;
            // In every other round, skip the check, so that the adapter itself must recover the file.
            if round % 2 == 0 {
                let lost = lost(&directory.path().join("tasks.db"), &answered);
                assert!(lost.is_empty(), "after {kills} kills {} lost: {lost:?}", lost.len());
                checks += 1;
            }
            if kills >= wanted {
                break;
            }
        }
        let lost = lost(&directory.path().join("tasks.db"), &answered);
        assert!(lost.is_empty(), "after {kills} kills {} lost: {lost:?}", lost.len());
        checks += 1;
        changes += answered.len();
    }
    eprintln!("{kills} kills, {changes} answered changes, {checks} checks of the file, 0 lost");
    assert!(changes >= kills, "too little was answered to lose any of it");
}

/// Limits the size of the process's files. This has the same effect as a full disk.
#[cfg(unix)]
#[test]
fn a_full_disk_is_reported_and_loses_no_acknowledged_change() {
    let directory = TempDir::new().unwrap();
    let mut command = Command::new("sh");
    // Without the trap, exceeding the limit would terminate the process with SIGXFSZ.
    let limited = r#"trap "" XFSZ; ulimit -f 600; exec "$0""#;
    command.args(["-c", limited]).arg(program("tasks")).current_dir(directory.path());
    let mut client = Client::run("tasks", command);
    let mut answered = Vec::new();
    let error = loop {
        let title = format!("task {}", answered.len());
        let params = json!({"title": title, "description": "d".repeat(3000)});
        let mut reply = client.call("create", "create_task", params);
        if reply["success"] == false {
            break reply["error"].take();
        }
        answered.push(reply["data"]["task"].take());
        assert!(answered.len() < 5_000, "the disk does not fill");
    };
    assert_eq!(error["code"], "INTERNAL_ERROR", "{error}");
    assert!(!error.to_string().contains("disk"), "the cause is for the log: {error}");
    assert!(answered.len() > 10, "{}", answered.len());
    // Reads still succeed. Each further change fails.
    for _ in 0..20 {
        let id = &answered[0]["task_id"];
        assert_eq!(client.data("read", "get_task", json!({"task_id": id}))["task"], answered[0]);
        let input = json!({"description": "e".repeat(3000)});
        let params = json!({"task_id": id, "input": input});
        assert_eq!(client.error("update", "update_task", params)["code"], "INTERNAL_ERROR");
    }
    client.close();
    // Once there is space again, acknowledged changes are there and failed ones are not.
    let mut client = Client::start("tasks", directory.path(), &[]);
    for task in &answered {
        let read = client.data("read", "get_task", json!({"task_id": task["task_id"]}));
        assert_eq!(&read["task"], task);
    }
    assert_eq!(titles(&mut client).len(), answered.len());
    client.data("create", "create_task", json!({"title": "There is room"}));
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
