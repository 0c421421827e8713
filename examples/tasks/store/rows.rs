//! The SQL statements for a single task. Each function runs inside its caller's transaction.

use chrono::{DateTime, SubsecRound as _, Utc};
use mcp_aql::OperationError;
use mcp_aql::query::fold_text;
use mcp_aql::resource::Create;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, named_params};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::links;
use crate::error::TaskError;
use crate::model::Task;

/// The columns that [`task`] reads, in this order.
pub(super) const COLUMNS: &str = "number, title, description, status, priority, tags, metadata, due_date, \
                       created_at, updated_at, version";

pub(super) fn insert(connection: &Connection, new: Create<Task>) -> Result<Task, TaskError> {
    let now = next_instant(connection)?;
    let mut task = new.into_resource((String::new(), now, now));
    let insert = "INSERT INTO task (title, description, status, priority, tags, metadata, due_date,
                                    created_at, updated_at, version,
                                    title_words, description_words, tags_words)
                  VALUES (:title, :description, :status, :priority, :tags, :metadata, :due_date,
                          :now, :now, 1, :title_words, :description_words, :tags_words)";
    let words = Words::of(&task);
    connection.prepare_cached(insert)?.execute(named_params! {
        ":title": task.title,
        ":description": task.description,
        ":status": text_of(&json!(task.status)),
        ":priority": task.priority,
        ":tags": json!(task.tags).to_string(),
        ":metadata": json!(task.metadata).to_string(),
        ":due_date": task.due_date.map(|date| date.to_string()),
        ":now": now.timestamp_micros(),
        ":title_words": words.title,
        ":description_words": words.description,
        ":tags_words": words.tags,
    })?;
    task.task_id = id_of(connection.last_insert_rowid());
    Ok(task)
}

pub(super) fn find(connection: &Connection, task_id: &str) -> Result<Task, TaskError> {
    let unknown = || TaskError::NotFound { task_id: task_id.to_owned() };
    let number = number_of(task_id).ok_or_else(unknown)?;
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM task WHERE number = ?1"))?
        .query_row([number], task)
        .optional()?
        .map(|(_, task)| task)
        .ok_or_else(unknown)
}

pub(super) fn change(
    connection: &Connection,
    task_id: &str,
    change: impl FnOnce(&mut Task) -> Result<(), OperationError>,
) -> Result<Task, TaskError> {
    let before = find(connection, task_id)?;
    let mut task = before.clone();
    change(&mut task)?;
    if task == before {
        return Ok(before);
    }
    // `updated_at` must never decrease, even if the system clock was set back.
    task.updated_at = now().max(before.updated_at);
    task.version = before.version.saturating_add(1);
    let update = "UPDATE task SET title = :title, description = :description, status = :status,
                      priority = :priority, tags = :tags, metadata = :metadata,
                      due_date = :due_date, updated_at = :updated_at, version = :version,
                      title_words = :title_words, description_words = :description_words,
                      tags_words = :tags_words
                  WHERE number = :number";
    let words = Words::of(&task);
    connection.prepare_cached(update)?.execute(named_params! {
        ":number": number_of(task_id),
        ":title": task.title,
        ":description": task.description,
        ":status": text_of(&json!(task.status)),
        ":priority": task.priority,
        ":tags": json!(task.tags).to_string(),
        ":metadata": json!(task.metadata).to_string(),
        ":due_date": task.due_date.map(|date| date.to_string()),
        ":updated_at": task.updated_at.timestamp_micros(),
        ":version": i64::try_from(task.version).unwrap_or(i64::MAX),
        ":title_words": words.title,
        ":description_words": words.description,
        ":tags_words": words.tags,
    })?;
    Ok(task)
}

pub(super) fn delete(
    connection: &Connection,
    task_id: &str,
    is_confirmed: impl FnOnce(&Task) -> bool,
) -> Result<(), TaskError> {
    if !is_confirmed(&find(connection, task_id)?) {
        return Err(OperationError::changed_since_confirmation("task").into());
    }
    let number = number_of(task_id);
    connection.prepare_cached("DELETE FROM task WHERE number = ?1")?.execute([number])?;
    links::delete(connection, number.unwrap_or_default())
}

