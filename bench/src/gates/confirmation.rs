//! Measures a confirmed call. It consists of two calls: the first is rejected with a token, the second repeats it with
//! the token.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use mcp_aql::store::SqliteState;
use mcp_aql::testing::TimeSource;
use mcp_aql::{Adapter, Policy};
use serde_json::{Map, Value};

use super::Setup;
use super::adapters::{adapter, arguments, good, handle};
use crate::measure::runtime;
use crate::table::{Outcome, Row, Target};
use crate::{Result, Turns, in_turns};

/// Maximum number of tokens that a caller may request per minute.
const MAX_TOKENS_PER_MINUTE: usize = 100;

pub(super) fn run(setup: &Setup) -> Result<Outcome> {
    let folder = tempfile::tempdir()?;
    let plain = adapter(|builder| builder.policy(Policy::allow("delete_room")))?;
    let file = SqliteState::open(folder.path().join("state.db"));
    let row = |name: &str, what: &str, turns: Turns| Row::of_times(name, what, turns, Target::None);
    let clock = Clock::default();
    let time = clock.source();
    let memory = adapter(|builder| builder.time_source(time))?;
    let memory = turns(setup, &memory, &clock, &plain)?;
    let time = clock.source();
    let file = adapter(|builder| builder.store(file).time_source(time))?;
    let file = turns(&Setup { steps: setup.steps / 20 + 1, ..*setup }, &file, &clock, &plain)?;
    Ok(Outcome::Rows(vec![
        row("confirmation-memory", "confirmed DELETE, state in memory; not confirmed", memory),
        row("confirmation-sqlite", "confirmed DELETE, state in SQLite; not confirmed", file),
    ]))
}

fn turns(setup: &Setup, gated: &Adapter, clock: &Clock, plain: &Adapter) -> Result<Turns> {
    let runtime = runtime()?;
    let timed = |adapter: &Adapter, call| {
        let begun = Instant::now();
        let reply = runtime.block_on(handle(adapter, call));
        (begun.elapsed(), reply)
    };
    let accepted = |adapter: &Adapter, call| {
        let (elapsed, reply) = timed(adapter, call);
        match good(&reply) {
            true => Ok(elapsed),
            false => Err(format!("an unexpected reply: {}", reply.text)),
        }
    };
    let confirmed = |number: usize| {
        if number.is_multiple_of(MAX_TOKENS_PER_MINUTE) {
            clock.0.fetch_add(61, Ordering::Relaxed);
        }
        let (elapsed, refused) = timed(gated, delete(number, None));
        let refused: Value = serde_json::from_str(&refused.text)?;
        let token = refused.pointer("/error/details/confirmation_token").cloned();
        let token = token.ok_or_else(|| format!("no token: {refused}"))?;
        Ok(elapsed + accepted(gated, delete(number, Some(token)))?)
    };
    let mean = |call: &dyn Fn(usize) -> Result<Duration>| {
        let elapsed = (0..setup.steps).map(call).sum::<Result<Duration>>()?;
        Ok(elapsed.as_nanos() as f64 / setup.steps as f64)
    };
    let plain = |number| Ok(accepted(plain, delete(number, None))?);
    in_turns(setup.rounds, || mean(&confirmed), || mean(&plain))
}

fn delete(number: usize, token: Option<Value>) -> Map<String, Value> {
    let mut params = Map::new();
    params.insert("number".to_owned(), number.into());
    if let Some(token) = token {
        params.insert("_confirmation".to_owned(), token);
    }
    arguments("delete_room", params.into())
}

/// A clock that stands still until the measurement advances it.
#[derive(Clone, Default)]
struct Clock(Arc<AtomicI64>);

impl Clock {
    fn source(&self) -> TimeSource {
        let clock = self.clone();
        let now = TimeSource::default();
        TimeSource::new(move || {
            let ahead = clock.0.load(Ordering::Relaxed);
            now.now() + Duration::from_secs(u64::try_from(ahead).unwrap_or_default())
        })
    }
}
