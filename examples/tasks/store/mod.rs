//! Stores tasks in one SQLite file. Several processes may share it.
//!
//! | module | responsibility |
//! |---|---|
//! | `database` | opens the file and migrates its schema |
//! | `writer` | one connection and one thread for all changes of this process |
//! | `readers` | a few connections for concurrent reads |
//! | `rows` | the statements about one task |
//! | `query` | the statements about many tasks, generated from queries |
//! | `links` | the links between tasks |

mod database;
mod links;
mod query;
mod readers;
mod rows;
#[cfg(test)]
mod tests;
mod writer;

use std::path::PathBuf;

use mcp_aql::query::sql::SqlRecord;
use mcp_aql::query::{
    CollectionQuery, CursorKey, Edge, EdgeRequest, ElementRef, RelationshipSource,
};
use mcp_aql::resource::Create;
use mcp_aql::{OperationError, Page};

use crate::error::TaskError;
use crate::model::{Link, Task};
use links::OwnedEdgeRequest;
pub(crate) use query::capabilities;
use readers::Readers;
use writer::Writer;

/// The tasks in one file. Cloning is cheap; all clones share their connections.
///
/// When a method returns, its change is on the disk and survives a crash of the process or the machine.
#[derive(Clone)]
pub(crate) struct TaskStore {
    writer: Writer,
    readers: Readers,
}

impl TaskStore {
    /// Opens the file. A missing file is created.
    pub(crate) async fn open(path: impl Into<PathBuf>) -> Result<Self, TaskError> {
        let path = path.into();
        let connection = blocking({
            let path = path.clone();
            move || database::open(&path)
        })
        .await?;
        Ok(Self { writer: Writer::start(connection)?, readers: Readers::new(path) })
    }

    /// Adds a task and returns it with its identifier.
    pub(crate) async fn create(&self, task: Create<Task>) -> Result<Task, TaskError> {
        self.writer.write(move |connection| rows::insert(connection, task)).await
    }

    /// Returns the task with this identifier.
    pub(crate) async fn get(&self, task_id: String) -> Result<Task, TaskError> {
        self.readers.read(move |connection| rows::find(connection, &task_id)).await
    }

    /// Runs a query over all tasks.
    pub(crate) async fn list(
        &self,
        query: CollectionQuery<Task>,
    ) -> Result<Page<SqlRecord<Task>>, TaskError> {
        self.readers.read(move |connection| query::run(connection, &query)).await
    }

    /// Links one task to another.
    pub(crate) async fn link(&self, link: Link) -> Result<Link, TaskError> {
        self.writer.write(move |connection| links::insert(connection, link)).await
    }

    /// Returns the key that signs cursors. It is stored in the file, so cursors stay valid after a restart.
    pub(crate) async fn cursor_key(&self) -> Result<CursorKey, TaskError> {
        self.readers.read(database::cursor_key).await
    }

    /// Reads a task, applies `change` and writes the task back, in one transaction.
    ///
    /// If `change` returns an error, the task stays as it was. If `change` leaves it unchanged, nothing is written.
    pub(crate) async fn change(
        &self,
        task_id: String,
        change: impl FnOnce(&mut Task) -> Result<(), OperationError> + Send + 'static,
    ) -> Result<Task, TaskError> {
        self.writer.write(move |connection| rows::change(connection, &task_id, change)).await
    }

    /// Removes a task, provided that it is still the task that the user confirmed.
    pub(crate) async fn delete(
        &self,
        task_id: String,
        is_confirmed: impl FnOnce(&Task) -> bool + Send + 'static,
    ) -> Result<(), TaskError> {
        self.writer.write(move |connection| rows::delete(connection, &task_id, is_confirmed)).await
    }

    /// Deletes all tasks with the status `done`, provided that they are still the ones that the user confirmed. Returns
    /// their number.
    pub(crate) async fn delete_done(
        &self,
        is_confirmed: impl FnOnce(&[i64]) -> bool + Send + 'static,
    ) -> Result<u32, TaskError> {
        self.writer.write(move |connection| rows::delete_done(connection, is_confirmed)).await
    }

    /// Returns the numbers of all tasks with the status `done`.
    pub(crate) async fn done(&self) -> Result<Vec<i64>, TaskError> {
        self.readers.read(rows::done).await
    }

    /// Returns the number of tasks.
    pub(crate) async fn count(&self) -> Result<u32, TaskError> {
        self.readers.read(rows::count).await
    }

    /// Returns up to `most` tasks with a number above `number`, oldest first. Call it again with the last returned
    /// number to read the next batch.
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

    async fn edges(&self, at: EdgeRequest<'_>) -> Result<Vec<Edge>, TaskError> {
        let asked = OwnedEdgeRequest::from(at);
        self.readers.read(move |connection| links::at(connection, &asked)).await
    }

    async fn check_root(&self, root: &ElementRef) -> Result<(), TaskError> {
        let root = root.clone();
        self.readers.read(move |connection| links::check(connection, &root)).await
    }
}

/// Runs blocking work, such as an SQL statement, on one of tokio's threads for blocking work.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TaskError> + Send + 'static,
) -> Result<T, TaskError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(TaskError::Unfinished))
}
