//! Stores the links between tasks. Each function runs inside its caller's transaction.

use mcp_aql::query::{Edge, EdgeDirection, EdgeRequest, ElementRef};
use rusqlite::types::Value;
use rusqlite::{Connection, ErrorCode, params, params_from_iter};
use serde_json::json;

use super::rows::{id_of, number_of, text_of};
use crate::error::TaskError;
use crate::model::Link;

/// The element type of tasks in a relationship graph.
const TYPE: &str = "task";

/// Adds a link between two existing tasks.
pub(super) fn insert(connection: &Connection, link: Link) -> Result<Link, TaskError> {
    let source = existing(connection, &link.task_id)?;
    let target = existing(connection, &link.target_id)?;
    if source == target {
        return Err(TaskError::LinkedToItself);
    }
    let insert = "INSERT INTO link (source, relationship, target) VALUES (?1, ?2, ?3)";
    let kind = json!(link.relationship);
    let inserted =
        connection.prepare_cached(insert)?.execute(params![source, text_of(&kind), target]);
    match inserted {
        Ok(_) => Ok(link),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            let Link { task_id, target_id, .. } = link;
            Err(TaskError::LinkedAlready { task_id, target_id })
        }
        Err(error) => Err(error.into()),
    }
}

/// Removes the links of a deleted task.
pub(super) fn delete(connection: &Connection, number: i64) -> Result<(), TaskError> {
    let delete = "DELETE FROM link WHERE source = ?1 OR target = ?1";
    connection.prepare_cached(delete)?.execute([number])?;
    Ok(())
}

/// Removes the links of all tasks with the status `done`.
pub(super) fn delete_done(connection: &Connection) -> Result<(), TaskError> {
    let delete = "DELETE FROM link
                  WHERE source IN (SELECT number FROM task WHERE status = 'done')
                     OR target IN (SELECT number FROM task WHERE status = 'done')";
    connection.prepare_cached(delete)?.execute([])?;
    Ok(())
}

/// Returns an error unless the start of a relationship walk is an existing task.
pub(super) fn check(connection: &Connection, element: &ElementRef) -> Result<(), TaskError> {
    if element.element_type == TYPE {
        existing(connection, &element.element_name).map(drop)
    } else {
        Err(TaskError::NotFound { task_id: element.element_name.clone() })
    }
}

/// Returns the links of the requested tasks.
pub(super) fn at(
    connection: &Connection,
    asked: &OwnedEdgeRequest,
) -> Result<Vec<Edge>, TaskError> {
    let numbers = asked.nodes.iter().filter_map(|node| number_of(&node.element_name));
    let numbers: Vec<_> = numbers.map(Value::from).collect();
    let (near, far) = match asked.direction {
        EdgeDirection::Outgoing => ("source", "target"),
        EdgeDirection::Incoming => ("target", "source"),
    };
    let places = vec!["?"; numbers.len()].join(", ");
    let mut select = connection.prepare_cached(&format!(
        "SELECT source, relationship, target FROM link
         WHERE {near} IN ({places}) AND coalesce(relationship = ?, TRUE)
         ORDER BY 't-' || {near}, relationship, 't-' || {far} LIMIT ?"
    ))?;
    let relationship = asked.relationship.clone().map_or(Value::Null, Value::from);
    let limit = Value::from(i64::try_from(asked.limit).unwrap_or(i64::MAX));
    let values = numbers.into_iter().chain([relationship, limit]);
    let edge = |row: &rusqlite::Row<'_>| {
        let task = |number| ElementRef::new(TYPE, id_of(number));
        Ok(Edge::new(task(row.get(0)?), row.get::<_, String>(1)?, task(row.get(2)?)))
    };
    Ok(select.query_map(params_from_iter(values), edge)?.collect::<Result<_, _>>()?)
}

/// An owned copy of an [`EdgeRequest`]. It can be moved to the thread that reads the database.
pub(super) struct OwnedEdgeRequest {
    nodes: Vec<ElementRef>,
    direction: EdgeDirection,
    relationship: Option<String>,
    limit: usize,
}

impl From<EdgeRequest<'_>> for OwnedEdgeRequest {
    fn from(at: EdgeRequest<'_>) -> Self {
        Self {
            nodes: at.nodes.to_vec(),
            direction: at.direction,
            relationship: at.relationship.map(str::to_owned),
            limit: at.limit,
        }
    }
}

/// Returns the row number of a task, or an error if the task does not exist.
fn existing(connection: &Connection, task_id: &str) -> Result<i64, TaskError> {
    let mut select =
        connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM task WHERE number = ?1)")?;
    match number_of(task_id) {
        Some(number) if select.query_row([number], |row| row.get(0))? => Ok(number),
        _ => Err(TaskError::NotFound { task_id: task_id.to_owned() }),
    }
}
