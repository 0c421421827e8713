//! The invariants: no acknowledged call is lost, no call takes effect twice, and every interrupted call is logged.

use std::collections::HashMap;

use serde_json::Value;

use super::client::{Kind, Outcome, SHUTTING_DOWN};
use super::ledger::Entries;
use super::server::Log;

/// How the process that received a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessEnd {
    /// The process kept running.
    None,
    /// The process was killed (SIGKILL). It had no time to write to the log.
    Killed,
    /// The process was stopped (SIGTERM), with enough time to finish all calls. `accepted` is `true` if it had
    /// certainly read the call before.
    Drained { accepted: bool },
    /// The process was stopped (SIGTERM), with too little time to finish the call.
    CutOff,
}

/// A sent call, with everything known about it.
pub(super) struct Call {
    pub(super) id: String,
    pub(super) kind: Kind,
    pub(super) outcome: Outcome,
    /// The log of the process that received the call.
    pub(super) log: Log,
    pub(super) end: ProcessEnd,
    /// The final state of the execution, once it was read.
    pub(super) status: Option<String>,
}

/// The class of a call's outcome, according to the client and the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Acknowledged,
    /// The client received an error that says that the call did not run.
    Refused,
    /// The client received an error, and the log has a line about it.
    Failed,
    /// The client received no response, because the process was killed, or stopped before it read the call.
    Lost,
    /// The client received no response, and the log has a line about it.
    CutOff,
}

/// The numbers of calls.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) calls: usize,
    pub(super) acknowledged: usize,
    pub(super) refused: usize,
    pub(super) failed: usize,
    pub(super) lost: usize,
    pub(super) cut_off: usize,
    /// Number of calls that only wrote their first entry.
    pub(super) halves: usize,
    /// Number of executions that completed.
    pub(super) completed: usize,
}

impl Call {
    /// Returns the id of the execution that the call started.
    pub(super) fn execution(&self) -> Option<&str> {
        self.outcome.execution()
    }

    fn is_drained(&self) -> bool {
        matches!(self.end, ProcessEnd::Drained { .. })
    }

    /// Returns `true` if the log has a warning or an error with the operation, the execution or the correlation id of
    /// the call.
    fn is_logged(&self) -> bool {
        let correlation_id = match &self.outcome {
            Outcome::Failed(error) => error["details"]["correlation_id"].as_str(),
            _ => None,
        };
        let text = correlation_id.or(self.execution()).unwrap_or(self.kind.operation());
        // Search with the space. Otherwise `ERROR` would match the error code.
        ["WARN ", "ERROR "].iter().any(|level| self.log.count(&[level, text]) > 0)
    }

    /// Returns the number of log lines that say that the process stopped without waiting for the call or its execution.
    fn cut_off_lines(&self) -> usize {
        let label = format!("client_request_id=\"{}\"", self.id);
        self.log.count(&["WARN", "cut off", self.execution().unwrap_or(&label)])
    }

    fn class(&self) -> Result<Class, String> {
        let cut_off = self.cut_off_lines();
        if cut_off != usize::from(self.end == ProcessEnd::CutOff) {
            return Err(format!("the log says {cut_off} times that it was cut off"));
        }
        let logged = |class| match self.is_logged() {
            true => Ok(class),
            false => Err("no line in the log".to_owned()),
        };
        match &self.outcome {
            Outcome::Acknowledged(_) => Ok(Class::Acknowledged),
            _ if self.end == (ProcessEnd::Drained { accepted: true }) => {
                Err("the process did not wait for it".to_owned())
            }
            Outcome::Failed(error) if is_refusal(error) => Ok(Class::Refused),
            Outcome::Failed(error) if error["code"] == "INTERNAL_ERROR" && !self.is_drained() => {
                logged(Class::Failed)
            }
            Outcome::Failed(_) => Err("an unexpected error".to_owned()),
            Outcome::Lost if self.end == ProcessEnd::Killed || self.is_drained() => Ok(Class::Lost),
            Outcome::Lost => logged(Class::CutOff),
        }
    }

