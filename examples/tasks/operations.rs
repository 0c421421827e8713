//! The operations on tasks.

use mcp_aql::gatekeeper::Preview;
use mcp_aql::prelude::*;
use mcp_aql::query::sql::SqlRecord;
use mcp_aql::query::{RelationshipGraph, SelectedFields};

use crate::error::TaskError;
use crate::export::{Export, Format};
use crate::model::{Deleted, DeletedMany, Link, Relationship, Task};
use crate::store::{self, TaskStore};

/// Maximum size of a task as JSON, in bytes.
const MAX_TASK_BYTES: usize = 2 << 20;

/// The operations on tasks. They share one store.
pub(crate) struct Tasks {
    store: TaskStore,
}

impl Tasks {
    /// Creates the operations on a store.
    pub(crate) fn new(store: TaskStore) -> Self {
        Self { store }
    }

    /// Asks the user to confirm the number of tasks to delete. If other tasks are done by the time the confirmed call
    /// arrives, the user is asked again.
    async fn preview_done(&self, _context: Context) -> Result<Preview, TaskError> {
        let done = self.store.done().await?;
        let tasks = if done.len() == 1 {
            "1 task that is"
        } else {
            &format!("{} tasks that are", done.len())
        };
        Ok(Preview::new(format!("Delete {tasks} done?")).of_state(&done))
    }

    /// Asks the user to confirm the deletion of this task. If the task changes before the confirmed call arrives, the
    /// user is asked again.
    async fn preview_delete(
        &self,
        _context: Context,
        task_id: String,
    ) -> Result<Preview, TaskError> {
        let Task { task_id, title, version, .. } = self.store.get(task_id).await?;
        Ok(Preview::new(format!("Delete task '{task_id}', \"{title}\"?")).of_state(&version))
    }
}

