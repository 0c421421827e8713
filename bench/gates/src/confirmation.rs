//! Measures a confirmed call. It consists of two calls: the first is rejected with a token, the second repeats it with
//! the token.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use mcp_aql::store::SqliteState;
use mcp_aql::testing::TimeSource;
use mcp_aql::{Adapter, Policy};
use mcp_aql_bench::rows::Outcome;
use mcp_aql_bench::table::{Row, Target, Unit};
use mcp_aql_bench::{Result, Turns, in_turns};
use serde_json::{Map, Value};

use crate::Setup;
use crate::adapters::{adapter, arguments, good, handle, runtime};

/// Maximum number of tokens that a caller may request per minute.
const MAX_TOKENS_PER_MINUTE: usize = 100;

pub(crate) fn run(setup: Setup) -> Result<Outcome> {
    let folder = tempfile::tempdir()?;
    let plain = adapter(|builder| builder.policy(Policy::allow("delete_room")))?;
    let file = SqliteState::open(folder.path().join("state.db"));
    let row = |name: &str, what: &str, turns: Turns| Row {
        name: name.to_owned(),
        what: what.to_owned(),
        unit: Unit::Nanoseconds,
        turns,
        target: Target::None,
    };
    let clock = Clock::default();
    let time = clock.source();
    let memory = adapter(|builder| builder.time_source(time))?;
    let memory = turns(setup, &memory, &clock, &plain)?;
    let time = clock.source();
    let file = adapter(|builder| builder.store(file).time_source(time))?;
    let file = turns(Setup { steps: setup.steps / 20 + 1, ..setup }, &file, &clock, &plain)?;
    Ok(Outcome::Rows(vec![
        row("confirmation-memory", "confirmed DELETE, state in memory; not confirmed", memory),
        row("confirmation-sqlite", "confirmed DELETE, state in SQLite; not confirmed", file),
    ]))
}

fn turns(setup: Setup, gated: &Adapter, clock: &Clock, plain: &Adapter) -> Result<Turns> {
    let runtime = runtime()?;
    let call = |number: usize| delete(number, None);
    let gated = || {
        let mut elapsed = Duration::ZERO;
        for number in 0..setup.steps {
            if number % MAX_TOKENS_PER_MINUTE == 0 {
                clock.0.fetch_add(61, Ordering::Relaxed);
            }
            let first = call(number);
            let begun = Instant::now();
            let refused = runtime.block_on(handle(gated, first));
            elapsed += begun.elapsed();
            let refused: Value = serde_json::from_str(&refused.text)?;
            let token = refused.pointer("/error/details/confirmation_token").cloned();
            let again = delete(number, Some(token.ok_or_else(|| format!("no token: {refused}"))?));
            let begun = Instant::now();
            let done = runtime.block_on(handle(gated, again));
            elapsed += begun.elapsed();
            if !good(&done) {
                return Err(format!("an unexpected reply: {}", done.text).into());
            }
        }
        Ok(elapsed.as_nanos() as f64 / setup.steps as f64)
    };
    let plain = || {
        let mut elapsed = Duration::ZERO;
        for number in 0..setup.steps {
            let call = call(number);
            let begun = Instant::now();
            let done = runtime.block_on(handle(plain, call));
            elapsed += begun.elapsed();
            if !good(&done) {
                return Err(format!("an unexpected reply: {}", done.text).into());
            }
        }
        Ok(elapsed.as_nanos() as f64 / setup.steps as f64)
    };
    in_turns(setup.rounds, gated, plain)
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