    /// Compares the entries of a call with its outcome.
    fn check(&self, entries: Entries) -> Result<Class, String> {
        let class = self.class()?;
        if !entries.is_single() {
            return Err("it ran twice".to_owned());
        }
        let whole = match (self.kind, &self.outcome) {
            (Kind::Read, Outcome::Acknowledged(data)) if *data != self.id => {
                return Err("the reply to another call".to_owned());
            }
            (Kind::Execution, Outcome::Acknowledged(_)) => match self.status.as_deref() {
                Some("completed") => true,
                Some("failed" | "cancelled") if !self.is_drained() => false,
                other => return Err(format!("the execution is {other:?}")),
            },
            (kind, _) => class == Class::Acknowledged && kind != Kind::Read,
        };
        if whole && entries != Entries::WHOLE {
            return Err("it was acknowledged, but its entries are missing".to_owned());
        }
        let did_not_run = class == Class::Refused || class == Class::Lost && self.is_drained();
        if (did_not_run || self.kind == Kind::Read) && entries != Entries::NONE {
            return Err("it was rejected, but it ran".to_owned());
        }
        if entries.is_half() && self.end != ProcessEnd::Killed && !self.is_logged() {
            return Err("it was cut off without a line in the log".to_owned());
        }
        Ok(class)
    }
}

/// Returns `true` if the error says that the call did not run.
fn is_refusal(error: &Value) -> bool {
    let is_shutdown = || {
        let text = error["message"].as_str().unwrap_or_default();
        error["status"] == 503 && text.contains(SHUTTING_DOWN)
    };
    error["details"]["operation_ran"] == false
        || is_shutdown()
        || error["code"].as_str().is_some_and(|code| code.starts_with("TOKEN_"))
}

