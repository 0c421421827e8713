//! What a caller can do.

use mcp_aql::prelude::*;

use crate::error::TaskError;
use crate::model::{Deleted, NewTask, Task};
use crate::store::TaskStore;

/// The operations on tasks.
pub(crate) struct Tasks {
    store: TaskStore,
}

impl Tasks {
    /// Operations on the tasks of this store.
    pub(crate) fn new(store: TaskStore) -> Self {
        Self { store }
    }
}

#[operations]
impl Tasks {
    /// Create a task.
    #[operation(
        category = "CREATE",
        example = { "title": "Write the report", "priority": 2, "due_date": "2031-05-06" },
    )]
    async fn create_task(&self, #[param(group)] task: NewTask) -> Result<Task, TaskError> {
        self.store.create(task).await
    }

    /// Get one task by its identifier.
    #[operation(category = "READ", example = { "task_id": "t-7" })]
    async fn get_task(
        &self,
        /// The task.
        task_id: String,
    ) -> Result<Task, TaskError> {
        self.store.get(task_id).await
    }

    /// List all tasks, the oldest first.
    #[operation(category = "READ", example = { "first": 10 })]
    async fn list_tasks(
        &self,
        context: Context,
        #[param(group)] paging: Paging,
    ) -> Result<Page<Task>, TaskError> {
        self.store.list(paging.size(&context), paging.after).await
    }

    /// Find tasks by words in their title, description and tags, the oldest first.
    #[operation(
        category = "READ",
        example("either word", { "query": "report invoice" }),
        example("the exact phrase", { "query": "\"write the report\"" }),
    )]
    async fn search_tasks(
        &self,
        context: Context,
        /// What to look for. A task is found when it holds any of the words; text in double quotes
        /// is one phrase. Upper and lower case are the same.
        #[param(min_length = 1, max_length = 500)]
        query: String,
        #[param(group)] paging: Paging,
    ) -> Result<Page<Task>, TaskError> {
        self.store.search(&query, paging.size(&context), paging.after).await
    }

    /// Change fields of a task. What `input` leaves out stays as it is, `null` removes.
    #[operation(
        category = "UPDATE",
        example = { "task_id": "t-7", "input": { "status": "done", "metadata": { "ticket": 12 } } },
        example("only as I have read it", {
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
        // The store runs this inside of one transaction, so that between the check and the write
        // nobody else changes the task.
        let change = move |task: &mut Task| {
            if_match.check(&task.version)?;
            input.merge_into(task);
            Ok(())
        };
        self.store.change(task_id, change).await
    }

    /// Delete a task for good.
    #[operation(category = "DELETE", example = { "task_id": "t-7" })]
    async fn delete_task(
        &self,
        /// The task.
        task_id: String,
    ) -> Result<Deleted, TaskError> {
        self.store.delete(task_id.clone()).await?;
        Ok(Deleted { task_id })
    }
}

/// The largest page.
const MAX_PAGE: u32 = 100;

/// Which page of a collection.
#[derive(Debug, ParamGroup)]
pub(crate) struct Paging {
    /// How many entries to return; more than 100 counts as 100.
    #[param(default = 20)]
    first: u32,
    /// Where to go on: `pageInfo.endCursor` of the page before.
    after: Option<String>,
}

impl Paging {
    /// How many entries the page has; the caller is told when that is less than it asked for.
    fn size(&self, context: &Context) -> u32 {
        if self.first > MAX_PAGE {
            context.warn(
                Warning::new(
                    "VALIDATION_PAGE_SIZE_WARNING",
                    format!("A page has '{MAX_PAGE}' entries at most; go on with 'after'"),
                )
                .severity(Severity::Low)
                .detail("first", self.first)
                .detail("limit", MAX_PAGE),
            );
        }
        self.first.min(MAX_PAGE)
    }
}
