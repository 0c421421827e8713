//! Operations in addition to the generated ones of projects and tickets.

use mcp_aql::gatekeeper::Preview;
use mcp_aql::prelude::*;
use mcp_aql::query::sql::{SqlValue, Statement};
use mcp_aql::resource::{AccessMode, Database, Transaction as _};
use serde::Serialize;
use serde_json::json;

use crate::database::statement;

/// Number of tickets that an export reads at a time.
const EXPORT_BATCH_SIZE: i64 = 100;

/// The operations on the tickets of a database.
pub(crate) struct TeamOperations<D> {
    pub(crate) database: D,
}

/// The result of a cleanup.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Cleanup {
    /// Number of deleted tickets.
    deleted: usize,
}

/// Tickets as text.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Export {
    /// Number of exported tickets.
    tickets: u64,
    /// One ticket per line, as a list in JSON: identifier, status, title.
    content: String,
}

impl<D: Database> TeamOperations<D> {
    /// Runs one query in a transaction of its own.
    async fn read(&self, query: Statement) -> Result<Vec<Vec<SqlValue>>, OperationError> {
        Ok(self.database.begin(AccessMode::Read).await?.run(query).await?)
    }

    /// Asks the user to confirm the tickets that a cleanup would delete. If they change before the confirmed call
    /// arrives, the user is asked again.
    async fn preview_cleanup(
        &self,
        _context: Context,
        tenant: String,
        project_id: String,
    ) -> Result<Preview, OperationError> {
        let mut transaction = self.database.begin(AccessMode::Read).await?;
        let project = "SELECT name FROM project WHERE tenant = $1 AND project_id = $2";
        let rows = transaction.run(statement(project, [&tenant, &project_id])).await?;
        let Some([SqlValue::Text(name)]) = rows.first().map(Vec::as_slice) else {
            return Err(OperationError::not_found("project", project_id));
        };
        let done = "SELECT ticket_id FROM ticket
            WHERE tenant = $1 AND project_id = $2 AND status = 'done'";
        let rows = transaction.run(statement(done, [&tenant, &project_id])).await?;
        let tickets = sorted_texts(&rows);
        let question = format!("Delete {} done tickets of '{name}'?", tickets.len());
        Ok(Preview::new(question).of_state(&tickets))
    }
}

#[operations]
impl<D: Database> TeamOperations<D> {
    /// Delete the tickets of a project that are done.
    #[operation(
        category = "DELETE",
        scope = "team:cleanup",
        danger(level = "destructive", reasons = ["The tickets are removed permanently"]),
        preview = preview_cleanup,
        example = { "project_id": "p-1" },
    )]
    async fn delete_done_tickets(
        &self,
        context: Context,
        // The tenant comes from the caller's token. Never accept it as an ordinary parameter: callers could choose it.
        #[param(from_claim = "tenant")] tenant: String,
        /// The project.
        project_id: String,
    ) -> Result<Cleanup, OperationError> {
        let mut transaction = self.database.begin(AccessMode::Write).await?;
        let delete = "DELETE FROM ticket
            WHERE tenant = $1 AND project_id = $2 AND status = 'done' RETURNING ticket_id";
        let rows = transaction.run(statement(delete, [&tenant, &project_id])).await?;
        let tickets = sorted_texts(&rows);
        // The rows are already deleted in this transaction. Compare them with those that the user confirmed.
        if !context.is_as_confirmed(&tickets) {
            // Returning without a commit rolls the deletion back.
            return Err(OperationError::changed_since_confirmation("project"));
        }
        let deleted = tickets.len();
        let subject = context.principal().map_or("", |principal| principal.subject());
        let mut record = statement(
            "INSERT INTO cleanup (tenant, project_id, subject, deleted) VALUES ($1, $2, $3, $4)",
            [&tenant, &project_id, subject],
        );
        record.values.push(SqlValue::Int(i64::try_from(deleted).unwrap_or(i64::MAX)));
        transaction.run(record).await?;
        transaction.commit().await?;
        Ok(Cleanup { deleted })
    }

    /// Export the tickets of the team as text.
    #[operation(
        category = "EXECUTE",
        lifecycle(cancel, retry, progress),
        timeout_seconds = 300,
        example = {},
    )]
    async fn export_tickets(
        &self,
        execution: ExecutionContext,
        #[param(from_claim = "tenant")] tenant: String,
    ) -> Result<Export, OperationError> {
        let mut export = Export::default();
        let mut last = String::new();
        let count = statement("SELECT count(*) FROM ticket WHERE tenant = $1", [&tenant]);
        let total = match self.read(count).await?.concat().as_slice() {
            [SqlValue::Int(total)] => u64::try_from(*total).unwrap_or(0),
            _ => 0,
        };
        let batch = "SELECT ticket_id, status, title FROM ticket
            WHERE tenant = $1 AND ticket_id > $2 ORDER BY ticket_id LIMIT $3";
        while !execution.is_cancelled() {
            let mut select = statement(batch, [&tenant, &last]);
            select.values.push(SqlValue::Int(EXPORT_BATCH_SIZE));
            let rows = self.read(select).await?;
            let Some(id) = rows.last().and_then(|row| row.first()).and_then(text) else { break };
            id.clone_into(&mut last);
            for row in &rows {
                let cells: Vec<_> = row.iter().filter_map(text).collect();
                export.content.push_str(&json!(cells).to_string());
                export.content.push('\n');
                export.tickets += 1;
            }
            // Tickets may be added during the export.
            let total = total.max(export.tickets);
            execution.progress(export.tickets as f64, total as f64, "exporting").await;
        }
        Ok(export)
    }
}

/// Returns the strings of all cells in sorted order. The sort is needed because `RETURNING` has no defined order.
fn sorted_texts(rows: &[Vec<SqlValue>]) -> Vec<&str> {
    let mut texts: Vec<_> = rows.iter().flatten().filter_map(text).collect();
    texts.sort_unstable();
    texts
}

/// Returns the string in a cell.
fn text(value: &SqlValue) -> Option<&str> {
    match value {
        SqlValue::Text(text) => Some(text),
        _ => None,
    }
}
