//! Measures the programs as processes: start-up time, memory and file size.

use std::path::Path;
use std::time::Instant;

use super::Setup;
use super::stdio::Flight;
use crate::Result;
use crate::measure::{Turns, in_turns, median};
use crate::server::{Server, Side};
use crate::table::{Outcome, Row, Target, Unit};

fn started(side: Side, setup: &Setup) -> Result<f64> {
    let mut nanos = Vec::new();
    for _ in 0..setup.scale.starts {
        let clock = Instant::now();
        let server = Server::start(side, &setup.programs)?;
        nanos.push(clock.elapsed().as_nanos() as f64);
        drop(server);
    }
    Ok(median(&nanos))
}

pub(super) fn start(setup: &Setup) -> Result<Outcome> {
    Ok(Outcome::Rows(vec![Row::of_times(
        "start",
        "start until `initialize` is answered; rmcp",
        in_turns(setup.scale.rounds, || started(Side::Ours, setup), || started(Side::Peer, setup))?,
        Target::AtMost(1.1),
    )]))
}

/// Returns the peak memory of a process in bytes, or `None` if the system does not report it.
fn peak(process: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1_024.0)
}

pub(super) fn memory(setup: &Setup) -> Result<Outcome> {
    if peak(std::process::id()).is_none() {
        return Ok(Outcome::Skipped("/proc does not report peak memory here"));
    }
    let after_calls = |side| {
        let mut server = Server::with_task(side, &setup.programs)?;
        let flight = Flight::new(&mut server, side)?;
        flight.fly(&mut server, setup.scale.memory_calls)?;
        peak(server.id()).ok_or_else(|| "the server has exited".into())
    };
    Ok(Outcome::Rows(vec![Row {
        name: "memory".to_owned(),
        what: format!("peak memory after {} calls; rmcp", setup.scale.memory_calls),
        unit: Unit::Bytes,
        turns: in_turns(
            setup.scale.rounds,
            || after_calls(Side::Ours),
            || after_calls(Side::Peer),
        )?,
        target: Target::AtMost(1.1),
    }]))
}

pub(super) fn size(setup: &Setup) -> Result<Outcome> {
    let of = |program: &Path| Ok::<_, std::io::Error>(std::fs::metadata(program)?.len() as f64);
    Ok(Outcome::Rows(vec![Row {
        name: "size".to_owned(),
        what: "size of the program; rmcp".to_owned(),
        unit: Unit::Bytes,
        turns: Turns {
            ours: vec![of(&setup.programs.ours)?],
            peer: vec![of(&setup.programs.peer)?],
        },
        target: Target::AtMost(1.2),
    }]))
}
