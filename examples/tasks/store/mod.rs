//! Where the tasks are kept: one SQLite file, which several processes may share.
//!
//! | part | job |
//! |---|---|
//! | `database` | opens the file and brings its layout up to date |
//! | `writer` | one connection and one thread for all changes of this process |
//! | `readers` | a few connections that read while others write |
//! | `rows` | the statements for one task |
//! | `query` | the statements for many, made of what a caller asks |
//! | `links` | how tasks hang together |

mod database;
mod links;
mod query;
mod readers;
mod rows;
#[cfg(test)]
mod tests;
mod writer;

use std::path::PathBuf;

use mcp_aql::query::sql::Record;
use mcp_aql::query::{CollectionQuery, CursorKey, Edge, EdgesAt, Element, RelationshipSource};
use mcp_aql::{OperationError, Page};

use crate::error::TaskError;
use crate::model::{Link, NewTask, Task};
use links::Asked;
pub(crate) use query::capabilities;
use readers::Readers;
use writer::Writer;

/// The tasks of one file. Cheap to clone; the clones share their connections.
///
/// A change that was answered is on the disk: it survives a crash of the process and of the machine.
#[derive(Clone)]
pub(crate) struct TaskStore {
    writer: Writer,
    readers: Readers,
}

impl TaskStore {
    /// Opens the file, or creates it.
    pub(crate) async fn open(path: impl Into<PathBuf>) -> Result<Self, TaskError> {
        let path = path.into();
        let connection = blocking({
            let path = path.clone();
            move || database::open(&path)
        })
        .await?;
        Ok(Self { writer: Writer::start(connection)?, readers: Readers::new(path) })
    }

    /// Adds a task.
    pub(crate) async fn create(&self, task: NewTask) -> Result<Task, TaskError> {
        self.writer.write(move |connection| rows::insert(connection, task)).await
    }

    /// The task of this identifier.
    pub(crate) async fn get(&self, task_id: String) -> Result<Task, TaskError> {
        self.readers.read(move |connection| rows::find(connection, &task_id)).await
    }

    /// What a query asks of all tasks.
    pub(crate) async fn list(
        &self,
        query: CollectionQuery<Task>,
    ) -> Result<Page<Record<Task>>, TaskError> {
        self.readers.read(move |connection| query::run(connection, &query)).await
    }

    /// Links a task to another.
    pub(crate) async fn link(&self, link: Link) -> Result<Link, TaskError> {
        self.writer.write(move |connection| links::insert(connection, link)).await
    }

    /// What cursors are made with: it belongs to the file, so they outlive the process.
    pub(crate) async fn cursor_key(&self) -> Result<CursorKey, TaskError> {
        self.readers.read(database::cursor_key).await
    }

    /// Reads a task, lets `change` work on it and writes it back, with nobody else in between.
    ///
    /// When `change` refuses, nothing changes; when it leaves the task as it was, nothing is written.
    pub(crate) async fn change(
        &self,
        task_id: String,
        change: impl FnOnce(&mut Task) -> Result<(), OperationError> + Send + 'static,
    ) -> Result<Task, TaskError> {
        self.writer.write(move |connection| rows::change(connection, &task_id, change)).await
    }

    /// Removes a task.
    pub(crate) async fn delete(&self, task_id: String) -> Result<(), TaskError> {
        self.writer.write(move |connection| rows::delete(connection, &task_id)).await
    }

    /// Removes all tasks that are done; tells how many.
    pub(crate) async fn delete_done(&self) -> Result<u32, TaskError> {
        self.writer.write(rows::delete_done).await
    }

    /// How many tasks there are.
    pub(crate) async fn count(&self) -> Result<u32, TaskError> {
        self.readers.read(rows::count).await
    }

    /// Up to `most` tasks behind this number, with their numbers, the oldest first.
    pub(crate) async fn after(
        &self,
        number: i64,
        most: u32,
    ) -> Result<Vec<(i64, Task)>, TaskError> {
        self.readers.read(move |connection| rows::after(connection, number, most)).await
    }
}

impl RelationshipSource for TaskStore {
    type Error = TaskError;

    async fn edges(&self, at: EdgesAt<'_>) -> Result<Vec<Edge>, TaskError> {
        let asked = Asked::from(at);
        self.readers.read(move |connection| links::at(connection, &asked)).await
    }

    async fn check_root(&self, root: &Element) -> Result<(), TaskError> {
        let root = root.clone();
        self.readers.read(move |connection| links::check(connection, &root)).await
    }
}

/// Runs what blocks, such as SQLite, where it holds up nobody.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TaskError> + Send + 'static,
) -> Result<T, TaskError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(TaskError::Unfinished))
}
