//! The adapter under load. Its replies identify the caller, so that mixed-up replies are detected.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use mcp_aql::prelude::*;
use mcp_aql::transport::HttpSettings;
use mcp_aql::{HttpOptions, SizeLimits};
use schemars::JsonSchema;
use serde::Serialize;

/// Number of live session states.
static SESSIONS: AtomicI64 = AtomicI64::new(0);
/// Number of running operations.
static WAITING: AtomicI64 = AtomicI64::new(0);

/// Counts as one in a counter until it is dropped.
struct Counted(&'static AtomicI64);

impl Counted {
    fn new(what: &'static AtomicI64) -> Self {
        what.fetch_add(1, Relaxed);
        Self(what)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// The state of a session, as kept by the adapter.
struct Kept {
    calls: AtomicU64,
    _counted: Counted,
}

impl Default for Kept {
    fn default() -> Self {
        Self { calls: AtomicU64::new(0), _counted: Counted::new(&SESSIONS) }
    }
}

/// The result of a call.
#[derive(Debug, Serialize, JsonSchema)]
struct Echo {
    /// The text of the call.
    nonce: String,
    /// The session's id.
    session: Option<String>,
    /// Number of calls in the session.
    calls: u64,
}

/// The resources that are still in use.
#[derive(Debug, Serialize, JsonSchema)]
struct Left {
    /// Number of session states that were not dropped.
    sessions: i64,
    /// Number of operations that have not ended.
    waiting: i64,
    /// Number of tasks of the runtime.
    tasks: usize,
}

/// Return the caller and the text of the call.
#[operation(category = "READ")]
fn get_echo(
    context: Context,
    /// Any text.
    nonce: String,
) -> Echo {
    let calls = context.session().map_or(0, |session| {
        let before = session.state::<Kept>().calls.fetch_add(1, Relaxed);
        before + 1
    });
    Echo { nonce, session: context.session().map(|session| session.id().to_owned()), calls }
}

/// Get a long text.
#[operation(category = "READ")]
fn get_bulk(
    /// Length in bytes.
    bytes: usize,
) -> String {
    "x".repeat(bytes)
}

/// Wait forever.
#[operation(category = "READ")]
async fn get_never() -> bool {
    let _waiting = Counted::new(&WAITING);
    std::future::pending().await
}

/// Work until the call is canceled.
#[operation(category = "EXECUTE")]
async fn execute_wait(context: Context) -> bool {
    let _waiting = Counted::new(&WAITING);
    context.cancelled().await;
    true
}

/// Panic.
#[operation(category = "EXECUTE")]
#[expect(clippy::panic, reason = "to see what becomes of it")]
fn execute_panic() -> bool {
    panic!("on purpose")
}

/// Return the resources in use.
#[operation(category = "READ")]
fn get_left() -> Left {
    Left {
        sessions: SESSIONS.load(Relaxed),
        waiting: WAITING.load(Relaxed),
        tasks: tokio::runtime::Handle::current().metrics().num_alive_tasks(),
    }
}

fn adapter() -> mcp_aql::Result<Adapter> {
    Ok(Adapter::builder("soak")
        .operation(get_echo {})
        .operation(get_bulk {})
        .operation(get_never {})
        .operation(execute_wait {})
        .operation(execute_panic {})
        .operation(get_left {})
        .limits(SizeLimits { max_response_size: 20 << 20, ..SizeLimits::default() })
        .without_config()
        .build()?)
}

/// Serves HTTP on a free port and prints the address.
pub(crate) async fn serve_http(sessions: usize, client_timeout: Duration) -> mcp_aql::Result {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    #[expect(clippy::print_stdout, reason = "whoever started it waits for this")]
    {
        println!("{}", listener.local_addr()?);
    }
    let options = HttpOptions::new().settings(HttpSettings {
        max_sessions: sessions,
        client_timeout,
        ..HttpSettings::default()
    });
    let stop = async {
        // Standard input is closed when the parent process exits.
        let mut input = tokio::io::stdin();
        let _ = tokio::io::copy(&mut input, &mut tokio::io::sink()).await;
    };
    adapter()?.serve_listener(listener, options, stop).await
}

/// Serves over standard input and output.
pub(crate) async fn serve_stdio() -> mcp_aql::Result {
    adapter()?.serve_stdio().await
}
