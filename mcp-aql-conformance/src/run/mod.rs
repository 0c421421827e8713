//! One adapter in one mode, and the calls that checks make.

mod protection;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};
use serde_json::{Map, Value};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::adapter::{Adapter, Operation};
use crate::call::{Exchange, RateLimitWait, Reply};
use crate::cases::{Cases, Skip};
use crate::category::{Category, Mode};
use crate::config::Settings;
use crate::nouns::is_identifier;
use crate::resources::Resources;
use crate::secrets::Secrets;
use crate::shape::{Shape, hits_nothing};
use crate::wire::{Connection, NoResponse, Samples, Tap, Target};
use crate::{harvest, leaks};

/// The number of consecutive requests without a reply after which the adapter counts as unresponsive.
const MAX_CONSECUTIVE_TIMEOUTS: usize = 3;
/// The maximum size of a result that is searched for file paths, in bytes.
const MAX_SEARCHED_BYTES: usize = 1 << 18;
/// The maximum number of concurrent cases of one check.
const CASES_AT_ONCE: usize = 16;
/// The maximum number of times that a closed connection is reopened.
const MAX_REOPENED: usize = 3;

/// The memory limit of all concurrent walks, in KiB.
pub(crate) const MAX_WALK_KIB: usize = 12 << 10;

/// A check of every call.
pub(crate) type ExchangeCheck = fn(&Run, &Exchange, &Cases);

/// The context of checks: the learned adapter, and methods for permitted calls.
pub(crate) struct Run {
    /// The learned adapter.
    pub(crate) adapter: Adapter,
    /// Permissions and fixtures.
    pub(crate) settings: Arc<Settings>,
    target: Arc<dyn Target>,
    asked_mode: Option<Mode>,
    tap: Arc<Tap>,
    connection: tokio::sync::RwLock<Arc<Connection>>,
    room: Semaphore,
    /// Limits requests of several megabytes to one at a time.
    heavy: Semaphore,
    /// The memory limit of all walks through collections, in KiB.
    pub(crate) room_for_walks: Semaphore,
    pub(crate) until: Instant,
    /// The extended deadline for calls.
    prolonged: OnceLock<Instant>,
    health: Mutex<Health>,
    /// Values in results by the name of their parameter.
    harvest: Mutex<BTreeMap<String, Vec<Value>>>,
    /// Values that identify no item, by operation and parameter.
    missing_ids: Mutex<BTreeMap<(String, String), Vec<Value>>>,
    /// File paths in errors that no request contained.
    paths: Mutex<Samples>,
    /// Whether results or introspection contain file paths as well, which makes them the adapter's subject.
    shows_paths: AtomicBool,
    /// The first operation that required confirmation.
    asks: OnceLock<String>,
    /// Operations that ran, or would have run on an existing item.
    let_run: Mutex<BTreeSet<String>>,
    /// CREATE operations that were called to have items to read.
    planted: Mutex<BTreeSet<String>>,
    /// The resources and the items that the run created.
    resources: Resources,
    /// The checks that examine every call.
    every: Vec<(ExchangeCheck, Arc<Cases>)>,
}

#[derive(Debug, Default)]
struct Health {
    silent: usize,
    /// The time when the last of them timed out.
    silent_since: Option<Instant>,
    reopened: usize,
    lost: Option<NoResponse>,
    /// The reasons why the adapter closed connections.
    deaths: Vec<String>,
}

impl std::fmt::Debug for Run {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Run").field("adapter", &self.adapter.name()).finish_non_exhaustive()
    }
}

/// The parts of a run.
pub(crate) struct RunParts {
    pub(crate) adapter: Adapter,
    pub(crate) settings: Arc<Settings>,
    pub(crate) target: Arc<dyn Target>,
    pub(crate) asked_mode: Option<Mode>,
    pub(crate) tap: Arc<Tap>,
    pub(crate) connection: Connection,
    pub(crate) until: Instant,
    pub(crate) every: Vec<(ExchangeCheck, Arc<Cases>)>,
}