/// Checks all calls. Returns their numbers, and one sentence per violation.
pub(super) fn check(calls: &[Call], ledger: &HashMap<String, Entries>) -> (Tally, Vec<String>) {
    let (mut tally, mut violations) = (Tally::default(), Vec::new());
    for call in calls {
        let entries = ledger.get(&call.id).copied().unwrap_or_default();
        tally.calls += 1;
        tally.halves += usize::from(entries.is_half());
        tally.completed += usize::from(call.status.as_deref() == Some("completed"));
        match call.check(entries) {
            Ok(Class::Acknowledged) => tally.acknowledged += 1,
            Ok(Class::Refused) => tally.refused += 1,
            Ok(Class::Failed) => tally.failed += 1,
            Ok(Class::Lost) => tally.lost += 1,
            Ok(Class::CutOff) => tally.cut_off += 1,
            Err(violation) => violations.push(format!(
                "{} {}: {violation}: {:?}, {entries:?}, {:?}\n{}",
                call.kind.as_str(),
                call.id,
                call.outcome,
                call.status,
                call.log.tail()
            )),
        }
    }
    (tally, violations)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HALF: Entries = Entries { begun: 1, ended: 0 };

    fn call(kind: Kind, outcome: Outcome) -> Call {
        let (log, end) = (Log::default(), ProcessEnd::None);
        Call { id: "1".into(), kind, outcome, log, end, status: None }
    }

    fn acknowledged(kind: Kind) -> Call {
        call(kind, Outcome::Acknowledged(json!("1")))
    }

    fn failed(error: Value) -> Call {
        call(Kind::Stateless, Outcome::Failed(error))
    }

    fn ended(status: &str) -> Call {
        let outcome = Outcome::Acknowledged(json!({ "execution_id": "exec_1" }));
        Call { status: Some(status.to_owned()), ..call(Kind::Execution, outcome) }
    }

    fn logged(mut call: Call, line: &str) -> Call {
        call.log = Log::of(&[&format!("WARN {line}")]);
        call
    }

    #[test]
    fn violations_are_found() {
        let internal = || json!({ "code": "INTERNAL_ERROR", "details": { "correlation_id": "c" } });
        let refused = || json!({ "code": "INTERNAL_ERROR", "details": { "operation_ran": false } });
        let twice = Entries { begun: 2, ended: 2 };
        let killed = || Call { end: ProcessEnd::Killed, ..call(Kind::Session, Outcome::Lost) };
        for (case, call, entries, holds) in [
            ("acknowledged and written", acknowledged(Kind::Session), Entries::WHOLE, true),
            ("acknowledged and lost", acknowledged(Kind::Session), Entries::NONE, false),
            ("acknowledged and half", acknowledged(Kind::Stateless), HALF, false),
            ("acknowledged and doubled", acknowledged(Kind::Confirmed), twice, false),
            ("a READ", acknowledged(Kind::Read), Entries::NONE, true),
            (
                "the reply to another READ",
                logged(call(Kind::Read, Outcome::Acknowledged(json!("2"))), ""),
                Entries::NONE,
                false,
            ),
            ("failed without a line", failed(internal()), Entries::NONE, false),
            ("failed with a line", logged(failed(internal()), "correlation_id=c"), HALF, true),
            ("failed and doubled", logged(failed(internal()), "correlation_id=c"), twice, false),
            ("refused", failed(refused()), Entries::NONE, true),
            ("refused and written", failed(refused()), Entries::WHOLE, false),
            (
                "refused for its token",
                failed(json!({ "code": "TOKEN_EXPIRED" })),
                Entries::NONE,
                true,
            ),
            (
                "another error",
                failed(json!({ "code": "NOT_FOUND_RESOURCE" })),
                Entries::NONE,
                false,
            ),
            ("lost without a line", call(Kind::Session, Outcome::Lost), Entries::NONE, false),
            (
                "lost with a line",
                logged(call(Kind::Session, Outcome::Lost), "operation=create_entries"),
                HALF,
                true,
            ),
            ("killed", killed(), HALF, true),
            ("killed and doubled", killed(), twice, false),
            ("completed", ended("completed"), Entries::WHOLE, true),
            ("completed and lost", ended("completed"), HALF, false),
            ("interrupted without a line", ended("failed"), HALF, false),
            ("interrupted with a line", logged(ended("failed"), "execution=exec_1"), HALF, true),
            ("without an end", ended("running"), Entries::NONE, false),
        ] {
            let (_, violations) = check(&[call], &HashMap::from([("1".to_owned(), entries)]));
            assert_eq!(violations.is_empty(), holds, "{case}: {violations:?}");
        }
    }

    #[test]
    fn violations_of_a_stop_are_found() {
        let lost = || call(Kind::Session, Outcome::Lost);
        let drained = |call| Call { end: ProcessEnd::Drained { accepted: true }, ..call };
        let unread = |call| Call { end: ProcessEnd::Drained { accepted: false }, ..call };
        let cut_off = |call: Call, lines: &[&str]| {
            let log = Log::of(lines);
            Call { end: ProcessEnd::CutOff, log, ..call }
        };
        let line = "WARN a call was cut off operation=create_entries client_request_id=\"1\"";
        let other = "WARN a call was cut off operation=create_entries client_request_id=\"12\"";
        let execution = "WARN an execution is cut off execution=\"exec_1\"";
        let internal = || json!({ "code": "INTERNAL_ERROR", "details": { "correlation_id": "c" } });
        let stops = || json!({ "status": 503, "message": "The server is shutting down: …" });
        for (case, call, entries, holds) in [
            ("finished", drained(acknowledged(Kind::Session)), Entries::WHOLE, true),
            ("not waited for", drained(lost()), HALF, false),
            ("accepted, and refused", drained(failed(stops())), Entries::NONE, false),
            ("a completed execution", drained(ended("completed")), Entries::WHOLE, true),
            ("a cancelled execution", drained(ended("cancelled")), Entries::WHOLE, false),
            ("refused", unread(failed(stops())), Entries::NONE, true),
            ("refused, and ran", unread(failed(stops())), Entries::WHOLE, false),
            ("failed", logged(unread(failed(internal())), "correlation_id=c"), HALF, false),
            ("not read", unread(lost()), Entries::NONE, true),
            ("read, and without an answer", unread(lost()), Entries::WHOLE, false),
            ("cut off", cut_off(lost(), &[line, other]), HALF, true),
            ("cut off without a line", cut_off(lost(), &[other]), HALF, false),
            ("cut off with two lines", cut_off(lost(), &[line, line]), HALF, false),
            (
                "a line without a stop",
                Call { end: ProcessEnd::None, ..cut_off(acknowledged(Kind::Session), &[line]) },
                Entries::WHOLE,
                false,
            ),
            ("an execution, cut off", cut_off(ended("cancelled"), &[execution]), HALF, true),
            ("an execution without a line", cut_off(ended("cancelled"), &[line]), HALF, false),
        ] {
            let (_, violations) = check(&[call], &HashMap::from([("1".to_owned(), entries)]));
            assert_eq!(violations.is_empty(), holds, "{case}: {violations:?}");
        }
    }
}
