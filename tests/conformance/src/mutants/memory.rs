//! Mutants with a memory: lost or doubled writes, caches, and shallow merges.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::Mutant;
use crate::Tamper;
use crate::faults::{arguments_of, calls, succeeds};
use crate::proxy::{Calls, Proxy, Wire};

/// The tasks shown by earlier replies, by their identifiers.
type Tasks = HashMap<String, Object>;

/// The members of a JSON object.
type Object = Map<String, Value>;

/// Changes requests and results, using the tasks shown by earlier replies of this connection.
struct Remembering {
    calls: Calls,
    tasks: Tasks,
    request: fn(&Tasks, &mut Value),
    result: fn(&Tasks, &Value, &mut Value),
}

impl Remembering {
    fn boxed(
        request: fn(&Tasks, &mut Value),
        result: fn(&Tasks, &Value, &mut Value),
    ) -> Box<dyn Proxy> {
        Box::new(Self { calls: Calls::default(), tasks: Tasks::new(), request, result })
    }
}

impl Proxy for Remembering {
    fn request(&mut self, mut message: Value, wire: &mut Wire) {
        // The change of the result depends on the original request of the client.
        self.calls.asked(&message);
        let before = message.clone();
        if arguments_of(&mut message).is_some() {
            (self.request)(&self.tasks, &mut message);
        }
        if message == before { wire.pass() } else { wire.to_adapter(&message) }
    }

    fn answer(&mut self, mut message: Value, wire: &mut Wire) {
        if let Some(request) = self.calls.answered(&message)
            && let Some(Value::String(text)) = message.pointer_mut("/result/content/0/text")
            && let Ok(before) = serde_json::from_str::<Value>(text)
        {
            let arguments = request.pointer("/params/arguments").unwrap_or(&Value::Null);
            let mut body = before.clone();
            (self.result)(&self.tasks, arguments, &mut body);
            if let Some(Value::Object(task)) = before.pointer("/data/task")
                && let Some(id) = task.get("task_id").and_then(Value::as_str)
            {
                self.tasks.insert(id.to_owned(), task.clone());
            }
            if body != before {
                *text = body.to_string();
                return wire.to_client(&message);
            }
        }
        wire.pass();
    }
}

/// Returns the input of an update and the task that it changes, if a reply has shown the task.
fn update<'v>(tasks: &'v Tasks, message: &'v mut Value) -> Option<(&'v mut Object, &'v Object)> {
    let arguments = arguments_of(message)?;
    if !calls(arguments, "update_task") {
        return None;
    }
    let task = tasks.get(arguments.pointer("/params/task_id")?.as_str()?)?;
    Some((arguments.pointer_mut("/params/input")?.as_object_mut()?, task))
}

/// Returns the task identified by these arguments.
fn named<'v>(tasks: &'v Tasks, arguments: &Value) -> Option<&'v Object> {
    tasks.get(arguments.pointer("/params/task_id")?.as_str()?)
}

/// Sets members of the stored object to `null` if the new one lacks them.
fn replace(stored: &Object, new: &mut Object) {
    for name in stored.keys() {
        if !new.contains_key(name) {
            new.insert(name.clone(), Value::Null);
        }
    }
}

fn keep_request(_: &Tasks, _: &mut Value) {}

fn keep_result(_: &Tasks, _: &Value, _: &mut Value) {}

/// Defines a mutant that changes requests depending on the tasks that it has seen.
const fn remembering_request(name: &'static str, make: fn() -> Box<dyn Proxy>) -> Mutant {
    Mutant { name, tamper: Tamper::Proxy(make) }
}

