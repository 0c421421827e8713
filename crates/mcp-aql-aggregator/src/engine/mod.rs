//! The query engine: chooses the servers, queries them concurrently within the deadline, and builds
//! the answer.

mod answer_builder;
mod check;
mod fan_out;
mod query;
mod state;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use crate::answer::Answer;
use crate::config::{Config, How, ServerConfig, Settings};
use crate::upstream::{Answers, Failure, Route, Upstream, VARIABLE};
pub(crate) use answer_builder::{json_length, shorten};
pub use check::{AnswerCheck, CallCheck, ServerCheck};
use mcp_aql_rank::texts::clean;
pub use query::{MAX_QUERY_CHARS, MAX_RESULTS, MIN_RESULTS, Query, QueryError};
pub(crate) use query::{check_query, check_results, out_of_bounds};
pub use state::{Percentiles, ServerCall, ServerMetrics, ServerState, ServerStatus};

/// Minimum time left for a query after it waited for its turn. With less, healthy servers would
/// time out.
const MIN_QUERY_TIME: Duration = Duration::from_millis(500);

/// A handle to all configured servers. It is cheap to clone.
///
/// Clones share the servers. These are started in the background and kept running until you call
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

/// A server with its settings for the engine.
struct Entry {
    name: String,
    weight: f64,
    /// `None` if the server is disabled.
    server: Option<Arc<dyn QueryServer>>,
}

/// The engine's view of a server. Tests replace it with fake servers.
trait QueryServer: Send + Sync + 'static {
    /// Calls the server's tools and returns their answers. Dropping the future cancels the calls.
    fn ask<'a>(
        &'a self,
        query: &'a str,
        until: Instant,
        route: &'a Route,
    ) -> BoxFuture<'a, Result<Answers, Failure>>;

    /// Waits until the server has started or failed to start.
    fn settled(&self) -> BoxFuture<'_, ()>;

    /// Ends the server.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// Returns the upstream itself.
    fn upstream(&self) -> Option<&Upstream>;
}

impl QueryServer for Upstream {
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

impl Aggregator {
    /// Starts the servers in the background and returns immediately. They run on the current tokio
    /// runtime.
    ///
    /// Call [`settled`](Self::settled) to wait for them. Otherwise a query leaves out servers that
    /// are still starting when its time is over.
    ///
    /// # Panics
    ///
    /// Panics if called outside of a tokio runtime.
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

    /// Queries the servers concurrently and ranks their results. Dropping the future cancels the
    /// calls.
    ///
    /// # Errors
    ///
    /// Returns a [`QueryError`] if the query is invalid or no server answered.
    pub async fn query(&self, query: Query) -> Result<Answer, QueryError> {
        let begun = Instant::now();
        let inner = &self.inner;
        let asked = inner.validate(&query)?;
        let route = match &query.route {
            None => inner.route.clone(),
            Some(Ok(route)) => route.clone(),
            Some(Err(_)) => return Err(QueryError::Loop),
        };
        let deadline = begun + inner.config.settings.deadline;
        let in_time = deadline - MIN_QUERY_TIME.min(inner.config.settings.deadline / 2);
        let _permit = match timeout_at(in_time, inner.queries.acquire()).await {
            Ok(Ok(permit)) => permit,
            Ok(Err(_)) => return Err(QueryError::Closed),
            Err(_) => return Err(QueryError::Busy),
        };
        let outcomes = inner.ask(&asked, deadline, route).await;
        inner.answer(&query, asked, outcomes, begun).await
    }

    /// Waits until none of the servers for this query is starting.
    ///
    /// # Errors
    ///
    /// Returns [`QueryError::Invalid`] or [`QueryError::UnknownServer`] immediately.
    pub async fn settled_for(&self, query: &Query) -> Result<(), QueryError> {
        let asked = self.inner.validate(query)?;
        let entries = asked.servers.iter().filter_map(|place| self.inner.servers.get(*place));
        join_all(entries.filter_map(|entry| entry.server.as_ref()).map(|server| server.settled()))
            .await;
        Ok(())
    }

    /// Waits until no server is starting. Call it before your first query, so that no server is left
    /// out because it starts slowly.
    pub async fn settled(&self) {
        let servers = self.inner.servers.iter().filter_map(|entry| entry.server.as_ref());
        join_all(servers.map(|server| server.settled())).await;
    }

    /// Returns the names of the enabled servers, in the order of the configuration.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let servers = self.inner.servers.iter().filter(|entry| entry.server.is_some());
        servers.map(|entry| entry.name.as_str())
    }

    /// Returns the state of each server. Use it to monitor your servers.
    pub fn servers(&self) -> Vec<ServerState> {
        self.inner.servers.iter().map(ServerState::of).collect()
    }

    /// Ends the servers and all processes that they have started. Queries fail from here on.
    pub async fn close(&self) {
        self.inner.queries.close();
        let servers = self.inner.servers.iter().filter_map(|entry| entry.server.as_ref());
        join_all(servers.map(|server| server.close())).await;
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.inner.config.settings
    }

    /// Returns the route of a query that starts at this aggregator.
    pub(crate) fn route(&self) -> &Route {
        &self.inner.route
    }
}

/// A query whose parameters were checked.
struct ValidQuery {
    /// The query without invisible characters.
    words: String,
    /// Maximum number of results.
    most: usize,
    /// Indices of the servers to query.
    servers: Vec<usize>,
}

impl Inner {
    fn validate(&self, query: &Query) -> Result<ValidQuery, QueryError> {
        check_query(&query.query)?;
        let most = match query.max_results {
            Some(count) => check_results(count)?,
            None => self.config.settings.max_results,
        };
        let words = clean(&query.query).into_owned();
        let servers = self.choose(query, &words)?;
        Ok(ValidQuery { words, most, servers })
    }
}

impl Entry {
    fn start(config: &ServerConfig, settings: &Arc<Settings>, route: &Route) -> Self {
        let server = (!config.disabled).then(|| {
            let upstream = Upstream::new(config.clone(), Arc::clone(settings), route.clone());
            upstream.start();
            upstream as Arc<dyn QueryServer>
        });
        Self { name: config.name.clone(), weight: config.settings.weight, server }
    }
}

/// Identifies a server among aggregators that query each other, by its name and its program or
/// host. Servers receive a hash of it. The string must not contain secrets, because they could be
/// guessed from the hash.
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

#[cfg(test)]
mod tests;
