//! What a task is.

use chrono::{DateTime, NaiveDate, Utc};
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
    #[param(min_length = 1, max_length = 200)]
    pub(crate) title: String,
    /// What is to be done, in as many words as it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(max_length = 5000)]
    pub(crate) description: Option<String>,
    /// Where the work stands.
    pub(crate) status: Status,
    /// 1 is most urgent.
    #[param(minimum = 1, maximum = 5)]
    pub(crate) priority: u8,
    /// Free-form labels.
    #[param(max_items = 20)]
    pub(crate) tags: Vec<String>,
    /// Free-form data; updates merge into it key by key.
    pub(crate) metadata: Map<String, Value>,
    /// Last day for the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) due_date: Option<NaiveDate>,
    /// When the task was created.
    #[resource(read_only)]
    pub(crate) created_at: DateTime<Utc>,
    /// When the task last changed.
    #[resource(read_only)]
    pub(crate) updated_at: DateTime<Utc>,
    /// Grows with every change; give it back as `if_match`.
    #[resource(read_only)]
    #[serde(rename = "_version")]
    pub(crate) version: u64,
}

/// Where the work on a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// Not begun.
    Todo,
    /// Under way.
    Doing,
    /// Finished.
    Done,
}

/// What a new task starts with: the parameters of `create_task`.
#[derive(Debug, Clone, ParamGroup)]
pub(crate) struct NewTask {
    /// Short title.
    #[param(min_length = 1, max_length = 200)]
    pub(crate) title: String,
    /// What is to be done, in as many words as it takes.
    #[param(max_length = 5000)]
    pub(crate) description: Option<String>,
    /// Where the work stands.
    #[param(default = "todo")]
    pub(crate) status: Status,
    /// 1 is most urgent.
    #[param(default = 3, minimum = 1, maximum = 5)]
    pub(crate) priority: u8,
    /// Free-form labels.
    #[param(default = [], max_items = 20)]
    pub(crate) tags: Vec<String>,
    /// Free-form data.
    #[param(default = {})]
    pub(crate) metadata: Map<String, Value>,
    /// Last day for the work.
    pub(crate) due_date: Option<NaiveDate>,
}

/// What remains of a deleted task.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Deleted {
    /// The task that is gone.
    pub(crate) task_id: String,
}
