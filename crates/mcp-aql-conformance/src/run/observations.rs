//! Collects facts from all replies of a run.

use std::sync::atomic::Ordering;

use serde_json::Value;
use tokio::time::Instant;

use super::Run;
use crate::adapter::Operation;
use crate::call::{Exchange, Reply};
use crate::sync::lock;
use crate::wire::Samples;
use crate::{harvest, leaks};

/// Maximum size of a result searched for file paths, in bytes.
const MAX_SEARCHED_BYTES: usize = 1 << 18;

/// The requests that an adapter may be unable to read.
#[derive(Debug, Default, Clone)]
pub(crate) struct UnreadableRequests {
    /// Number of such requests with a reply.
    pub(crate) answered: usize,
    /// Descriptions of such requests without a reply.
    pub(crate) silent: Vec<String>,
}

impl Run {
    /// Passes a call to the checks of every call, and tracks missing replies.
    pub(super) fn note(&self, exchange: &Exchange, (started, sent): (Instant, u64)) {
        self.health().note(exchange, started);
        self.note_gate(exchange);
        self.note_path(exchange);
        let is_endpoint = self.adapter.endpoints.iter().any(|tool| tool.name == exchange.tool);
        if let Some(obstacle) = exchange.error_obstacle().filter(|_| is_endpoint) {
            self.unread_error.get_or_init(|| obstacle);
        }
        self.resources.note(exchange, sent);
        for (look, cases) in &self.every {
            look(self, exchange, cases);
        }
        if let Some(data) = exchange.data()
            && exchange.operation() != "introspect"
        {
            let mut harvest = lock(&self.harvest);
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
                lock(&self.paths).add(&self.tap.secrets().masked(&text));
            }
        }
    }

    /// Returns the file paths in errors. Returns none if results of the adapter contain paths, too.
    pub(crate) fn paths(&self) -> Samples {
        if self.shows_paths.load(Ordering::Relaxed) {
            return Samples::default();
        }
        lock(&self.paths).clone()
    }

    fn note_gate(&self, exchange: &Exchange) {
        let ran = exchange.succeeded()
            || exchange.code().is_some_and(|code| {
                code.starts_with("NOT_FOUND_RESOURCE") || code.starts_with("CONFLICT_")
            });
        if exchange.code() == Some("CONFIRMATION_REQUIRED") {
            self.asks.get_or_init(|| exchange.operation().to_owned());
        } else if ran {
            lock(&self.let_run).insert(exchange.operation().to_owned());
        }
    }

    /// Returns the check that reports an unreadable error of a failure, and a description of the violation.
    pub(crate) fn unread_error(&self) -> Option<(&'static str, &'static str)> {
        self.unread_error.get().copied()
    }

    /// Returns an operation that required confirmation.
    pub(crate) fn asks(&self) -> Option<&str> {
        self.asks.get().map(String::as_str)
    }

    /// Returns `true` if an operation ran, or would have run on an existing item.
    pub(crate) fn was_let_run(&self, operation: &str) -> bool {
        lock(&self.let_run).contains(operation)
    }

    /// Returns the values with this name in results, except those of items reserved by checks.
    ///
    /// Values of the run's own items come first. Then follow values returned by the operations of their resource.
    pub(crate) fn harvested(&self, name: &str) -> Vec<Value> {
        let mut values = self.resources.shared(name);
        let harvest = lock(&self.harvest);
        let own = harvest.get(&harvest::own(name));
        for value in own.into_iter().chain(harvest.get(name)).flatten() {
            if !values.contains(value) && !self.resources.is_kept(name, value) {
                values.push(value.clone());
            }
        }
        values
    }

    /// Returns the string with which a search operation finds items.
    pub(crate) fn search_text(&self, operation: &str) -> Option<Value> {
        lock(&self.search_texts).get(operation).cloned()
    }

    /// Records a string with which a search operation finds items.
    pub(crate) fn note_search_text(&self, operation: &str, text: Value) {
        lock(&self.search_texts).insert(operation.to_owned(), text);
    }

    /// Returns the words of strings in results, in lower case.
    pub(crate) fn harvested_words(&self) -> Vec<String> {
        let harvest = lock(&self.harvest);
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

    /// Returns the values issued for this parameter to identify no item.
    pub(crate) fn missing_ids(&self, operation: &str, parameter: &str) -> Vec<Value> {
        let missing_ids = lock(&self.missing_ids);
        let of = (operation.to_owned(), parameter.to_owned());
        missing_ids.get(&of).cloned().unwrap_or_default()
    }

    pub(crate) fn note_missing_id(&self, operation: &str, parameter: &str, value: Value) {
        lock(&self.missing_ids)
            .entry((operation.to_owned(), parameter.to_owned()))
            .or_default()
            .push(value);
    }

    /// Returns `true` if this value was issued to identify no item, and still identifies none.
    pub(crate) fn is_missing_id(
        &self,
        operation: &Operation,
        parameter: &str,
        value: &Value,
    ) -> bool {
        self.missing_ids(&operation.name, parameter).contains(value)
            && !self.harvested(parameter).contains(value)
    }

    /// Returns `true` if this operation was called to create items for reading.
    pub(crate) fn was_created_for_reads(&self, operation: &str) -> bool {
        lock(&self.planted).contains(operation)
    }

    pub(crate) fn note_created_for_reads(&self, operation: &str) {
        lock(&self.planted).insert(operation.to_owned());
    }

    /// Records a request that the adapter may be unable to read, and if the adapter replied.
    pub(crate) fn note_unreadable(&self, what: &str, is_answered: bool) {
        let mut requests = lock(&self.unreadable);
        if is_answered {
            requests.answered += 1;
        } else {
            requests.silent.push(what.to_owned());
        }
    }

    /// Returns the requests so far that the adapter may be unable to read.
    pub(crate) fn unreadable(&self) -> UnreadableRequests {
        lock(&self.unreadable).clone()
    }
}
