//! Measures calls to child processes over pipes.

use std::time::Instant;

use serde_json::{Value, json};

use super::Setup;
use crate::Result;
use crate::measure::{in_turns, median};
use crate::server::{Server, Side, line, nanos_on_processor};
use crate::table::{Outcome, Row, Target, Unit};

/// Number of concurrent calls.
const WINDOW: usize = 64;

fn get_task(side: Side, id: usize) -> String {
    let params = json!({ "task_id": 1, "archived": false, "newer_than": 0 });
    line(id, "tools/call", &side.tool("get_task", params))
}

/// Measures calls one after another.
fn one_by_one(server: &mut Server, side: Side, calls: usize) -> Result<f64> {
    let request = get_task(side, 1);
    let expected = server.ask(&request)?.to_owned();
    check(side, &expected)?;
    let mut nanos = Vec::with_capacity(calls);
    for _ in 0..calls {
        let clock = Instant::now();
        let reply = server.ask(&request)?;
        nanos.push(clock.elapsed().as_nanos() as f64);
        if reply != expected {
            return Err(format!("another reply: {reply}").into());
        }
    }
    Ok(median(&nanos))
}

fn check(side: Side, reply: &str) -> Result {
    let record = side.result(&serde_json::from_str(reply)?)?;
    if record.get("title").and_then(Value::as_str) != Some("Write the report") {
        return Err(format!("a wrong reply: {reply}").into());
    }
    Ok(())
}

/// One of the concurrent calls, with its request and the expected reply.
struct Slot {
    request: String,
    reply: Vec<u8>,
}

/// Concurrent calls, distinguished by their ids. Once a call is answered, its slot sends the same request again.
pub(super) struct Flight {
    slots: Vec<Slot>,
}

impl Flight {
    pub(super) fn new(server: &mut Server, side: Side) -> Result<Self> {
        let mut slots = Vec::new();
        for id in 0..WINDOW {
            let request = get_task(side, id);
            let reply = server.ask(&request)?;
            check(side, reply)?;
            slots.push(Slot { reply: reply.trim_end().as_bytes().to_vec(), request });
        }
        Ok(Self { slots })
    }

    /// Runs a number of calls. Returns the calls per second.
    pub(super) fn fly(&self, server: &mut Server, calls: usize) -> Result<f64> {
        let mut left = calls.saturating_sub(WINDOW);
        let mut asked: String = self.slots.iter().map(|slot| slot.request.as_str()).collect();
        let mut text = Vec::new();
        let (mut answered, total) = (0, calls.max(WINDOW));
        let clock = Instant::now();
        while answered < total {
            if !asked.is_empty() {
                server.send(&asked)?;
                asked.clear();
            }
            server.receive(&mut text)?;
            for reply in text.split(|byte| *byte == b'\n').filter(|reply| !reply.is_empty()) {
                let slot = id_of(reply).and_then(|id| self.slots.get(id));
                let slot = slot
                    .filter(|slot| slot.reply == reply)
                    .ok_or_else(|| format!("a wrong reply: {}", String::from_utf8_lossy(reply)))?;
                answered += 1;
                if left > 0 {
                    left -= 1;
                    asked.push_str(&slot.request);
                }
            }
        }
        Ok(answered as f64 / clock.elapsed().as_secs_f64())
    }
}

/// Returns the id of a reply. It is near the beginning, so this is faster than parsing the reply.
fn id_of(reply: &[u8]) -> Option<usize> {
    let start = reply.windows(5).position(|part| part == b"\"id\":")? + 5;
    let digits = reply.get(start..)?.iter().take_while(|byte| byte.is_ascii_digit());
    digits.map(|digit| usize::from(digit - b'0')).reduce(|id, digit| id * 10 + digit)
}

/// Measures calls one after another with both programs, in nanoseconds.
fn sequential(
    setup: &Setup,
    (name, what): (&str, &str),
    target: Target,
    measure: fn(&mut Server, Side, usize) -> Result<f64>,
) -> Result<Outcome> {
    let calls = setup.scale.requests;
    let mut ours = Server::with_task(Side::Ours, &setup.programs)?;
    let mut peer = Server::with_task(Side::Peer, &setup.programs)?;
    Ok(Outcome::Rows(vec![Row::of_times(
        name,
        what,
        in_turns(
            setup.scale.rounds,
            || measure(&mut ours, Side::Ours, calls),
            || measure(&mut peer, Side::Peer, calls),
        )?,
        target,
    )]))
}

pub(super) fn latency(setup: &Setup) -> Result<Outcome> {
    let row = ("stdio-latency", "stdio, one call at a time, p50; rmcp");
    sequential(setup, row, Target::AtMost(0.25), one_by_one)
}

/// Measures the server's processor time per call, for calls one after another.
fn processor_time(server: &mut Server, side: Side, calls: usize) -> Result<f64> {
    let before = nanos_on_processor(server.id())?;
    one_by_one(server, side, calls)?;
    Ok((nanos_on_processor(server.id())? - before) / calls as f64)
}

pub(super) fn processor(setup: &Setup) -> Result<Outcome> {
    if nanos_on_processor(std::process::id()).is_err() {
        return Ok(Outcome::Skipped("/proc does not report processor time here"));
    }
    let row = ("stdio-processor", "stdio, one call at a time, processor time; rmcp");
    sequential(setup, row, Target::AtMost(0.5), processor_time)
}

pub(super) fn throughput(setup: &Setup) -> Result<Outcome> {
    let calls = setup.scale.requests * 4;
    let mut ours = Server::with_task(Side::Ours, &setup.programs)?;
    let mut peer = Server::with_task(Side::Peer, &setup.programs)?;
    let our_flight = Flight::new(&mut ours, Side::Ours)?;
    let peer_flight = Flight::new(&mut peer, Side::Peer)?;
    Ok(Outcome::Rows(vec![Row {
        name: "stdio-throughput".to_owned(),
        what: format!("stdio, {WINDOW} calls in flight; rmcp"),
        unit: Unit::PerSecond,
        turns: in_turns(
            setup.scale.rounds,
            || our_flight.fly(&mut ours, calls),
            || peer_flight.fly(&mut peer, calls),
        )?,
        target: Target::AtLeast(4.0),
    }]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_known_by_its_id() {
        assert_eq!(id_of(br#"{"jsonrpc":"2.0","id":63,"result":{}}"#), Some(63));
        assert_eq!(id_of(br#"{"jsonrpc":"2.0","result":{}}"#), None);
    }
}
