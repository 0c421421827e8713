//! The adapter under test, and random tasks for it.

use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::random::{chance, day, object, one, text};
use crate::support::client::{Client, reply};

/// Number of requests in flight at the same time.
const IN_FLIGHT: usize = 32;

/// A process of `tasks` with its own file.
pub(crate) struct Tasks {
    client: Client,
    _directory: TempDir,
}

/// A call: the endpoint family, the operation and its params.
pub(crate) type Call = (&'static str, &'static str, Value);

impl Tasks {
    pub(crate) fn start() -> Self {
        let directory = TempDir::new().unwrap();
        let client = Client::start("tasks", directory.path(), &[]);
        Self { client, _directory: directory }
    }

    /// Calls an operation and returns its reply.
    pub(crate) fn call(&mut self, family: &str, operation: &str, params: Value) -> Value {
        self.client.call_once(family, operation, params)
    }

    /// Calls a batch through the tool of a family and returns its reply.
    pub(crate) fn batch(&mut self, family: &str, operations: &Value) -> Value {
        let params = json!({
            "name": format!("mcp_aql_{family}"), "arguments": { "operations": operations },
        });
        reply(&self.client.request("tools/call", &params))
    }

    /// Runs independent calls, many at a time, and returns their replies in order.
    pub(crate) fn call_all(&mut self, calls: &[Call]) -> Vec<Value> {
        let mut replies = vec![Value::Null; calls.len()];
        let mut places = BTreeMap::new();
        let mut waiting = calls.iter().enumerate();
        loop {
            while places.len() < IN_FLIGHT {
                let Some((place, (family, operation, params))) = waiting.next() else { break };
                places.insert(self.client.send(family, operation, params.clone()), place);
            }
            if places.is_empty() {
                return replies;
            }
            let answer = self.client.receive().expect("an answer");
            let place = places.remove(&answer["id"].as_u64().unwrap()).expect("a request of ours");
            replies[place] = reply(&answer);
        }
    }

    /// Creates tasks and changes some of them. Returns them as stored, sorted by identifier.
    pub(crate) fn fill(&mut self, random: &mut Rng, count: usize) -> Vec<Value> {
        let calls: Vec<Call> =
            (0..count).map(|_| ("create", "create_task", new_task(random))).collect();
        let mut rows: Vec<Value> = self
            .call_all(&calls)
            .iter()
            .zip(&calls)
            .map(|(reply, (_, _, sent))| {
                assert_eq!(reply["success"], true, "{sent}: {reply}");
                let task = reply["data"]["task"].clone();
                for (name, value) in sent.as_object().unwrap() {
                    assert_eq!(task[name], *value, "{name} of {sent}");
                }
                task
            })
            .collect();
        for row in &mut rows {
            if !chance(random, 30) {
                continue;
            }
            let params =
                json!({ "task_id": row["task_id"], "input": { "priority": random.u8(1..=5) } });
            let reply = self.call("update", "update_task", params);
            *row = reply["data"]["task"].clone();
        }
        rows
    }
}

/// Returns valid params of `create_task`.
pub(crate) fn new_task(random: &mut Rng) -> Value {
    let mut params = Map::new();
    params.insert("title".to_owned(), json!(text(random)));
    if chance(random, 50) {
        params.insert("description".to_owned(), json!(text(random)));
    }
    if chance(random, 80) {
        params.insert("status".to_owned(), json!(one(random, &["todo", "doing", "done"])));
    }
    if chance(random, 80) {
        params.insert("priority".to_owned(), json!(random.u8(1..=5)));
    }
    if chance(random, 60) {
        let tags: Vec<_> = (0..random.usize(..3)).map(|_| text(random)).collect();
        params.insert("tags".to_owned(), json!(tags));
    }
    if chance(random, 50) {
        params.insert("metadata".to_owned(), object(random, 2));
    }
    if chance(random, 60) {
        params.insert("due_date".to_owned(), json!(day(random)));
    }
    Value::Object(params)
}

/// Returns the error code of a reply, or `None` on success.
pub(crate) fn code(reply: &Value) -> Option<&str> {
    reply["error"]["code"].as_str()
}