#[operations]
impl Tasks {
    /// Create a task.
    #[operation(
        category = "CREATE",
        example = { "title": "Write the report", "priority": 2, "due_date": "2031-05-06" },
    )]
    async fn create_task(&self, task: Create<Task>) -> Result<Task, TaskError> {
        self.store.create(task).await
    }

    /// Get one task by its identifier.
    #[operation(category = "READ", example = { "task_id": "t-7" })]
    async fn get_task(
        &self,
        /// The task.
        task_id: String,
        fields: Fields<Task>,
    ) -> Result<SelectedFields<Task>, TaskError> {
        Ok(fields.of(self.store.get(task_id).await?))
    }

    /// List tasks, the oldest first.
    #[operation(
        category = "READ",
        example("overdue tasks, the most urgent first", {
            "filter": { "_computed.is_overdue": true },
            "sort": { "field": "priority" },
            "fields": ["task_id", "title", "due_date"],
            "first": 10,
        }),
        example("open tasks by status", {
            "filter": { "status": ["todo", "doing"] },
            "aggregate": { "by_status": { "group_by": "status", "count": true } },
        }),
    )]
    async fn list_tasks(
        &self,
        #[query(backend = store::capabilities())] query: CollectionQuery<Task>,
    ) -> Result<Page<SqlRecord<Task>>, TaskError> {
        self.store.list(query).await
    }

    /// Find tasks by words in their title, description and tags, the best match first.
    #[operation(
        category = "READ",
        example("either word, in tasks that are not done", {
            "query": "report invoice",
            "filter": { "status": { "ne": "done" } },
        }),
        example("the exact phrase", { "query": "\"write the report\"" }),
    )]
    async fn search_tasks(
        &self,
        #[query(backend = store::capabilities())] query: CollectionQuery<Task>,
    ) -> Result<Page<SqlRecord<Task>>, TaskError> {
        self.store.list(query).await
    }

    /// Link a task to another.
    #[operation(
        category = "CREATE",
        example = { "task_id": "t-7", "relationship": "composes", "target_id": "t-9" },
    )]
    async fn link_tasks(
        &self,
        /// The task.
        task_id: String,
        /// Kind of the link.
        relationship: Relationship,
        /// The other task.
        target_id: String,
    ) -> Result<Link, TaskError> {
        self.store.link(Link { task_id, relationship, target_id }).await
    }

    /// Follow the links between tasks.
    #[operation(category = "READ")]
    async fn query_relationships(
        &self,
        context: Context,
        query: RelationshipQuery<Task>,
    ) -> Result<RelationshipGraph, TaskError> {
        query.run(&self.store, &context).await
    }

    /// Change fields of a task. Fields that `input` omits stay unchanged, `null` removes a value.
    #[operation(
        category = "UPDATE",
        example = { "task_id": "t-7", "input": { "status": "done", "metadata": { "ticket": 12 } } },
        example("only if the version is still 3", {
            "task_id": "t-7", "input": { "due_date": null }, "if_match": 3,
        }),
    )]
    async fn update_task(
        &self,
        /// The task.
        task_id: String,
        input: Update<Task>,
        if_match: IfMatch<u64>,
    ) -> Result<Task, TaskError> {
        // The store runs `change` inside one transaction. No other process can change the task between the version
        // check and the write.
        let change = move |task: &mut Task| {
            if_match.check(&task.version)?;
            input.merge_into(task);
            // An update can add metadata but keep the rest. Without this limit, a task could grow until no reply can
            // hold it.
            let bytes = serde_json::to_string(task).map_err(OperationError::internal)?.len();
            if bytes > MAX_TASK_BYTES {
                let expected = format!("must leave the task with {MAX_TASK_BYTES} bytes or less");
                return Err(OperationError::invalid_value("input", expected));
            }
            Ok(())
        };
        self.store.change(task_id, change).await
    }

    /// Delete a task permanently.
    #[operation(
        category = "DELETE",
        danger(
            level = "destructive",
            reasons = ["The task and its links are removed"],
            confirmation_message = "Delete task '{task_id}'?",
        ),
        preview = preview_delete,
        example = { "task_id": "t-7" },
    )]
    async fn delete_task(
        &self,
        context: Context,
        /// The task.
        task_id: String,
    ) -> Result<Deleted, TaskError> {
        // The framework has compared the task with the confirmed one. Compare it again in the transaction that deletes
        // it, because it may have changed since.
        let is_confirmed = move |task: &Task| context.is_as_confirmed(&task.version);
        self.store.delete(task_id.clone(), is_confirmed).await?;
        Ok(Deleted { task_id })
    }

    /// Delete all tasks that are done.
    #[operation(
        category = "DELETE",
        danger(
            level = "dangerous",
            reasons = ["All tasks that are done are removed, with their links"],
            confirmation_message = "Delete all tasks that are done?",
        ),
        preview = preview_done,
    )]
    async fn delete_done_tasks(&self, context: Context) -> Result<DeletedMany, TaskError> {
        let is_confirmed = move |done: &[i64]| context.is_as_confirmed(done);
        Ok(DeletedMany { deleted: self.store.delete_done(is_confirmed).await? })
    }

    /// Export all tasks as text.
    #[operation(
        category = "EXECUTE",
        lifecycle(cancel, retry, progress),
        example = { "format": "csv" },
    )]
    async fn execute_export(
        &self,
        execution: ExecutionContext,
        /// Format of the export: one JSON object per line, or comma-separated values.
        format: Format,
    ) -> Result<Export, TaskError> {
        let mut export = Export::new(format);
        let (total, mut done, mut last) = (self.store.count().await?, 0, 0);
        loop {
            let tasks = self.store.after(last, EXPORT_BATCH_SIZE).await?;
            let Some((number, _)) = tasks.last() else { return Ok(export) };
            last = *number;
            for (_, task) in &tasks {
                export.push(task)?;
                done += 1;
            }
            // Tasks may be added during the export, so `done` can exceed the original total.
            execution.progress(f64::from(done), f64::from(total.max(done)), "exporting").await;
            // Check this in every loop of your own executions. Otherwise a canceled execution runs to its end.
            if execution.is_cancelled() {
                return Ok(export);
            }
        }
    }
}

/// Number of tasks to read between two checks for cancellation.
const EXPORT_BATCH_SIZE: u32 = 100;
