//! One query: which servers are asked, all at once and for how long, and what their answers come to.

mod answering;
mod asking;
mod checking;
mod selecting;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use crate::answer::Answer;
use crate::config::{Config, How, ServerConfig, Settings};
use crate::plain::input::{check_query, check_results};
use crate::text::clean;
use crate::upstream::{Answers, Failure, Route, Upstream, VARIABLE};
pub(crate) use answering::{json_length, shorten};
pub use checking::{Checked, CheckedAnswer, CheckedCall};
pub use state::{Percentiles, ServerCall, ServerMetrics, ServerState, ServerStatus};

/// Whoever waited until less than this is left of a query's time is not asked any more: servers would be
/// given up that are not slow.
const WORTH_ASKING: Duration = Duration::from_millis(500);

/// All configured servers, behind one query.
///
/// Clones share the servers. They are started in the background and kept running until
/// [`close`](Self::close).
#[derive(Clone)]
pub struct Aggregator {
    inner: Arc<Inner>,
}

struct Inner {
    config: Config,
    servers: Vec<Entry>,
    route: Route,
    queries: Semaphore,
}

/// A server and what the engine has to know of it.
struct Entry {
    name: String,
    weight: f64,
    /// None where it is disabled.
    server: Option<Arc<dyn Server>>,
}

/// What the engine needs of a server.
trait Server: Send + Sync + 'static {
    /// The answers of its tools, or why there are none. Dropped: cancelled.
    fn ask<'a>(
        &'a self,
        query: &'a str,
        until: Instant,
        route: &'a Route,
    ) -> BoxFuture<'a, Result<Answers, Failure>>;

    /// It is no longer starting.
    fn settled(&self) -> BoxFuture<'_, ()>;

    /// Ends it.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// The upstream itself.
    fn upstream(&self) -> Option<&Upstream>;
}

impl Server for Upstream {
    fn ask<'a>(
        &'a self,
        query: &'a str,
        until: Instant,
        route: &'a Route,
    ) -> BoxFuture<'a, Result<Answers, Failure>> {
        Box::pin(Self::ask(self, query, until, route))
    }

    fn settled(&self) -> BoxFuture<'_, ()> {
        Box::pin(Self::settled(self))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(Self::close(self))
    }

    fn upstream(&self) -> Option<&Upstream> {
        Some(self)
    }
}

/// What is looked for, and where.
///
/// ```
/// use mcp_aql_aggregator::Query;
///
/// let query = Query::new("how do I pin a version").max_results(10).server("docs");
/// # let _ = query;
/// ```
#[derive(Debug, Clone)]
pub struct Query {
    pub(crate) query: String,
    pub(crate) max_results: Option<usize>,
    pub(crate) servers: Vec<String>,
    /// The aggregators that it came through, where it came through any.
    pub(crate) route: Option<Result<Route, Failure>>,
    /// All results that there may be, whatever they weigh: the caller cuts them into pages.
    pub(crate) whole: bool,
}