pub(super) fn delete_done(
    connection: &Connection,
    is_confirmed: impl FnOnce(&[i64]) -> bool,
) -> Result<u32, TaskError> {
    if !is_confirmed(&done(connection)?) {
        return Err(OperationError::changed_since_confirmation("task").into());
    }
    links::delete_done(connection)?;
    let deleted =
        connection.prepare_cached("DELETE FROM task WHERE status = 'done'")?.execute([])?;
    Ok(u32::try_from(deleted).unwrap_or(u32::MAX))
}

/// Returns the numbers of all tasks with the status `done`.
pub(super) fn done(connection: &Connection) -> Result<Vec<i64>, TaskError> {
    let mut done = connection
        .prepare_cached("SELECT number FROM task WHERE status = 'done' ORDER BY number")?;
    let numbers = done.query_map([], |row| row.get(0))?.collect::<Result<_, _>>();
    Ok(numbers?)
}

pub(super) fn count(connection: &Connection) -> Result<u32, TaskError> {
    let mut count = connection.prepare_cached("SELECT count(*) FROM task")?;
    Ok(count.query_row([], |row| row.get(0))?)
}

pub(super) fn after(
    connection: &Connection,
    number: i64,
    most: u32,
) -> Result<Vec<(i64, Task)>, TaskError> {
    let select = format!("SELECT {COLUMNS} FROM task WHERE number > ?1 ORDER BY number LIMIT ?2");
    let mut select = connection.prepare_cached(&select)?;
    let rows = select.query_map((number, most), task)?;
    rows.collect::<Result<_, _>>().map_err(TaskError::from)
}

/// Returns the later of the current time and one microsecond after the newest task.
///
/// This way `created_at` always increases, even if the system clock was set back.
fn next_instant(connection: &Connection) -> Result<DateTime<Utc>, TaskError> {
    let mut newest = connection.prepare_cached("SELECT max(created_at) FROM task")?;
    let newest = newest.query_row([], |row| row.get::<_, Option<i64>>(0))?;
    let next = newest.and_then(|newest| DateTime::from_timestamp_micros(newest.saturating_add(1)));
    Ok(next.map_or(now(), |next| next.max(now())))
}

/// The words of a task that a search compares with its query.
pub(super) struct Words {
    pub(super) title: String,
    pub(super) description: Option<String>,
    pub(super) tags: String,
}

impl Words {
    pub(super) fn of(task: &Task) -> Self {
        Self {
            title: fold_text(&task.title),
            description: task.description.as_deref().map(fold_text),
            tags: task.tags.iter().map(|tag| fold_text(tag)).collect(),
        }
    }
}

pub(super) fn task(row: &Row<'_>) -> rusqlite::Result<(i64, Task)> {
    let number = row.get(0)?;
    let task = Task {
        task_id: id_of(number),
        title: row.get(1)?,
        description: row.get(2)?,
        status: parsed(3, Value::from(row.get::<_, String>(3)?))?,
        priority: row.get(4)?,
        tags: from_json(row, 5)?,
        metadata: from_json(row, 6)?,
        due_date: row
            .get::<_, Option<String>>(7)?
            .map(|date| parsed(7, Value::from(date)))
            .transpose()?,
        created_at: instant(row, 8)?,
        updated_at: instant(row, 9)?,
        version: row.get::<_, i64>(10)?.unsigned_abs(),
    };
    Ok((number, task))
}

fn from_json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    serde_json::from_str(row.get_ref(column)?.as_str()?).map_err(|error| unreadable(column, error))
}

fn parsed<T: DeserializeOwned>(column: usize, value: Value) -> rusqlite::Result<T> {
    T::deserialize(value).map_err(|error| unreadable(column, error))
}

fn instant(row: &Row<'_>, column: usize) -> rusqlite::Result<DateTime<Utc>> {
    let microseconds = row.get(column)?;
    DateTime::from_timestamp_micros(microseconds)
        .ok_or(rusqlite::Error::IntegralValueOutOfRange(column, microseconds))
}

fn unreadable(column: usize, error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}

/// Returns the name of a unit variant in its JSON form, for example `done`.
pub(super) fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(super) fn id_of(number: i64) -> String {
    format!("t-{number}")
}

/// Parses an identifier such as `t-7`. Returns `None` for other spellings, for example `t-07`.
pub(super) fn number_of(task_id: &str) -> Option<i64> {
    let number = task_id.strip_prefix("t-")?.parse().ok()?;
    (id_of(number) == task_id).then_some(number)
}

/// Returns the current time in microseconds, the precision of the file.
fn now() -> DateTime<Utc> {
    Utc::now().trunc_subsecs(6)
}