pub(super) const MUTANTS: &[Mutant] = &[
    remembering_request("update-appends-to-lists", || {
        Remembering::boxed(
            |tasks, message| {
                if let Some((input, task)) = update(tasks, message)
                    && let Some(Value::Array(new)) = input.get_mut("tags")
                    && let Some(Value::Array(stored)) = task.get("tags")
                {
                    *new = stored.iter().chain(new.iter()).cloned().collect();
                }
            },
            keep_result,
        )
    }),
    remembering_request("update-replaces-objects", || {
        Remembering::boxed(
            |tasks, message| {
                if let Some((input, task)) = update(tasks, message)
                    && let Some(Value::Object(new)) = input.get_mut("metadata")
                    && let Some(Value::Object(stored)) = task.get("metadata")
                {
                    replace(stored, new);
                }
            },
            keep_result,
        )
    }),
    remembering_request("update-replaces-nested-objects", || {
        Remembering::boxed(
            |tasks, message| {
                let Some((input, task)) = update(tasks, message) else { return };
                let Some(Value::Object(new)) = input.get_mut("metadata") else { return };
                for (name, value) in new {
                    if let (Value::Object(new), Some(Value::Object(stored))) =
                        (value, task.get("metadata").and_then(|stored| stored.get(name)))
                    {
                        replace(stored, new);
                    }
                }
            },
            keep_result,
        )
    }),
    remembering_request("update-clears-what-it-does-not-name", || {
        Remembering::boxed(
            |tasks, message| {
                if let Some((input, task)) = update(tasks, message) {
                    for name in ["description", "due_date"] {
                        if task.contains_key(name) && !input.contains_key(name) {
                            input.insert(name.to_owned(), Value::Null);
                        }
                    }
                }
            },
            keep_result,
        )
    }),
    remembering_request("update-answers-and-does-nothing", || {
        Remembering::boxed(
            |tasks, message| {
                if let Some((input, _)) = update(tasks, message)
                    && input.values().all(|value| !value.is_null())
                {
                    input.retain(|name, _| name == "_version");
                }
            },
            |tasks, arguments, body| {
                if calls(arguments, "update_task")
                    && succeeds(body)
                    && named(tasks, arguments).is_some()
                    && let Some(Value::Object(input)) = arguments.pointer("/params/input")
                {
                    for (name, value) in input {
                        body["data"]["task"][name] = value.clone();
                    }
                }
            },
        )
    }),
    remembering_request("get-answers-from-a-cache", || {
        Remembering::boxed(keep_request, |tasks, arguments, body| {
            if calls(arguments, "get_task")
                && succeeds(body)
                && arguments["params"].get("fields").is_none()
                && let Some(task) = named(tasks, arguments)
            {
                body["data"]["task"] = json!(task);
            }
        })
    }),
    remembering_request("deleted-tasks-can-still-be-read", || {
        Remembering::boxed(keep_request, |tasks, arguments, body| {
            if calls(arguments, "get_task")
                && body["error"]["code"] == "NOT_FOUND_RESOURCE"
                && let Some(task) = named(tasks, arguments)
            {
                *body = json!({ "success": true, "data": { "task": task } });
            }
        })
    }),
    remembering_request("update-answers-with-the-task-before", || {
        Remembering::boxed(keep_request, |tasks, arguments, body| {
            if calls(arguments, "update_task")
                && succeeds(body)
                && let Some(task) = named(tasks, arguments)
            {
                body["data"]["task"] = json!(task);
            }
        })
    }),
    remembering_request("deletes-run-unconfirmed", || Box::new(Confirming::default())),
    remembering_request("creates-run-twice", || Box::new(Doubling::default())),
    remembering_request("deletes-only-claim-to-run", || Box::new(Claiming)),
];

/// Confirms every call without the client.
#[derive(Default)]
struct Confirming(Calls);

impl Proxy for Confirming {
    fn request(&mut self, message: Value, wire: &mut Wire) {
        self.0.asked(&message);
        wire.pass();
    }

    fn answer(&mut self, message: Value, wire: &mut Wire) {
        if let Some(mut request) = self.0.answered(&message)
            && let Some(text) = message.pointer("/result/content/0/text").and_then(Value::as_str)
            && let Ok(body) = serde_json::from_str::<Value>(text)
            && body["error"]["code"] == "CONFIRMATION_REQUIRED"
            && let Some(Value::Object(params)) = request.pointer_mut("/params/arguments/params")
        {
            let token = &body["error"]["details"]["confirmation_token"];
            params.insert("_confirmation".to_owned(), token.clone());
            self.0.asked(&request);
            return wire.to_adapter(&request);
        }
        wire.pass();
    }
}

/// Sends every CREATE call once more, and hides the second reply.
#[derive(Default)]
struct Doubling {
    calls: Calls,
    sent: u64,
}

impl Proxy for Doubling {
    fn request(&mut self, message: Value, wire: &mut Wire) {
        self.calls.asked(&message);
        wire.pass();
    }

    fn answer(&mut self, message: Value, wire: &mut Wire) {
        if message["id"].as_str().is_some_and(|id| id.starts_with("second-")) {
            return;
        }
        if let Some(mut request) = self.calls.answered(&message)
            && request.pointer("/params/arguments").is_some_and(|it| calls(it, "create_task"))
        {
            self.sent += 1;
            request["id"] = json!(format!("second-{}", self.sent));
            wire.to_adapter(&request);
        }
        wire.pass();
    }
}

/// Answers confirmed deletions without running them.
struct Claiming;

impl Proxy for Claiming {
    fn request(&mut self, mut message: Value, wire: &mut Wire) {
        let id = message["id"].clone();
        if let Some(arguments) = arguments_of(&mut message)
            && calls(arguments, "delete_task")
            && arguments.pointer("/params/_confirmation").is_some()
        {
            let body = json!({
                "success": true,
                "data": { "deleted": { "task_id": arguments["params"]["task_id"] } },
            });
            let result = json!({ "content": [{ "type": "text", "text": body.to_string() }] });
            return wire.to_client(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
        }
        wire.pass();
    }
}