impl Run {
    pub(crate) fn new(parts: RunParts) -> Self {
        let RunParts { adapter, settings, target, asked_mode, tap, connection, until, every } =
            parts;
        let at_once = at_once(&adapter, settings.in_flight);
        let resources = Resources::of(&adapter, &settings.file);
        let shows_paths = adapter
            .operations
            .iter()
            .any(|operation| leaks::path(&operation.details().to_string()).is_some());
        Self {
            adapter,
            settings,
            target,
            asked_mode,
            tap,
            connection: tokio::sync::RwLock::new(Arc::new(connection)),
            room: Semaphore::new(at_once),
            heavy: Semaphore::new(1),
            room_for_walks: Semaphore::new(MAX_WALK_KIB),
            until,
            prolonged: OnceLock::new(),
            health: Mutex::default(),
            harvest: Mutex::default(),
            missing_ids: Mutex::default(),
            shows_paths: AtomicBool::new(shows_paths),
            paths: Mutex::default(),
            asks: OnceLock::new(),
            let_run: Mutex::default(),
            planted: Mutex::default(),
            resources,
            every,
        }
    }

    /// Whether operations of this category may run.
    pub(crate) fn may(&self, category: Category) -> bool {
        category == Category::Read || self.settings.allowed.contains(&category)
    }

    /// The reason why this operation must not run, if any.
    pub(crate) fn forbids(&self, operation: &Operation) -> Option<Skip> {
        if let Some(left_out) = self.left_out(&operation.name) {
            return Some(Skip::LeftOut(left_out));
        }
        if operation.tool.is_empty() {
            return Some(without_tool(&operation.name));
        }
        if operation.is_read() {
            return None;
        }
        // An operation of the category READ that looks dangerous is treated as dangerous.
        let category = match operation.category {
            Some(Category::Read) | None => Category::Execute,
            Some(category) => category,
        };
        (!self.may(category)).then_some(Skip::NotAllowed(category))
    }

