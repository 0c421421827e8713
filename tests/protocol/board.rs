//! The adapter that most of these tests use: a board of tasks in memory, with some operations that misbehave on
//! purpose.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use mcp_aql::AdapterBuilder;
use mcp_aql::Policy;
use mcp_aql::encoding::{Base64, BigInteger, Binary};
use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A task on the board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub(crate) struct Task {
    /// Identifier, assigned on creation.
    #[resource(id)]
    pub(crate) task_id: String,
    /// Short title.
    #[param(min_length = 1, max_length = 40)]
    pub(crate) title: String,
    /// Status of the work.
    pub(crate) status: Status,
    /// 1 is most urgent.
    #[param(minimum = 1, maximum = 5)]
    pub(crate) priority: u8,
    /// Free-form labels.
    #[param(max_items = 3)]
    pub(crate) tags: Vec<String>,
    /// When it is due.
    #[param(format = "date")]
    pub(crate) due_date: Option<String>,
    /// Author and origin.
    pub(crate) metadata: Metadata,
    /// Anything else.
    pub(crate) extra: Map<String, Value>,
    /// Time of creation.
    #[resource(read_only)]
    pub(crate) created_at: String,
    /// Counts the changes.
    #[resource(read_only)]
    #[serde(rename = "_version")]
    pub(crate) version: u64,
}

/// Status of the work.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// Not started.
    #[default]
    Todo,
    /// Begun.
    Doing,
    /// Finished.
    Done,
}

/// The author and origin of a task.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub(crate) struct Metadata {
    /// Author.
    #[param(max_length = 10)]
    pub(crate) author: String,
    /// Remark.
    pub(crate) note: Option<String>,
    /// Origin.
    pub(crate) origin: Origin,
}

/// The origin of a task.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub(crate) struct Origin {
    /// Name of the system.
    pub(crate) system: String,
    /// Number in that system.
    pub(crate) number: Option<i64>,
}

/// An account with a password.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub(crate) struct Account {
    /// Name shown.
    pub(crate) name: String,
    /// Password.
    #[param(sensitive, min_length = 8)]
    pub(crate) password: String,
}

/// A figure, distinguished by its kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Figure {
    /// Round.
    Circle {
        /// Radius.
        radius: f64,
    },
    /// With corners.
    Square {
        /// Length of a side.
        side: u32,
    },
}

/// A number or a word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Key {
    /// By number.
    Number(u32),
    /// By name.
    Name(String),
}

/// A place on a map.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Place {
    /// To the east.
    pub(crate) x: i32,
    /// To the north.
    pub(crate) y: i32,
    /// Label.
    pub(crate) label: Option<String>,
}

/// The parameters of operations that list.
#[derive(Debug, ParamGroup)]
pub(crate) struct Paging {
    /// How many to return.
    #[param(default = 2, minimum = 1, maximum = 100)]
    pub(crate) first: u32,
    /// Cursor to continue from: the 'endCursor' of the previous page.
    pub(crate) after: Option<String>,
}

