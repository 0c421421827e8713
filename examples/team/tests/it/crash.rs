//! Kills one of two processes that share a PostgreSQL database, under load and while an execution runs.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use sqlx::{PgPool, Row as _};

use crate::service::{ALL_SCOPES, Caller, Data, eventually};

/// Number of tickets to create before the process is killed, and at least as many afterwards.
const TICKETS: usize = 150;
/// Number of concurrent callers that create tickets.
const WRITERS: usize = 8;
/// Number of concurrent callers that clean up projects.
const CLEANERS: usize = 4;
/// Maximum number of cleanups per caller. It is below the number of confirmations that a caller may request in a
/// minute.
const MAX_CLEANUPS: usize = 100;

/// The calls that the service acknowledged.
#[derive(Default)]
struct Acknowledged {
    tickets: Mutex<Vec<String>>,
    /// Number of successful replies per project whose cleanup was confirmed.
    cleanups: Mutex<BTreeMap<String, usize>>,
    is_over: AtomicBool,
}

impl Acknowledged {
    fn count(&self) -> usize {
        self.tickets.lock().unwrap().len()
    }

    /// Waits until this number of tickets is created.
    async fn reaches(&self, tickets: usize) {
        let reached = async {
            while self.count() < tickets {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        eventually(reached).await;
    }

    /// Creates tickets, alternating between both processes.
    async fn write(&self, callers: &[Caller; 2], project: &Value) {
        for caller in callers.iter().cycle() {
            if self.is_over.load(Ordering::Relaxed) {
                break;
            }
            let new = json!({ "project_id": project, "title": "Crash" });
            // The killed process does not respond. Try the other one.
            let Ok((_, reply)) = caller.try_call("create_ticket", new).await else { continue };
            assert_eq!(reply["success"], true, "{reply}");
            let id = reply["data"]["ticket"]["ticket_id"].as_str().unwrap().to_owned();
            self.tickets.lock().unwrap().push(id);
        }
    }

    /// Cleans up one project after another. Each confirmation token is sent to both processes at once.
    async fn clean(&self, callers: &[Caller; 2]) {
        for number in 0..MAX_CLEANUPS {
            if self.is_over.load(Ordering::Relaxed) {
                break;
            }
            let _ = self.clean_one(&callers[number % 2], callers).await;
        }
    }

    async fn clean_one(&self, asked: &Caller, callers: &[Caller; 2]) -> std::io::Result<()> {
        let (_, created) = asked.try_call("create_project", json!({ "name": "Cleanup" })).await?;
        let project = created["data"]["project"]["project_id"].as_str().unwrap().to_owned();
        let done = json!({ "project_id": project, "title": "Old", "status": "done" });
        asked.try_call("create_ticket", done).await?;
        let params = json!({ "project_id": project });
        let (_, reply) = asked.try_call("delete_done_tickets", params).await?;
        let token = &reply["error"]["details"]["confirmation_token"];
        assert!(token.is_string(), "{reply}");
        let params = json!({ "project_id": project, "_confirmation": token });
        let calls = callers.each_ref().map(|it| it.try_call("delete_done_tickets", params.clone()));
        let [one, other] = calls;
        let (one, other) = join(one, other).await;
        let replies = [one, other].into_iter().flatten();
        let succeeded = replies.filter(|(_, reply)| reply["success"] == true).count();
        self.cleanups.lock().unwrap().insert(project, succeeded);
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_loses_no_write_and_repeats_no_confirmed_call() {
    let Some(data) = Data::in_postgres().await else { return };
    let mut servers = [data.start().await, data.start().await];
    let members = (0..WRITERS).map(|number| {
        let token = data.token("acme", &format!("member-{number}"), ALL_SCOPES);
        servers.each_ref().map(|server| server.caller(&token))
    });
    let members: Vec<_> = members.collect();
    let project = members[0][0].data("create_project", json!({ "name": "Website" })).await;
    let project = &project["project"]["project_id"];

    let acknowledged = Acknowledged::default();
    let writers = members.iter().map(|callers| acknowledged.write(callers, project));
    let cleaners = members.iter().take(CLEANERS).map(|callers| acknowledged.clean(callers));
    let killer = async {
        acknowledged.reaches(TICKETS).await;
        servers[0].kill().await;
        // Calls in flight may still be acknowledged by the killed process, so count from here.
        acknowledged.reaches(acknowledged.count() + TICKETS).await;
        acknowledged.is_over.store(true, Ordering::Relaxed);
    };
    join(killer, join(join_all(writers), join_all(cleaners))).await;

    let pool = PgPool::connect(data.database_url.as_ref().unwrap()).await.unwrap();
    let tickets = "SELECT ticket_id FROM ticket WHERE title = 'Crash'";
    let stored: Vec<String> = sqlx::query_scalar(tickets).fetch_all(&pool).await.unwrap();
    for ticket in acknowledged.tickets.into_inner().unwrap() {
        assert!(stored.contains(&ticket), "{ticket} was acknowledged and is lost");
    }
    let cleanups = acknowledged.cleanups.into_inner().unwrap();
    assert!(cleanups.values().sum::<usize>() > 0, "{cleanups:?}");
    for (project, succeeded) in cleanups {
        let runs =
            "SELECT count(*), coalesce(sum(deleted), 0)::BIGINT FROM cleanup WHERE project_id = $1";
        let row = sqlx::query(runs).bind(&project).fetch_one(&pool).await.unwrap();
        let (runs, deleted): (i64, i64) = (row.get(0), row.get(1));
        // The killed process may have deleted the ticket without sending its reply.
        assert!(succeeded <= 1 && runs <= 1, "{project}: {succeeded} successes, {runs} runs");
        assert!(runs >= i64::try_from(succeeded).unwrap(), "{project} was not cleaned up");
        assert_eq!(deleted, runs, "{project}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_other_process_takes_over_a_caller() {
    let Some(data) = Data::in_postgres().await else { return };
    let mut servers = [data.start().await, data.start().await];
    let token = data.token("acme", "ada", ALL_SCOPES);
    let [ada, elsewhere] = servers.each_ref().map(|server| server.caller(&token));
    let bob = servers[1].caller(&data.token("globex", "bob", ALL_SCOPES));
    let project = ada.data("create_project", json!({ "name": "Website" })).await;
    let project = json!({ "project_id": project["project"]["project_id"] });
    let confirmation = ada.ask("delete_project", project.clone()).await;
    let page = json!({ "first": 1 });
    let cursor = ada.data("list_projects", page).await["pageInfo"]["endCursor"].clone();

    // The export waits for this lock, so it is still running when its process is killed.
    let pool = PgPool::connect(data.database_url.as_ref().unwrap()).await.unwrap();
    let mut lock = pool.begin().await.unwrap();
    sqlx::raw_sql("LOCK TABLE ticket IN ACCESS EXCLUSIVE MODE").execute(&mut *lock).await.unwrap();
    let begun = ada.data("export_tickets", json!({})).await;
    let id = json!({ "execution_id": begun["execution_id"] });
    assert_eq!(status_after(&ada, &id, "pending").await["status"], "running");
    servers[0].kill().await;
    lock.rollback().await.unwrap();

    // Once the lease has expired, the next `get_execution` reports the execution as interrupted.
    let ended = status_after(&elsewhere, &id, "running").await;
    assert_eq!(ended["status"], "failed", "{ended}");
    assert_eq!(ended["error"]["details"]["reason"], "interrupted", "{ended}");
    assert_eq!(bob.code("retry_execution", id.clone()).await, "NOT_FOUND_RESOURCE");
    elsewhere.data("retry_execution", id.clone()).await;
    let wait = json!({ "execution_id": begun["execution_id"], "wait_seconds": 30 });
    let retried = elsewhere.data("get_execution", wait).await;
    assert_eq!(retried["status"], "completed", "{retried}");

    // The other process also accepts the confirmation and the cursor, and lists the execution.
    let listed = elsewhere.data("list_executions", json!({})).await;
    assert_eq!(listed["items"][0]["execution_id"], begun["execution_id"], "{listed}");
    let rest = elsewhere.data("list_projects", json!({ "first": 10, "after": cursor })).await;
    assert_eq!(rest["items"], json!([]), "{rest}");
    let confirmed = json!({ "project_id": project["project_id"], "_confirmation": confirmation });
    elsewhere.data("delete_project", confirmed).await;
}

/// Waits until an execution no longer has this state, and returns it.
async fn status_after(caller: &Caller, id: &Value, status: &str) -> Value {
    let left = async {
        loop {
            let seen = caller.data("get_execution", id.clone()).await;
            if seen["status"] != status {
                break seen;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    eventually(left).await
}
