//! Tests of draining over standard input and output.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{ChildStdin, ChildStdout};

use serde_json::{Value, json};

use super::{Folder, Gate, Process, assert_refused, call, hello, reply, written};

/// The client of a process.
struct Client {
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Client {
    fn start(args: &[&str]) -> (Process, Self) {
        let mut process = Process::start(args);
        let stdin = process.child.stdin.take().unwrap();
        let lines = BufReader::new(process.child.stdout.take().unwrap()).lines();
        let mut client = Self { stdin, lines };
        client.send(&hello());
        assert_eq!(client.answer()["id"], 0);
        (process, client)
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").unwrap();
    }

    fn answer(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
    }
}

#[test]
fn running_calls_are_finished_after_a_signal() {
    // REQ-SES-02
    for signal in ["TERM", "INT"] {
        let (folder, gate) = (Folder::new(), Gate::new());
        let (pair, background) = (folder.file("pair"), folder.file("background"));
        let (mut process, mut client) = Client::start(&[]);
        let params = json!({ "file": background, "gate": gate.address() });
        client.send(&call(1, "execute_pair", &params));
        let execution = gate.arrived();
        assert_eq!(reply(&client.answer())["success"], true);
        let params = json!({ "file": pair, "gate": gate.address() });
        client.send(&call(2, "create_pair", &params));
        let change = gate.arrived();
        client.send(&call(3, "get_number", &json!({ "gate": gate.address() })));
        let read = gate.arrived();

        process.stop(signal);
        client.send(&call(4, "create_pair", &params));
        let refused = client.answer();
        assert_eq!(refused["id"], 4);
        assert_refused(&refused);
        change.release();
        let answer = client.answer();
        assert_eq!((answer["id"].clone(), reply(&answer)["data"].clone()), (2.into(), 2.into()));
        read.release();
        let answer = client.answer();
        assert_eq!((answer["id"].clone(), reply(&answer)["data"].clone()), (3.into(), 7.into()));
        execution.release();
        let log = process.ended();
        for file in [pair, background] {
            assert_eq!(written(&file), "first\nsecond\n", "{signal}: {log}");
        }
        assert!(log.contains("all running calls have finished"), "{log}");
        assert!(log.contains("status=\"completed\""), "the execution has ended by itself: {log}");
        assert!(!log.contains("cut off"), "{log}");
    }
}

#[test]
fn a_change_outlives_the_end_of_the_input() {
    // REQ-SES-02
    let (folder, gate) = (Folder::new(), Gate::new());
    let pair = folder.file("pair");
    let (process, mut client) = Client::start(&[]);
    client.send(&call(1, "create_pair", &json!({ "file": pair, "gate": gate.address() })));
    let change = gate.arrived();
    client.send(&call(2, "get_number", &json!({ "gate": gate.address() })));
    let _read = gate.arrived();
    let Client { stdin, mut lines } = client;
    drop(stdin);
    let mut answer = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    // The READ is canceled after half a second. Its error does not refer to a line of the log.
    let cancelled = answer();
    assert_eq!(cancelled["id"], 2);
    let error = &reply(&cancelled)["error"];
    assert!(error["message"].as_str().unwrap().contains("was cancelled"), "{cancelled}");
    assert_eq!(error["details"].get("correlation_id"), None, "{cancelled}");
    change.release();
    let changed = answer();
    assert_eq!((changed["id"].clone(), reply(&changed)["data"].clone()), (1.into(), 2.into()));
    let log = process.ended();
    assert_eq!(written(&pair), "first\nsecond\n", "{log}");
    assert!(!log.contains("cut off"), "{log}");
}

#[test]
fn a_change_that_takes_too_long_is_cut_off_and_logged() {
    let limits = [
        (&["serve", "--drain-timeout", "0"][..], "the end of the input"),
        (&["serve", "--drain-timeout", "0"], "TERM"),
        (&["serve", "--drain-timeout", "3600"], "a second TERM"),
    ];
    for (args, end) in limits {
        let (folder, gate) = (Folder::new(), Gate::new());
        let pair = folder.file("pair");
        let (mut process, mut client) = Client::start(args);
        client.send(&call(1, "create_pair", &json!({ "file": pair, "gate": gate.address() })));
        let _change = gate.arrived();
        let mut open = Some(client);
        if end == "the end of the input" {
            open = None;
        } else {
            process.stop("TERM");
        }
        if end == "a second TERM" {
            process.signal("TERM");
        }
        let log = process.ended();
        drop(open);
        assert_eq!(written(&pair), "first\n", "{end}");
        let line = log.lines().find(|line| line.contains("a call was cut off")).unwrap();
        for part in ["WARN", "operation=\"create_pair\"", "category=\"CREATE\"", "session=\"s-"] {
            assert!(line.contains(part), "{end}: {part} is not in {line}");
        }
        assert!(log.contains("stopped with unfinished calls"), "{end}: {log}");
    }
}
