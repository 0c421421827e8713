//! What is learned from every message, whoever asked for it.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::secrets::Secrets;

/// So many samples of each kind are kept; all are counted.
const MOST_SAMPLES: usize = 5;
/// So much of each sample, in characters.
const LONGEST_SAMPLE: usize = 300;

/// Sees every message of every connection of a run.
#[derive(Debug, Default)]
pub struct Tap {
    seen: Mutex<Seen>,
    secrets: Arc<Secrets>,
}

/// What was seen.
#[derive(Debug, Default, Clone)]
pub(crate) struct Seen {
    /// Messages in all.
    pub(crate) messages: usize,
    /// Bytes of the longest.
    pub(crate) longest: usize,
    /// What is no JSON object in UTF-8: how many, and some of them.
    pub(crate) nonsense: Samples,
    /// Answers to no request, or to one that was answered.
    pub(crate) to_nobody: Samples,
    /// Messages without `jsonrpc: "2.0"`, or with both `result` and `error`, or neither.
    pub(crate) misshapen: Samples,
    /// Texts that show the inside of the program.
    pub(crate) leaks: Samples,
}

/// How many, and the first of them.
#[derive(Debug, Default, Clone)]
pub(crate) struct Samples {
    pub(crate) count: usize,
    pub(crate) first: Vec<String>,
}

impl Samples {
    pub(crate) fn add(&mut self, sample: &str) {
        self.count += 1;
        if self.first.len() < MOST_SAMPLES {
            self.first.push(sample.chars().take(LONGEST_SAMPLE).collect());
        }
    }
}

impl Tap {
    /// One whose samples are without these.
    pub(crate) fn new(secrets: Arc<Secrets>) -> Self {
        Self { seen: Mutex::default(), secrets }
    }

    /// What no sample may show.
    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// What was seen so far.
    pub(crate) fn seen(&self) -> Seen {
        self.lock().clone()
    }

    pub(crate) fn nonsense(&self, text: &[u8]) {
        self.lock().nonsense.add(&self.secrets.masked(&String::from_utf8_lossy(text)));
    }

    pub(crate) fn to_nobody(&self, message: &Value) {
        self.lock().to_nobody.add(&self.secrets.masked(&message.to_string()));
    }

    pub(crate) fn message(&self, text: &[u8], message: &Value) {
        let is_2_0 = message.get("jsonrpc").is_some_and(|version| version == "2.0");
        let parts = [message.get("result"), message.get("error")];
        let answers = parts.iter().flatten().count();
        let is_one_thing = match message.get("method") {
            Some(method) => method.is_string() && answers == 0,
            None => answers == 1,
        };
        let leak = crate::leaks::leak(message);
        let mut seen = self.lock();
        seen.messages += 1;
        seen.longest = seen.longest.max(text.len());
        if !is_2_0 || !is_one_thing {
            seen.misshapen.add(&self.secrets.masked(&message.to_string()));
        }
        if let Some(leak) = leak {
            seen.leaks.add(&self.secrets.masked(&leak));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
