//! Floods an adapter with agents that report too many actions under too many names, and that guess codes. Measures the
//! cost of each call.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use mcp_aql::OperationResult;
use mcp_aql::operator::{MemoryChannel, Operator};
use mcp_aql::prelude::*;
use mcp_aql::safety_loop::SafetyLoop;
use mcp_aql::store::{SqliteState, StateStore};
use mcp_aql::testing::TimeSource;
use serde_json::json;

use crate::Fault;
use crate::process::memory;
use crate::report::Report;

/// Maximum length of a hint, in characters.
const MAX_HINT_CHARS: usize = 4_000;
/// Maximum duration of a call.
const MAX_CALL_DURATION: Duration = Duration::from_secs(1);

/// An adapter under test, with its clock and its operator.
struct Flooded {
    adapter: Adapter,
    operator: Operator,
    ahead: Arc<AtomicI64>,
    store: Arc<SqliteState>,
    slowest: Duration,
}

impl Flooded {
    fn new(folder: &std::path::Path) -> Result<Self, Fault> {
        let ahead = Arc::new(AtomicI64::new(0));
        let clock = Arc::clone(&ahead);
        let time = TimeSource::default();
        let time = TimeSource::new(move || {
            let ahead = clock.load(Ordering::Relaxed);
            time.now() + Duration::from_secs(u64::try_from(ahead).unwrap_or_default())
        });
        let store = Arc::new(SqliteState::open(folder.join("state.db")));
        let patterns = |first: usize| {
            // Make matching expensive: all patterns begin like the longest hint.
            (first..200).step_by(2).map(|number| format!("deploy*of x{number}"))
        };
        let adapter = Adapter::builder("flooded")
            .store(Arc::clone(&store))
            .time_source(time)
            .safety_loop(
                SafetyLoop::new()
                    .deny(patterns(0).chain(["drop_*".to_owned()]))
                    .requires_approval(patterns(1))
                    .auto_approve(["read_*"])
                    .challenge_timeout(Duration::from_secs(24 * 60 * 60))
                    .channel(MemoryChannel::default()),
            )
            .without_config()
            .build()?;
        let operator = adapter.operator().ok_or("nobody operates it")?;
        Ok(Self { adapter, operator, ahead, store, slowest: Duration::ZERO })
    }

    async fn call(&mut self, operation: &str, params: serde_json::Value) -> OperationResult {
        let begun = Instant::now();
        let reply = self.adapter.call(operation, params).await;
        self.slowest = self.slowest.max(begun.elapsed());
        reply
    }

    /// Returns the duration of the slowest call since the last query.
    fn slowest(&mut self) -> Duration {
        std::mem::take(&mut self.slowest)
    }

    async fn step(&mut self, agent: &str, hint: &str) -> OperationResult {
        self.call(
            "record_execution_step",
            json!({ "element_name": agent, "next_action_hint": hint }),
        )
        .await
    }

    async fn begin(&mut self, agent: &str) -> Result<(), Fault> {
        self.ahead.fetch_add(2, Ordering::Relaxed);
        let reply = self.call("execute_agent", json!({ "element_name": agent })).await;
        let id = reply.data()["request_id"].as_str().ok_or_else(|| format!("{reply:?}"))?;
        self.operator.approve(id, "flood").await?;
        Ok(())
    }
}

pub(crate) async fn run(names: usize) -> Result<bool, Fault> {
    let folders = [tempfile::tempdir()?, tempfile::tempdir()?, tempfile::tempdir()?];
    let [first, second, third] = folders.each_ref().map(|folder| Flooded::new(folder.path()));
    let mut report = Report::default();
    hints(&mut first?, &mut report).await?;
    guesses(&mut second?, &mut report).await?;
    many(&mut third?, &mut report, names).await?;
    Ok(report.end())
}

fn took(report: &mut Report, what: &str, slowest: Duration) {
    report.check(
        what,
        format!("{:.2} ms", slowest.as_secs_f64() * 1e3),
        slowest < MAX_CALL_DURATION,
    );
}