    /// Acquires the turn of a check with maximum-size requests. Several of them at once would take much
    /// memory.
    pub(crate) async fn heavy(&self) -> Option<SemaphorePermit<'_>> {
        self.heavy.acquire().await.ok()
    }

    fn left_out(&self, operation: &str) -> Option<String> {
        let named =
            |left_out: &&crate::config::Exclusion| left_out.operation.as_deref() == Some(operation);
        self.settings.file.skip.iter().find(named).map(|left_out| left_out.reason.clone())
    }

    /// Calls an operation with these parameters through its own tool. Skips the case if the call is not
    /// allowed.
    pub(crate) async fn call(
        &self,
        operation: &Operation,
        params: Map<String, Value>,
        cases: &Cases,
    ) -> Option<Exchange> {
        self.call_as(operation, arguments(&operation.name, params), cases).await
    }

    /// Calls an operation with complete arguments: `operation`, `params` and others.
    pub(crate) async fn call_as(
        &self,
        operation: &Operation,
        arguments: Value,
        cases: &Cases,
    ) -> Option<Exchange> {
        if let Some(why) =
            self.forbids(operation).or_else(|| self.ownership_skip_reason(operation, &arguments))
        {
            cases.skip(why);
            return None;
        }
        self.answered(&operation.tool, arguments, cases).await
    }

    /// Makes a call that must fail. Skips the case if the call could change data without permission in case
    /// it succeeds.
    pub(crate) async fn refused(
        &self,
        tool: &str,
        arguments: Value,
        cases: &Cases,
    ) -> Option<Exchange> {
        let no_tool = || {
            let operation = arguments.get("operation").and_then(Value::as_str);
            tool.is_empty().then(|| without_tool(operation.unwrap_or_default()))
        };
        if let Some(why) = no_tool().or_else(|| self.could_harm(&arguments)) {
            cases.skip(why);
            return None;
        }
        self.answered(tool, arguments, cases).await
    }

    /// Returns the reason not to make a call that should fail: if it succeeded, it would run an excluded,
    /// forbidden or foreign operation with its required parameters. Names are compared as loosely as
    /// careless adapters do.
    fn could_harm(&self, arguments: &Value) -> Option<Skip> {
        let items = arguments.get("operations").and_then(Value::as_array);
        for item in items.into_iter().flatten().chain([arguments]) {
            let name = item.get("operation").and_then(Value::as_str).unwrap_or_default().trim();
            let named = |operation: &&Operation| operation.name.eq_ignore_ascii_case(name);
            let Some(operation) = self.adapter.operations.iter().find(named) else { continue };
            if let Some(left_out) = self.left_out(&operation.name) {
                return Some(Skip::LeftOut(left_out));
            }
            if operation.is_read() {
                continue;
            }
            let lacks = self.lacks(operation, item);
            if let Some(why) = self.forbids(operation).filter(|_| !lacks) {
                return Some(why);
            }
            let aimed = self.aimed(operation, item);
            let why = self.ownership_skip_reason(operation, &aimed);
            if why.is_some() && !lacks && !self.lacks(operation, &aimed) {
                return why;
            }
        }
        None
    }

    /// An item of a request without values that identify nothing.
    fn aimed(&self, operation: &Operation, item: &Value) -> Value {
        let mut aimed = item.clone();
        for parameter in operation.required() {
            let shape = Shape::of(&self.adapter, parameter);
            let misses = |value: &Value| {
                let is_ours = value.as_str().is_some_and(|text| text.contains("conformance"));
                value.is_null()
                    || (hits_nothing(value)
                        && (is_ours || !shape.accepts(value))
                        && !self.harvested(&parameter.name).contains(value))
            };
            let nested = aimed.get_mut("params").and_then(Value::as_object_mut);
            if let Some(params) = nested
                && params.get(&parameter.name).is_some_and(misses)
            {
                params.remove(&parameter.name);
            }
            if let Some(beside) = aimed.as_object_mut()
                && beside.get(&parameter.name).is_some_and(misses)
            {
                beside.remove(&parameter.name);
            }
        }
        aimed
    }

    /// Whether the required parameters that select the affected data are missing. An operation without such
    /// parameters may affect all data.
    fn lacks(&self, operation: &Operation, item: &Value) -> bool {
        let given = |name: &str| {
            item.get(name).is_some()
                || item.get("params").is_some_and(|params| params.get(name).is_some())
        };
        // The configured values may be arbitrary.
        let is_named = self.is_named_whole(operation) && self.forbids(operation).is_none();
        let mut required = operation.required();
        let is_aimed = match operation.category {
            Some(Category::Create) => required.next().is_some(),
            _ => required.any(|parameter| {
                is_identifier(&parameter.name) || (is_named && parameter.kind == "string")
            }),
        };
        is_aimed && !operation.required().any(|parameter| given(&parameter.name))
    }

    /// Sends a call, and skips the case if the adapter is unresponsive. Waits and retries if the adapter
    /// limits the rate.
    async fn answered(&self, tool: &str, mut arguments: Value, cases: &Cases) -> Option<Exchange> {
        let mut rate_limit = RateLimitWait::default();
        loop {
            let exchange = self.send(tool, arguments, None).await;
            if let Some(lost) = exchange.no_response().filter(|_| !exchange.was_too_long()) {
                // The check `wire.answers` reports a single missing reply.
                cases.skip(Skip::CutShort(lost.to_string()));
                return None;
            }
            let Some(too_fast) = Skip::rate_limited(&exchange) else { return Some(exchange) };
            if !rate_limit.wait_if_limited(&exchange, Some(self.until)).await {
                cases.skip(too_fast);
                return None;
            }
            arguments = exchange.arguments;
        }
    }

    /// Sends a call without permission checks: for `introspect` and harmless calls.
    pub(crate) async fn send(&self, tool: &str, arguments: Value, meta: Option<Value>) -> Exchange {
        let room = self.room.acquire().await;
        let connection = match &room {
            Ok(_) => self.connection().await,
            Err(_) => Err(NoResponse::Closed("the run is over".to_owned())),
        };
        let connection = match connection {
            Ok(connection) => connection,
            Err(lost) => {
                return Exchange {
                    tool: tool.to_owned(),
                    arguments,
                    reply: Reply::NoResponse(lost),
                };
            }
        };
        let begun = self.begun();
        let exchange = Exchange::make(&connection, tool, arguments, meta).await;
        self.note(&exchange, begun);
        exchange
    }

    /// Calls `introspect`.
    pub(crate) async fn introspect(&self, params: Value) -> Exchange {
        let mut arguments = serde_json::json!({ "operation": "introspect", "params": params });
        let mut rate_limit = RateLimitWait::default();
        loop {
            let exchange = self.send(&self.adapter.introspect, arguments, None).await;
            if !rate_limit.wait_if_limited(&exchange, Some(self.until)).await {
                return exchange;
            }
            arguments = exchange.arguments;
        }
    }

    /// The connection, which is reopened if the adapter has closed it.
    pub(crate) async fn connection(&self) -> Result<Arc<Connection>, NoResponse> {
        if let Some(lost) = self.health().lost.clone() {
            return Err(lost);
        }
        if Instant::now() >= self.prolonged.get().copied().unwrap_or(self.until) {
            return Err(NoResponse::TimedOut(self.settings.limits.run));
        }
        let current = Arc::clone(&*self.connection.read().await);
        let Some(why) = current.ended() else { return Ok(current) };
        let mut place = self.connection.write().await;
        if place.ended().is_none() {
            return Ok(Arc::clone(&*place));
        }
        {
            let mut health = self.health();
            health.deaths.push(why.to_string());
            health.reopened += 1;
            if health.reopened > MAX_REOPENED || !matches!(why, NoResponse::Closed(_)) {
                health.lost = Some(why.clone());
                return Err(why);
            }
        }
        match self.open().await {
            Ok(opened) => {
                *place = Arc::new(opened);
                Ok(Arc::clone(&*place))
            }
            Err(lost) => {
                self.health().lost = Some(lost.clone());
                Err(lost)
            }
        }
    }

    /// Extends the time for calls, even beyond the time limit of the run.
    pub(crate) fn prolong(&self, by: Duration) {
        self.prolonged.get_or_init(|| self.until.max(Instant::now() + by));
    }

    /// The maximum number of concurrent requests.
    pub(crate) fn at_once(&self) -> usize {
        at_once(&self.adapter, self.settings.in_flight)
    }

    /// Opens another connection, which is another session.
    pub(crate) async fn open(&self) -> Result<Connection, NoResponse> {
        let limit = self.settings.limits.request;
        Connection::open(&*self.target, self.asked_mode, &self.tap, limit).await
    }

    /// Makes a permitted or harmless call on another connection.
    pub(crate) async fn send_on(
        &self,
        connection: &Connection,
        tool: &str,
        arguments: Value,
    ) -> Exchange {
        self.send_with(connection, tool, arguments, None).await
    }

    /// Makes such a call with `_meta` in the MCP request, such as a progress token.
    pub(crate) async fn send_with(
        &self,
        connection: &Connection,
        tool: &str,
        arguments: Value,
        meta: Option<Value>,
    ) -> Exchange {
        let begun = self.begun();
        let was_open = connection.ended().is_none();
        let exchange = Exchange::make(connection, tool, arguments, meta).await;
        if was_open && let Some(lost @ NoResponse::Closed(_)) = exchange.no_response() {
            self.health().deaths.push(lost.to_string());
        }
        self.note(&exchange, begun);
        exchange
    }

    /// The time of a call: by the clock, and by the number of calls before it.
    fn begun(&self) -> (Instant, u64) {
        (Instant::now(), self.resources.now())
    }

    /// Passes a call to the checks of every call, and tracks missing replies.
    fn note(&self, exchange: &Exchange, (started, sent): (Instant, u64)) {
        {
            let mut health = self.health();
            match exchange.no_response() {
                // Concurrent timeouts count as one.
                Some(NoResponse::TimedOut(limit))
                    if health.silent_since.is_none_or(|since| started >= since) =>
                {
                    health.silent += 1;
                    health.silent_since = Some(Instant::now());
                    if health.silent >= MAX_CONSECUTIVE_TIMEOUTS {
                        health.lost = Some(NoResponse::TimedOut(*limit));
                    }
                }
                Some(_) => {}
                None => {
                    health.silent = 0;
                    health.silent_since = None;
                }
            }
        }
        self.note_gate(exchange);
        self.note_path(exchange);
        self.resources.note(exchange, sent);
        for (look, cases) in &self.every {
            look(self, exchange, cases);
        }
        if let Some(data) = exchange.data()
            && exchange.operation() != "introspect"
        {
            let mut harvest = self.harvest.lock().unwrap_or_else(PoisonError::into_inner);
            harvest::harvest(exchange.operation(), data, &mut harvest);
        }
    }

    fn note_path(&self, exchange: &Exchange) {
        let Some(body) = exchange.body() else { return };
        if self.shows_paths.load(Ordering::Relaxed) {
            return;
        }
        if exchange.succeeded() && exchange.operation() != "introspect" {
            let raw = match &exchange.reply {
                Reply::Result { raw, .. } => raw.pointer("/content/0/text"),
                Reply::Protocol { .. } | Reply::NoResponse(_) => None,
            };
            let text = raw.and_then(Value::as_str).unwrap_or_default();
            if text.len() <= MAX_SEARCHED_BYTES && leaks::path(text).is_some() {
                self.shows_paths.store(true, Ordering::Relaxed);
            }
        }
        for text in leaks::errors_of(body) {
            let path = leaks::path(&text);
            if path.is_some_and(|path| !exchange.arguments.to_string().contains(path)) {
                let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
                paths.add(&self.tap.secrets().masked(&text));
            }
        }
    }

    /// File paths in errors, unless the adapter's results contain paths as well.
    pub(crate) fn paths(&self) -> Samples {
        if self.shows_paths.load(Ordering::Relaxed) {
            return Samples::default();
        }
        self.paths.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note_gate(&self, exchange: &Exchange) {
        let ran = exchange.succeeded()
            || exchange.code().is_some_and(|code| {
                code.starts_with("NOT_FOUND_RESOURCE") || code.starts_with("CONFLICT_")
            });
        if exchange.code() == Some("CONFIRMATION_REQUIRED") {
            self.asks.get_or_init(|| exchange.operation().to_owned());
        } else if ran {
            let mut let_run = self.let_run.lock().unwrap_or_else(PoisonError::into_inner);
            let_run.insert(exchange.operation().to_owned());
        }
    }

    /// An operation that required confirmation.
    pub(crate) fn asks(&self) -> Option<&str> {
        self.asks.get().map(String::as_str)
    }

    /// Whether an operation ran, or would have run on an existing item.
    pub(crate) fn was_let_run(&self, operation: &str) -> bool {
        let let_run = self.let_run.lock().unwrap_or_else(PoisonError::into_inner);
        let_run.contains(operation)
    }

    /// Values of this name in results: first those of the run's items, without items that checks have
    /// reserved.
    pub(crate) fn harvested(&self, name: &str) -> Vec<Value> {
        let mut values = self.resources.shared(name);
        let harvest = self.harvest.lock().unwrap_or_else(PoisonError::into_inner);
        for value in harvest.get(name).into_iter().flatten() {
            if !values.contains(value) && !self.resources.is_kept(name, value) {
                values.push(value.clone());
            }
        }
        values
    }

    /// The words of texts in results, in lower case.
    pub(crate) fn harvested_words(&self) -> Vec<String> {
        let harvest = self.harvest.lock().unwrap_or_else(PoisonError::into_inner);
        let mut words = Vec::new();
        for text in harvest.values().flatten().filter_map(Value::as_str) {
            for word in text.split(|letter: char| !letter.is_alphabetic()) {
                let word = word.to_lowercase();
                if (4..=20).contains(&word.len()) && !words.contains(&word) {
                    words.push(word);
                }
            }
        }
        words
    }

    /// The values that identify no item, issued for this parameter.
    pub(crate) fn missing_ids(&self, operation: &str, parameter: &str) -> Vec<Value> {
        let missing_ids = self.missing_ids.lock().unwrap_or_else(PoisonError::into_inner);
        let of = (operation.to_owned(), parameter.to_owned());
        missing_ids.get(&of).cloned().unwrap_or_default()
    }

    pub(crate) fn note_missing_id(&self, operation: &str, parameter: &str, value: Value) {
        let mut missing_ids = self.missing_ids.lock().unwrap_or_else(PoisonError::into_inner);
        missing_ids.entry((operation.to_owned(), parameter.to_owned())).or_default().push(value);
    }

    /// Whether this value was issued to identify no item, and still does not.
    pub(crate) fn is_missing_id(
        &self,
        operation: &Operation,
        parameter: &str,
        value: &Value,
    ) -> bool {
        self.missing_ids(&operation.name, parameter).contains(value)
            && !self.harvested(parameter).contains(value)
    }

    /// The resources and the items that the run created.
    pub(crate) fn resources(&self) -> &Resources {
        &self.resources
    }

    /// Whether items were created with this operation to have items to read.
    pub(crate) fn was_created_for_reads(&self, operation: &str) -> bool {
        self.planted.lock().unwrap_or_else(PoisonError::into_inner).contains(operation)
    }

    pub(crate) fn note_created_for_reads(&self, operation: &str) {
        let mut planted = self.planted.lock().unwrap_or_else(PoisonError::into_inner);
        planted.insert(operation.to_owned());
    }

    /// The secrets that reports must not contain.
    pub(crate) fn secrets(&self) -> &Secrets {
        self.tap.secrets()
    }

    /// The statistics of all messages so far.
    pub(crate) fn seen(&self) -> crate::wire::MessageStatistics {
        self.tap.seen()
    }

    /// The reasons why the adapter closed connections.
    pub(crate) fn deaths(&self) -> Vec<String> {
        self.health().deaths.clone()
    }

    pub(crate) fn into_parts(self) -> (Adapter, Arc<Connection>) {
        (self.adapter, self.connection.into_inner())
    }

    /// The reason why the adapter no longer answers, if it does not.
    pub(crate) fn no_response(&self) -> Option<NoResponse> {
        self.health().lost.clone()
    }

    fn health(&self) -> std::sync::MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A name of no operation.
    pub(crate) fn absent_operation(&self) -> String {
        let mut name = "get_conformance_probe".to_owned();
        while self.adapter.operation(&name).is_some() {
            name.push('x');
        }
        name
    }

    /// A name that is not a parameter of this operation.
    pub(crate) fn absent_parameter(&self, operation: &Operation) -> String {
        let mut name = "conformance_probe".to_owned();
        while operation.parameter(&name).is_some() {
            name.push('x');
        }
        name
    }
}

