//! The statements. Each runs inside of its caller's transaction.

use chrono::{DateTime, SubsecRound as _, Utc};
use mcp_aql::{OperationError, Page, PageInfo};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, ToSql, named_params};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::cursor;
use super::search::{Terms, lower};
use crate::error::TaskError;
use crate::model::{NewTask, Task};

/// What [`task`] reads, in this order.
const COLUMNS: &str = "number, title, description, status, priority, tags, metadata, due_date, \
                       created_at, updated_at, version";

/// Some tasks in the order of their numbers.
pub(super) struct Slice {
    tasks: Vec<(i64, Task)>,
    has_next: bool,
    has_previous: bool,
}

impl Slice {
    pub(super) fn into_page(self) -> Page<Task> {
        let mut info = PageInfo::new(self.has_next, self.has_previous);
        if let (Some((first, _)), Some((last, _))) = (self.tasks.first(), self.tasks.last()) {
            info = info.cursors(cursor::encode(*first), cursor::encode(*last));
        }
        Page::new(self.tasks.into_iter().map(|(_, task)| task).collect(), info)
    }
}

pub(super) fn insert(connection: &Connection, new: NewTask) -> Result<Task, TaskError> {
    let now = now();
    let mut task = Task {
        task_id: String::new(),
        title: new.title,
        description: new.description,
        status: new.status,
        priority: new.priority,
        tags: new.tags,
        metadata: new.metadata,
        due_date: new.due_date,
        created_at: now,
        updated_at: now,
        version: 1,
    };
    let insert = "INSERT INTO task (title, description, status, priority, tags, metadata, due_date,
                                    created_at, updated_at, version, searched)
                  VALUES (:title, :description, :status, :priority, :tags, :metadata, :due_date,
                          :now, :now, 1, :searched)";
    connection.prepare_cached(insert)?.execute(named_params! {
        ":title": task.title,
        ":description": task.description,
        ":status": text_of(&json!(task.status)),
        ":priority": task.priority,
        ":tags": json!(task.tags).to_string(),
        ":metadata": json!(task.metadata).to_string(),
        ":due_date": task.due_date.map(|date| date.to_string()),
        ":now": now.timestamp_millis(),
        ":searched": searched(&task),
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
    // The clock may have been set back; time in a task never runs backwards.
    task.updated_at = now().max(before.updated_at);
    task.version = before.version.saturating_add(1);
    let update = "UPDATE task SET title = :title, description = :description, status = :status,
                      priority = :priority, tags = :tags, metadata = :metadata,
                      due_date = :due_date, updated_at = :updated_at, version = :version,
                      searched = :searched
                  WHERE number = :number";
    connection.prepare_cached(update)?.execute(named_params! {
        ":number": number_of(task_id),
        ":title": task.title,
        ":description": task.description,
        ":status": text_of(&json!(task.status)),
        ":priority": task.priority,
        ":tags": json!(task.tags).to_string(),
        ":metadata": json!(task.metadata).to_string(),
        ":due_date": task.due_date.map(|date| date.to_string()),
        ":updated_at": task.updated_at.timestamp_millis(),
        ":version": i64::try_from(task.version).unwrap_or(i64::MAX),
        ":searched": searched(&task),
    })?;
    Ok(task)
}

pub(super) fn delete(connection: &Connection, task_id: &str) -> Result<(), TaskError> {
    let mut delete = connection.prepare_cached("DELETE FROM task WHERE number = ?1")?;
    match number_of(task_id).map(|number| delete.execute([number])).transpose()? {
        Some(1) => Ok(()),
        _ => Err(TaskError::NotFound { task_id: task_id.to_owned() }),
    }
}

/// The tasks that hold one of the terms, or all tasks where there are none.
pub(super) fn slice(
    connection: &Connection,
    terms: &Terms,
    after: i64,
    first: u32,
) -> Result<Slice, TaskError> {
    let matches: Vec<_> = terms.iter().map(|_| "instr(searched, ?) > 0").collect();
    let matches = if matches.is_empty() { "TRUE".to_owned() } else { matches.join(" OR ") };
    let terms: Vec<_> =
        terms.iter().map(|term| -> Box<dyn ToSql + '_> { Box::new(term) }).collect();

    // One more than asked for tells whether there are more.
    let wanted = i64::from(first).saturating_add(1);
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM task WHERE ({matches}) AND number > ? ORDER BY number LIMIT ?"
    ))?;
    let parameters = terms.iter().map(|term| &**term).chain([&after as &dyn ToSql, &wanted]);
    let mut tasks = select
        .query_map(rusqlite::params_from_iter(parameters), task)?
        .collect::<Result<Vec<_>, _>>()?;
    let kept = usize::try_from(first).unwrap_or(usize::MAX);
    let has_next = tasks.len() > kept;
    tasks.truncate(kept);

    let mut earlier = connection.prepare_cached(&format!(
        "SELECT EXISTS (SELECT 1 FROM task WHERE ({matches}) AND number <= ?)"
    ))?;
    let parameters = terms.iter().map(|term| &**term).chain([&after as &dyn ToSql]);
    let has_previous =
        after > 0 && earlier.query_row(rusqlite::params_from_iter(parameters), |row| row.get(0))?;
    Ok(Slice { tasks, has_next, has_previous })
}

fn task(row: &Row<'_>) -> rusqlite::Result<(i64, Task)> {
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
    let milliseconds = row.get(column)?;
    DateTime::from_timestamp_millis(milliseconds)
        .ok_or(rusqlite::Error::IntegralValueOutOfRange(column, milliseconds))
}

fn unreadable(column: usize, error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}

/// The text that a unit variant is on the wire.
fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn searched(task: &Task) -> String {
    let mut text = lower(&task.title);
    for part in task.description.iter().chain(&task.tags) {
        text.push('\n');
        text.push_str(&lower(part));
    }
    text
}

fn id_of(number: i64) -> String {
    format!("t-{number}")
}

/// The number inside of an identifier, if it has the form that we give out.
fn number_of(task_id: &str) -> Option<i64> {
    let number = task_id.strip_prefix("t-")?.parse().ok()?;
    (id_of(number) == task_id).then_some(number)
}

/// Now, to the millisecond, which is what the file keeps.
fn now() -> DateTime<Utc> {
    Utc::now().trunc_subsecs(3)
}
