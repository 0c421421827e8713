//! Where the tasks are kept: one SQLite file, which several processes may share.
//!
//! | part | job |
//! |---|---|
//! | `database` | opens the file and brings its layout up to date |
//! | `writer` | one connection and one thread for all changes of this process |
//! | `readers` | a few connections that read while others write |
//! | `rows` | the statements |
//! | `cursor` | where a page ended, as text |
//! | `search` | which words a query asks for |

mod cursor;
mod database;
mod readers;
mod rows;
mod search;
#[cfg(test)]
mod tests;
mod writer;

use std::path::PathBuf;

use mcp_aql::{OperationError, Page};

use crate::error::TaskError;
use crate::model::{NewTask, Task};
use readers::Readers;
use rows::Slice;
use search::Terms;
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

    /// The tasks that come after a cursor, `first` of them at most, in the order of their creation.
    ///
    /// The order never changes, so that tasks which come and go meanwhile neither repeat nor hide
    /// others.
    pub(crate) async fn list(
        &self,
        first: u32,
        after: Option<String>,
    ) -> Result<Page<Task>, TaskError> {
        self.page(Terms::default(), first, after).await
    }

    /// As [`list`](Self::list), of the tasks whose text holds one of the query's words.
    pub(crate) async fn search(
        &self,
        query: &str,
        first: u32,
        after: Option<String>,
    ) -> Result<Page<Task>, TaskError> {
        let terms = Terms::parse(query);
        if terms.is_empty() {
            return Err(TaskError::EmptyQuery);
        }
        self.page(terms, first, after).await
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

    async fn page(
        &self,
        terms: Terms,
        first: u32,
        after: Option<String>,
    ) -> Result<Page<Task>, TaskError> {
        let after = after.as_deref().map(cursor::decode).transpose()?.unwrap_or_default();
        let slice =
            self.readers.read(move |connection| rows::slice(connection, &terms, after, first));
        slice.await.map(Slice::into_page)
    }
}

/// Runs what blocks, such as SQLite, where it holds up nobody.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TaskError> + Send + 'static,
) -> Result<T, TaskError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(TaskError::Unfinished))
}