async fn hints(flooded: &mut Flooded, report: &mut Report) -> Result<(), Fault> {
    report.part("hints");
    flooded.begin("hinter").await?;
    flooded.slowest();
    let reply = flooded.step("hinter", &"x ".repeat(500_000)).await;
    report.check("1 MB: rejected", reply.code().unwrap_or("–"), reply.code().is_some());
    took(report, "1 MB: took", flooded.slowest());
    for (what, unit) in [
        ("words", "deploy "),
        ("letters", "x"),
        ("parts of patterns", "deploy of x"),
        ("accents", "e\u{301}"),
        ("disguises", "а\u{200b}b"),
    ] {
        let hint: String = unit.chars().cycle().take(MAX_HINT_CHARS).collect();
        let reply = flooded.step("hinter", &hint).await;
        let answered = reply.is_success() || reply.code() != Some("INTERNAL_ERROR");
        report.check(&format!("{what}: answered"), answered, answered);
        took(report, &format!("{what}: took"), flooded.slowest());
    }
    Ok(())
}

async fn guesses(flooded: &mut Flooded, report: &mut Report) -> Result<(), Fault> {
    report.part("guesses");
    let mut noise = 88_172_645_463_325_252_u64;
    let (mut refused, tries) = (0, 2_000);
    for number in 0..tries {
        let text: String = (0..number % 200)
            .map(|_| {
                noise ^= noise << 13;
                noise ^= noise >> 7;
                noise ^= noise << 17;
                let limit = [0x7f, 0x7ff, 0xffff, 0x10_ffff][(noise >> 8) as usize % 4];
                char::from_u32((noise >> 16) as u32 % limit).unwrap_or('\u{1}')
            })
            .collect();
        let (operation, params) = match number % 4 {
            0 => ("confirm_operation", json!({ "confirmation_token": text })),
            1 => ("verify_challenge", json!({ "challenge_id": text, "code": "x" })),
            2 => ("abort_execution", json!({ "element_name": text, "execution_id": text })),
            _ => ("execute_agent", json!({ "element_name": text })),
        };
        if number % 4 == 3 {
            flooded.ahead.fetch_add(61, Ordering::Relaxed);
        }
        let reply = flooded.call(operation, params.clone()).await;
        if reply.code() == Some("INTERNAL_ERROR") {
            return Err(format!("{operation} {params}: {reply:?}").into());
        }
        refused += u64::from(!reply.is_success());
    }
    report.note("rejected", format!("{refused} of {tries}"));
    let reply = flooded.step(&"\u{1f600}".repeat(200), "read_notes").await;
    let code = reply.code().unwrap_or("–");
    report.check("a name that is too long", code, code == "VALIDATION_INVALID_VALUE");
    took(report, "slowest", flooded.slowest());
    Ok(())
}

async fn many(flooded: &mut Flooded, report: &mut Report, names: usize) -> Result<(), Fault> {
    report.part(&format!("{names} names"));
    let before = memory("self")?;
    let begun = Instant::now();
    let mut refused = 0;
    for number in 0..names {
        let reply = flooded
            .call("execute_agent", json!({ "element_name": format!("name-{number}") }))
            .await;
        refused += usize::from(!reply.is_success());
    }
    report.note("rejected", refused);
    report.note("seconds", format!("{:.1}", begun.elapsed().as_secs_f64()));
    took(report, "slowest", flooded.slowest());
    report.note("more memory (MiB)", memory("self")?.saturating_sub(before) >> 10);
    let kept = flooded.store.list("safety_agents", None, None, usize::MAX).await?;
    report.note("records", kept.len());
    let begun = Instant::now();
    let overview = flooded.operator.overview().await?;
    took(report, "overview", begun.elapsed());
    report.note("agents in the overview", overview.agents.len());
    // Choose a name that comes last in every list.
    let agent = "zz-last";
    // End another execution first, because the caller has reached the maximum number of executing agents.
    let reply = flooded.call("abort_execution", json!({ "element_name": "name-0" })).await;
    report.check("an execution is aborted", reply.is_success(), reply.is_success());
    flooded.ahead.fetch_add(61, Ordering::Relaxed);
    flooded.begin(agent).await?;
    flooded.slowest();
    let reply = flooded.step(agent, "read_notes").await;
    report.check("an agent continues", reply.is_success(), reply.is_success());
    took(report, "step", flooded.slowest());
    let reply = flooded.step(agent, "drop_table").await;
    report.check("an agent is stopped", reply.is_success(), reply.is_success());
    took(report, "block", flooded.slowest());
    let overview = flooded.operator.overview().await?;
    let seen = overview.blocks.iter().any(|block| block.agent == agent);
    report.check("the block is in the overview", seen, seen);
    let begun = Instant::now();
    flooded.operator.unblock(agent, "flood").await?;
    took(report, "unblock", begun.elapsed());
    Ok(())
}
