//! Tasks and the links between them.

use chrono::{DateTime, NaiveDate, Utc};
use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A task on the board.
#[derive(
    Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput,
)]
#[resource(
    presets(
        minimal = [task_id, title],
        standard = [task_id, title, status, priority, tags, due_date],
    ),
    default_sort(created_at),
    relationships(
        references = "The task mentions another.",
        composes = "The task is made up of others.",
    ),
)]
pub(crate) struct Task {
    /// Identifier, assigned on creation.
    #[resource(id)]
    pub(crate) task_id: String,
    /// Short title.
    #[resource(search, filter, sort)]
    #[param(min_length = 1, max_length = 200)]
    pub(crate) title: String,
    /// Detailed description of the work.
    #[resource(search)]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(max_length = 5000)]
    pub(crate) description: Option<String>,
    /// Status of the work.
    #[resource(filter, sort, group)]
    #[param(default = Status::Todo)]
    pub(crate) status: Status,
    /// Priority; 1 is most urgent.
    #[resource(filter, sort, group, numeric)]
    #[param(default = 3, minimum = 1, maximum = 5)]
    pub(crate) priority: u8,
    /// Free-form labels.
    #[resource(search, filter)]
    #[param(default = [], max_items = 20)]
    pub(crate) tags: Vec<String>,
    /// Free-form data.
    #[param(default = {})]
    pub(crate) metadata: Map<String, Value>,
    /// Last day for the work.
    #[resource(filter, sort)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) due_date: Option<NaiveDate>,
    /// When the task was created.
    #[resource(read_only, filter, sort)]
    pub(crate) created_at: DateTime<Utc>,
    /// When the task last changed.
    #[resource(read_only, sort)]
    pub(crate) updated_at: DateTime<Utc>,
    /// Version, which grows with every change; send it as `if_match`.
    #[resource(read_only)]
    #[create_input(value = 1)]
    #[serde(rename = "_version")]
    pub(crate) version: u64,
}

#[computed_fields]
impl Task {
    /// Whole days since the task was created.
    #[computed]
    fn age_days(&self) -> i64 {
        (Utc::now() - self.created_at).num_days()
    }

    /// True if the due date has passed and the work is not done.
    #[computed(filter)]
    fn is_overdue(&self) -> bool {
        self.status != Status::Done
            && self.due_date.is_some_and(|day| day < Utc::now().date_naive())
    }
}

/// The status of the work on a task.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// Not started.
    Todo,
    /// In progress.
    Doing,
    /// Finished.
    Done,
}

/// The kind of link between two tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Relationship {
    /// The task mentions the other task.
    References,
    /// The other task is a part of the task.
    Composes,
}

/// A link between two tasks.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Link {
    /// The task.
    pub(crate) task_id: String,
    /// Kind of the link.
    pub(crate) relationship: Relationship,
    /// The other task.
    pub(crate) target_id: String,
}

/// The result of deleting a task.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Deleted {
    /// Identifier of the deleted task.
    pub(crate) task_id: String,
}

/// The result of deleting many tasks.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DeletedMany {
    /// Number of deleted tasks.
    pub(crate) deleted: u32,
}