/// The reason to skip the calls of an operation whose tool introspection does not name.
fn without_tool(operation: &str) -> Skip {
    Skip::NoFixture(format!("introspection has no `mcpTool` for `{operation}`"))
}

/// The maximum number of concurrent requests in the adapter's concurrency category (REQ-CON-01,
/// REQ-CON-04).
fn at_once(adapter: &Adapter, most: usize) -> usize {
    let protocol = adapter.protocol();
    if protocol.get("concurrency").is_some_and(|category| category == "serialized") {
        return 1;
    }
    let stated = protocol.get("max_concurrent_requests").and_then(Value::as_u64);
    let stated = stated.and_then(|stated| usize::try_from(stated).ok()).unwrap_or(most);
    stated.clamp(1, most)
}

/// Runs all futures, some of them concurrently. They are collected first, so that the returned future is
/// `Send`.
pub(crate) fn do_all<F: Future<Output = ()>>(jobs: impl IntoIterator<Item = F>) -> All<F> {
    let jobs: Vec<F> = jobs.into_iter().collect();
    stream::iter(jobs).for_each_concurrent(CASES_AT_ONCE, std::convert::identity)
}

type All<F> = stream::ForEachConcurrent<stream::Iter<std::vec::IntoIter<F>>, F, fn(F) -> F>;

/// The arguments of a call: `operation` and `params`.
pub(crate) fn arguments(operation: &str, params: Map<String, Value>) -> Value {
    Value::Object(Map::from_iter([
        ("operation".to_owned(), operation.into()),
        ("params".to_owned(), params.into()),
    ]))
}
