//! Measures how the number of operations affects the lookup by name and the time to build an adapter.

use std::time::Instant;

use mcp_aql::table::{
    Call, OperationEntry, OperationSpec, Outcome as CallOutcome, ParameterEntry, ParameterSpec,
    ReturnsSpec,
};
use mcp_aql::transport::CallScope;
use mcp_aql::{Adapter, BoxFuture, Operations, SemanticCategory};
use serde_json::json;

use super::Setup;
use super::dispatch::{READ, object};
use crate::Result;
use crate::measure::{Turns, in_turns, nanos_each_async, runtime};
use crate::table::{Outcome, Row, Target};

/// `N` operations. Their tables are written by hand, in the form that `#[operations]` generates.
struct Many<const N: usize>;

const FEW: usize = 5;
const MANY: usize = 10_000;
const PARAMETERS: &[ParameterEntry] =
    &[ParameterEntry::One(ParameterSpec::required::<u64>("number", "Number to be returned."))];

#[expect(clippy::indexing_slicing, reason = "in a constant it is checked while compiling")]
impl<const N: usize> Many<N> {
    const METHODS: [OperationEntry<Self>; N] = {
        let mut methods = [const { OperationEntry::new(spec(0), number) }; N];
        let mut index = 0;
        while index < N {
            methods[index] = OperationEntry::new(spec(index), number);
            index += 1;
        }
        methods
    };
}

impl<const N: usize> Operations for Many<N> {
    const OPERATIONS: &'static [OperationEntry<Self>] = &Self::METHODS;
}

fn number<const N: usize>(_: &Many<N>, mut call: Call) -> BoxFuture<'_, CallOutcome> {
    Box::pin(async move {
        let number: u64 = call.param()?;
        call.reply(number)
    })
}

const fn spec(index: usize) -> OperationSpec {
    OperationSpec::new(name(index), SemanticCategory::Read, "Return a number.")
        .parameters(PARAMETERS)
        .returns(ReturnsSpec::of::<u64, _>())
}

/// The names of the operations: `get_n0000`, `get_n0001` and so on.
#[expect(clippy::indexing_slicing, reason = "in a constant it is checked while compiling")]
const NAMES: &[[u8; 9]; MANY] = &{
    let mut names = [*b"get_n0000"; MANY];
    let mut index = 0;
    while index < MANY {
        let (mut rest, mut digit) = (index, 9);
        while rest > 0 {
            digit -= 1;
            names[index][digit] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        index += 1;
    }
    names
};

#[expect(clippy::indexing_slicing, reason = "in a constant it is checked while compiling")]
const fn name(index: usize) -> &'static str {
    match std::str::from_utf8(&NAMES[index]) {
        Ok(name) => name,
        Err(_) => "",
    }
}

fn adapter<const N: usize>() -> Result<Adapter> {
    Ok(Adapter::builder("many").operations(Many::<N>).without_config().build()?)
}

pub(super) fn run(setup: &Setup) -> Result<Outcome> {
    if setup.scale.many_operations { rows::<MANY>(setup) } else { rows::<100>(setup) }
}

fn rows<const N: usize>(setup: &Setup) -> Result<Outcome> {
    let runtime = runtime()?;
    let calls = setup.scale.calls;
    let few = adapter::<FEW>()?;
    let many = adapter::<N>()?;
    // Call five operations spread over the whole table. Only the lookup can make a difference.
    let turn = |adapter: &Adapter, count: usize| {
        nanos_each_async(
            &runtime,
            calls,
            |index| {
                let name = name(index % FEW * (count / FEW));
                object(json!({ "operation": name, "params": { "number": 7 } }))
            },
            |arguments| adapter.handle(READ, arguments, CallScope::default()),
            |reply| reply.text == r#"{"success":true,"data":7}"#,
        )
    };
    let mut build = Vec::new();
    for _ in 0..setup.scale.rounds {
        let clock = Instant::now();
        let adapter = adapter::<N>()?;
        build.push(clock.elapsed().as_nanos() as f64);
        drop(adapter);
    }
    Ok(Outcome::Rows(vec![
        Row::of_times(
            "routing",
            format!("call, {FEW} names among {N} operations; among {FEW}"),
            in_turns(setup.scale.rounds, || turn(&many, N), || turn(&few, FEW))?,
            Target::AtMost(1.25),
        ),
        Row::of_times(
            "routing-build",
            format!("build of an adapter with {N} operations"),
            Turns { ours: build, peer: Vec::new() },
            Target::Below(200e6),
        ),
    ]))
}