impl Query {
    /// A query of these words, to the servers that suit it.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            max_results: None,
            servers: Vec::new(),
            route: None,
            whole: false,
        }
    }

    /// Returns so many results at most: 10 to 100. Without it, as many as the configuration says.
    #[must_use]
    pub fn max_results(mut self, count: usize) -> Self {
        self.max_results = Some(count);
        self
    }

    /// Asks this server, and others named so, alone.
    #[must_use]
    pub fn server(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        if !self.servers.contains(&name) {
            self.servers.push(name);
        }
        self
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The query itself is at fault.
    #[error("Invalid query parameters: {field}: {reason}")]
    Invalid {
        /// The parameter, as the contract calls it.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// No server is configured that has this name.
    #[error("Invalid query parameters: servers: {reason}")]
    UnknownServer {
        /// As it was given.
        name: String,
        /// What is wrong with it, and which names there are.
        reason: String,
    },
    /// No server answered.
    #[error("Aggregation failed: all servers unavailable ({})", errors.join("; "))]
    AllFailed {
        /// Who was asked.
        attempted: Vec<String>,
        /// `server: cause`, for each.
        errors: Vec<String>,
    },
    /// No server can be asked: none is enabled, or none has a tool for it.
    #[error("Aggregation failed: no server can be asked ({})", errors.join("; "))]
    NoServer {
        /// `server: cause`, for each.
        errors: Vec<String>,
    },
    /// As many queries are running as there may be.
    #[error("Aggregation failed: too many queries at once")]
    Busy,
    /// The query has come through this aggregator before, or through too many.
    #[error("Aggregation failed: loop of aggregators")]
    Loop,
    /// The aggregator is closed.
    #[error("Aggregation failed: closed")]
    Closed,
    /// A fault of the aggregator's own.
    #[error("Aggregation failed: internal error")]
    Internal,
}

impl Aggregator {
    /// Starts the servers in the background, and returns at once. They run on the tokio runtime in which it
    /// is called.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(config: Config) -> Self {
        let described: Vec<_> = config.servers.iter().map(describe).collect();
        let mark = std::env::var(VARIABLE).ok();
        let route = Route::new(described.iter().map(String::as_str), mark.as_deref());
        let settings = Arc::new(config.settings.clone());
        let servers = config.servers.iter().map(|server| Entry::start(server, &settings, &route));
        Self::of(servers.collect(), config, route)
    }

    fn of(servers: Vec<Entry>, config: Config, route: Route) -> Self {
        let queries = Semaphore::new(config.settings.max_queries);
        Self { inner: Arc::new(Inner { config, servers, route, queries }) }
    }

    /// Asks the servers, all at once, and ranks what they give.
    ///
    /// Dropping the future cancels the calls.
    ///
    /// # Errors
    /// [`QueryError`]: the query is invalid, or no server answered.
    pub async fn query(&self, query: Query) -> Result<Answer, QueryError> {
        let begun = Instant::now();
        let inner = &self.inner;
        let asked = inner.read(&query)?;
        let route = match &query.route {
            None => inner.route.clone(),
            Some(Ok(route)) => route.clone(),
            Some(Err(_)) => return Err(QueryError::Loop),
        };
        let deadline = begun + inner.config.settings.deadline;
        let in_time = deadline - WORTH_ASKING.min(inner.config.settings.deadline / 2);
        let _permit = match timeout_at(in_time, inner.queries.acquire()).await {
            Ok(Ok(permit)) => permit,
            Ok(Err(_)) => return Err(QueryError::Closed),
            Err(_) => return Err(QueryError::Busy),
        };
        let outcomes = inner.ask(&asked, deadline, route).await;
        inner.answer(&query, asked, outcomes, begun).await
    }

    /// Waits until none of the servers that a query asks is starting any more.
    ///
    /// # Errors
    /// [`QueryError::Invalid`] and [`QueryError::UnknownServer`], at once.
    pub async fn settled_for(&self, query: &Query) -> Result<(), QueryError> {
        let asked = self.inner.read(query)?;
        let entries = asked.servers.iter().filter_map(|place| self.inner.servers.get(*place));
        join_all(entries.filter_map(|entry| entry.server.as_ref()).map(|server| server.settled()))
            .await;
        Ok(())
    }

    /// Waits until no server is starting any more.
    pub async fn settled(&self) {
        let servers = self.inner.servers.iter().filter_map(|entry| entry.server.as_ref());
        join_all(servers.map(|server| server.settled())).await;
    }

    /// The servers' names, in the configuration's order, without disabled ones.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let servers = self.inner.servers.iter().filter(|entry| entry.server.is_some());
        servers.map(|entry| entry.name.as_str())
    }

    /// How the servers do.
    pub fn servers(&self) -> Vec<ServerState> {
        self.inner.servers.iter().map(ServerState::of).collect()
    }

    /// Ends the servers with all that they have started. Queries fail from here on.
    pub async fn close(&self) {
        self.inner.queries.close();
        let servers = self.inner.servers.iter().filter_map(|entry| entry.server.as_ref());
        join_all(servers.map(|server| server.close())).await;
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.inner.config.settings
    }

    /// The way of a query from this aggregator itself.
    pub(crate) fn route(&self) -> &Route {
        &self.inner.route
    }
}

/// A query that was found to be in order.
struct Asked {
    /// Without what nobody sees.
    words: String,
    /// So many results at most.
    most: usize,
    /// Whom, by their places.
    servers: Vec<usize>,
}

impl Inner {
    fn read(&self, query: &Query) -> Result<Asked, QueryError> {
        check_query(&query.query)?;
        let most = match query.max_results {
            Some(count) => check_results(count)?,
            None => self.config.settings.max_results,
        };
        let words = clean(&query.query).into_owned();
        let servers = self.choose(query, &words)?;
        Ok(Asked { words, most, servers })
    }
}

impl Entry {
    fn start(config: &ServerConfig, settings: &Arc<Settings>, route: &Route) -> Self {
        let server = (!config.disabled).then(|| {
            let upstream = Upstream::new(config.clone(), Arc::clone(settings), route.clone());
            upstream.start();
            upstream as Arc<dyn Server>
        });
        Self { name: config.name.clone(), weight: config.settings.weight, server }
    }
}

/// What tells a server from others, for aggregators that ask each other: its name, and its program or host.
/// Servers are told a hash of it, so there is nothing in it that could be a secret and be guessed.
fn describe(server: &ServerConfig) -> String {
    let how = match &server.how {
        How::Command { command, .. } => command.as_str(),
        How::Http { url, .. } => {
            let after = url.split_once("://").map_or(url.as_str(), |(_, after)| after);
            let authority = after.split(['/', '?', '#']).next().unwrap_or_default();
            authority.rsplit('@').next().unwrap_or_default()
        }
    };
    format!("{}\n{how}", server.name)
}