#[derive(Debug, thiserror::Error, OperationError)]
pub(crate) enum BoardError {
    #[error("no task {id}")]
    #[operation_error(
        code = "NOT_FOUND_RESOURCE",
        details(resource_type = "task", resource_id = id)
    )]
    Missing { id: String },
    #[error(transparent)]
    #[operation_error(transparent)]
    Protocol(#[from] OperationError),
    #[error("the disk under /var/lib/board is on fire")]
    Disk(#[from] std::io::Error),
}

#[derive(Debug, Default)]
pub(crate) struct Board {
    tasks: Mutex<BTreeMap<String, Task>>,
}

impl Board {
    fn tasks(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[operations]
impl Board {
    /// Create a task.
    ///
    /// The new task has version 1.
    #[operation(category = "CREATE", example = { "title": "Milk", "priority": 2 })]
    fn create_task(
        &self,
        /// Short title.
        #[param(min_length = 1, max_length = 40)]
        title: String,
        /// Status of the work.
        #[param(default = "todo")]
        status: Status,
        /// 1 is most urgent.
        #[param(default = 3, minimum = 1, maximum = 5)]
        priority: u8,
        /// Free-form labels.
        #[param(max_items = 3)]
        tags: Option<Vec<String>>,
        /// When it is due.
        #[param(format = "date")]
        due_date: Option<String>,
        /// Author and origin.
        metadata: Option<Metadata>,
        /// Anything else.
        extra: Option<Map<String, Value>>,
    ) -> Task {
        let mut tasks = self.tasks();
        let task_id = format!("t-{}", tasks.len() + 1);
        let task = Task {
            task_id: task_id.clone(),
            title,
            status,
            priority,
            tags: tags.unwrap_or_default(),
            due_date,
            metadata: metadata.unwrap_or_default(),
            extra: extra.unwrap_or_default(),
            created_at: "2031-05-06T07:08:09Z".to_owned(),
            version: 1,
        };
        tasks.insert(task_id, task.clone());
        task
    }

    /// Get a task.
    #[operation(category = "READ")]
    fn get_task(
        &self,
        /// The task's identifier.
        task_id: String,
    ) -> Result<Task, BoardError> {
        self.tasks().get(&task_id).cloned().ok_or(BoardError::Missing { id: task_id })
    }

    /// List tasks, page by page.
    #[operation(category = "READ")]
    fn list_tasks(&self, #[param(group)] page: Paging) -> Page<Task> {
        let tasks = self.tasks();
        let total = tasks.len();
        let after = page.after.unwrap_or_default();
        let mut rest: Vec<_> =
            tasks.values().filter(|task| task.task_id > after).cloned().collect();
        let more = rest.len() > page.first as usize;
        let before = rest.len() < total;
        rest.truncate(page.first as usize);
        let mut info = PageInfo::new(more, before).total_count(total as u64);
        if let (Some(first), Some(last)) = (rest.first(), rest.last()) {
            info = info.cursors(first.task_id.clone(), last.task_id.clone());
        }
        Page::new(rest, info)
    }

    /// List titles.
    #[operation(category = "READ")]
    fn list_titles(&self, #[param(group)] page: Paging) -> Vec<String> {
        let most = page.first as usize;
        self.tasks().values().take(most).map(|task| task.title.clone()).collect()
    }

    /// Change fields of a task.
    #[operation(category = "UPDATE")]
    fn update_task(
        &self,
        /// The task's identifier.
        task_id: String,
        input: Update<Task>,
        if_match: IfMatch<u64>,
    ) -> Result<Task, BoardError> {
        let mut tasks = self.tasks();
        let task = tasks.get_mut(&task_id).ok_or(BoardError::Missing { id: task_id })?;
        if_match.check(&task.version)?;
        input.merge_into(task);
        task.version += 1;
        Ok(task.clone())
    }

    /// Delete a task permanently.
    #[operation(category = "DELETE")]
    fn delete_task(
        &self,
        /// The task's identifier.
        task_id: String,
    ) -> Result<(), BoardError> {
        self.tasks().remove(&task_id).map(drop).ok_or(BoardError::Missing { id: task_id })
    }

    /// Run the nightly report.
    #[operation(category = "EXECUTE")]
    async fn run_report(
        &self,
        context: Context,
        /// Number of steps.
        #[param(default = 1, maximum = 100)]
        steps: u32,
    ) -> u32 {
        for step in 0..steps {
            context.progress(f64::from(step), Some(f64::from(steps)), "step").await;
            tokio::task::yield_now().await;
        }
        steps
    }

    /// Fail in the given way.
    #[operation(category = "READ", rationale = "It changes nothing")]
    fn fail(
        &self,
        /// The way to fail.
        #[param(enum = ["disk", "panic", "missing", "exists", "denied", "limited", "http"])]
        how: String,
    ) -> Result<(), BoardError> {
        Err(match how.as_str() {
            "disk" => std::io::Error::other("fire in /var/lib").into(),
            "panic" => panic!("secret panic in /src/board.rs:12"),
            "missing" => BoardError::Missing { id: "at home".to_owned() },
            "exists" => OperationError::already_exists("task", "t-1").into(),
            "limited" => OperationError::rate_limited(30).into(),
            "http" => OperationError::from_http_status(503, "").into(),
            _ => OperationError::permission_denied("the board is locked").into(),
        })
    }

    /// Return the given warnings.
    #[operation(category = "READ", rationale = "It changes nothing")]
    fn warn(
        &self,
        context: Context,
        /// Number of different warnings.
        #[param(default = 1)]
        different: u32,
        /// Number of repetitions of each.
        #[param(default = 1)]
        times: u32,
        /// Whether the operation fails after the warnings.
        #[param(default = false)]
        fail: bool,
    ) -> Result<u32, OperationError> {
        for number in 0..different {
            for _ in 0..times {
                let severity = [Severity::Low, Severity::High, Severity::Medium];
                let severity = severity[number as usize % severity.len()];
                context.warn(
                    Warning::new("PERFORMANCE_TEST_WARNING", format!("Number {number}"))
                        .severity(severity)
                        .detail("number", number),
                );
            }
        }
        if fail { Err(OperationError::permission_denied("told so")) } else { Ok(different) }
    }

    /// Change an account.
    #[operation(category = "UPDATE")]
    fn update_account(
        &self,
        /// The account's identifier.
        account_id: String,
        input: Update<Account>,
    ) -> String {
        let mut account = Account::default();
        input.merge_into(&mut account);
        format!("{account_id} is {}", account.name)
    }

    /// Open the door.
    #[operation(category = "EXECUTE", rationale = "It moves a lock")]
    fn open_door(
        &self,
        /// The key.
        #[param(sensitive, min_length = 4, pattern = "^[a-z-]+$")]
        password: String,
    ) -> bool {
        password == "open-sesame"
    }
}

/// Return every value as it arrived.
///
/// One parameter of every kind.
#[operation(category = "READ", rationale = "It changes nothing")]
pub(crate) fn echo_values(
    /// Any text.
    text: String,
    /// A small number.
    #[param(minimum = -5, maximum = 5)]
    small: Option<i32>,
    /// A large number.
    large: Option<u64>,
    /// A broken number.
    #[param(minimum = 0.5)]
    ratio: Option<f64>,
    /// Yes or no.
    flag: Option<bool>,
    /// A lower-case word.
    #[param(pattern = "^[a-z]+$", max_length = 8)]
    word: Option<String>,
    /// One of three.
    #[param(enum = ["red", "green", "blue"])]
    colour: Option<String>,
    /// Status of the work.
    status: Option<Status>,
    /// Some words.
    #[param(min_items = 1, max_items = 3)]
    words: Option<Vec<String>>,
    /// Numbers by name.
    counts: Option<BTreeMap<String, u32>>,
    /// A pair.
    pair: Option<(String, i64)>,
    /// A figure.
    figure: Option<Figure>,
    /// A number or a word.
    key: Option<Key>,
    /// A place.
    place: Option<Place>,
    /// A day.
    #[param(format = "date")]
    day: Option<String>,
    /// An instant.
    #[param(format = "date-time")]
    instant: Option<String>,
    /// An address.
    #[param(format = "email")]
    email: Option<String>,
    /// A link.
    #[param(format = "uri")]
    uri: Option<String>,
    /// An identifier.
    #[param(format = "uuid")]
    uuid: Option<String>,
    /// Bytes.
    bytes: Option<Base64>,
    /// A picture.
    picture: Option<Binary>,
    /// A number beyond what JSON carries.
    big: Option<BigInteger<u128>>,
    /// Any JSON value.
    anything: Option<Value>,
) -> Value {
    let all = serde_json::json!({
        "text": text, "small": small, "large": large, "ratio": ratio, "flag": flag, "word": word,
        "colour": colour, "status": status, "words": words, "counts": counts, "pair": pair,
        "figure": figure, "key": key, "place": place, "day": day, "instant": instant,
        "email": email, "uri": uri, "uuid": uuid, "bytes": bytes, "picture": picture, "big": big,
        "anything": anything,
    });
    let Value::Object(mut all) = all else { return Value::Null };
    all.retain(|_, value| !value.is_null());
    all.into()
}

/// Find a task by its old number.
#[operation(category = "READ", deprecated(replacement = "get_task", removal_date = "2099-01-01"))]
pub(crate) fn find_by_number(
    /// The number.
    #[param(deprecated(replacement = "task_id"))]
    number: Option<u32>,
) -> Option<u32> {
    number
}

/// Count the calls of this session.
#[operation(category = "EXECUTE", rationale = "It counts")]
pub(crate) fn count_calls(context: Context) -> Result<u32, OperationError> {
    let calls = context.require_session()?.state::<Mutex<u32>>();
    let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
    *calls += 1;
    Ok(*calls)
}

/// Give a text of this length.
#[operation(category = "READ", rationale = "It changes nothing")]
pub(crate) fn repeat_text(
    /// How long.
    length: usize,
    /// How many.
    #[param(default = 1)]
    times: usize,
) -> Vec<String> {
    vec!["x".repeat(length); times]
}

/// Returns a builder of the board. It ignores configuration files, so your machine has no influence on the tests.
pub(crate) fn builder() -> AdapterBuilder {
    Adapter::builder("board")
        .version("1.2.3")
        .operations(Board::default())
        .operation(echo_values {})
        .operation(find_by_number {})
        .operation(count_calls {})
        .operation(repeat_text {})
        // Confirmations are tested in `gates.rs`.
        .policy(Policy::allow("delete_task"))
        .without_config()
}

pub(crate) fn board() -> Adapter {
    builder().build().expect("the board is sound")
}
