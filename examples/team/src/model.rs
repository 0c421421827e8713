//! Projects and tickets.

use chrono::{DateTime, Utc};
use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};

/// A project of the team.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, default_sort(name))]
pub(crate) struct Project {
    /// Identifier, assigned on creation.
    #[resource(id)]
    pub(crate) project_id: String,
    /// Name of the project.
    #[resource(search, filter, sort)]
    #[param(min_length = 1, max_length = 100)]
    pub(crate) name: String,
    /// Tenant that owns the project.
    // Callers cannot set the tenant. `TenantRules` does it for every new record.
    #[resource(read_only)]
    #[create_input(value = String::new())]
    pub(crate) tenant: String,
    /// Version, which grows with every change; send it as `if_match`.
    #[resource(read_only)]
    #[create_input(value = 1)]
    #[serde(rename = "_version")]
    pub(crate) version: u64,
}

/// A ticket of a project.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, default_sort(created_at))]
pub(crate) struct Ticket {
    /// Identifier, assigned on creation.
    #[resource(id)]
    pub(crate) ticket_id: String,
    /// Project of the ticket.
    #[resource(filter, group, references = "project")]
    pub(crate) project_id: String,
    /// Short title.
    #[resource(search, filter, sort)]
    #[param(min_length = 1, max_length = 200)]
    pub(crate) title: String,
    /// Description of the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(max_length = 5000)]
    pub(crate) description: Option<String>,
    /// Status of the work.
    #[resource(filter, sort, group)]
    #[param(default = Status::Open)]
    pub(crate) status: Status,
    /// Priority; 1 is most urgent.
    #[resource(filter, sort, group, numeric)]
    #[param(default = 3, minimum = 1, maximum = 5)]
    pub(crate) priority: u8,
    /// Name of the person who works on the ticket.
    #[resource(filter, sort, group)]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(max_length = 100)]
    pub(crate) assignee: Option<String>,
    /// Name of the person who has created the ticket.
    #[resource(read_only, filter)]
    // Callers cannot set this, either.
    #[create_input(value = String::new())]
    pub(crate) created_by: String,
    /// When the ticket was created.
    #[resource(read_only, filter, sort)]
    #[create_input(value = Utc::now())]
    pub(crate) created_at: DateTime<Utc>,
    /// Tenant that owns the ticket.
    #[resource(read_only)]
    #[create_input(value = String::new())]
    pub(crate) tenant: String,
    /// Version, which grows with every change; send it as `if_match`.
    #[resource(read_only)]
    #[create_input(value = 1)]
    #[serde(rename = "_version")]
    pub(crate) version: u64,
}

/// The status of the work on a ticket.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    /// Not started.
    Open,
    /// Being worked on.
    Doing,
    /// Finished.
    Done,
}
