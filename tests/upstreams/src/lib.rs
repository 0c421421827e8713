//! MCP servers for tests of the aggregator, good ones and faulty ones, as a script says.
//!
//! Programs of tests and benches start themselves as such a server: they begin with [`serve_if_asked`], and
//! give their own path as the command, with the script in the variable [`SCRIPT`]:
//!
//! ```text
//! {"command": "target/…/a-test", "env": {"UPSTREAM_SCRIPT": "--results 20 --format lines --call slow:50"}}
//! ```
//!
//! | option | says |
//! |---|---|
//! | `--results N` | so many results, 10 |
//! | `--text TEXT` | of each; `{i}` is its number, `{query}` what was asked; words are joined by `_` for spaces |
//! | `--format json\|structured\|markdown\|lines` | how they are written, `json` |
//! | `--tool NAME` | the name of the tool, `search_docs` |
//! | `--plain` | the tool does not say that it only reads |
//! | `--start ok\|never\|crash\|garbage\|error:TEXT\|slow:MS` | what becomes of `initialize` |
//! | `--call ok\|hang\|exit\|garbage\|stop-reading\|shape\|slow:MS\|error:TEXT\|tool-error:TEXT\|huge:BYTES\|huge-id-last:BYTES` | of `tools/call` |
//! | `--times N` | so many calls go wrong, and later ones are answered; a file given by `--count` counts across starts |
//! | `--count FILE` | |
//! | `--log FILE` | every line that comes in is added to it |
//! | `--pids FILE` | its own process number, and that of what it starts, are added to it |
//! | `--child` | starts a process that does not end by itself, nor when it is asked to |
//! | `--stays` | does not end when its input does |
//! | `--stderr BYTES` | writes so much to standard error first |
//! | `--show-env FILE` | writes its environment to it |

mod http;

use std::fs::OpenOptions;
use std::io::{BufRead as _, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

pub use http::{HttpScript, serve_http, serve_http_over};

/// The variable with the script of a server.
pub const SCRIPT: &str = "UPSTREAM_SCRIPT";

/// What a server does.
#[derive(Debug, Clone)]
pub struct Script {
    results: usize,
    text: String,
    format: String,
    tool: String,
    is_plain: bool,
    start: String,
    call: String,
    times: Option<usize>,
    count: Option<PathBuf>,
    log: Option<PathBuf>,
    pids: Option<PathBuf>,
    child: bool,
    stays: bool,
    stderr: usize,
    show_env: Option<PathBuf>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            results: 10,
            text: "result {i} for {query}".to_owned(),
            format: "json".to_owned(),
            tool: "search_docs".to_owned(),
            is_plain: false,
            start: "ok".to_owned(),
            call: "ok".to_owned(),
            times: None,
            count: None,
            log: None,
            pids: None,
            child: false,
            stays: false,
            stderr: 0,
            show_env: None,
        }
    }
}

impl Script {
    /// Reads options.
    ///
    /// # Errors
    /// The one that is not understood.
    pub fn read(words: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, String> {
        let mut script = Self::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let name = word.as_ref();
            match name {
                "--plain" => script.is_plain = true,
                "--child" => script.child = true,
                "--stays" => script.stays = true,
                _ => {
                    let value = words.next().ok_or_else(|| format!("{name} needs a value"))?;
                    let value = value.as_ref();
                    let number = || value.parse().map_err(|_| format!("{name} {value}"));
                    match name {
                        "--results" => script.results = number()?,
                        "--text" => script.text = value.replace('_', " "),
                        "--format" => script.format = value.to_owned(),
                        "--tool" => script.tool = value.to_owned(),
                        "--start" => script.start = value.to_owned(),
                        "--call" => script.call = value.to_owned(),
                        "--times" => script.times = Some(number()?),
                        "--count" => script.count = Some(value.into()),
                        "--log" => script.log = Some(value.into()),
                        "--pids" => script.pids = Some(value.into()),
                        "--stderr" => script.stderr = number()?,
                        "--show-env" => script.show_env = Some(value.into()),
                        _ => return Err(format!("{name} is unknown")),
                    }
                }
            }
        }
        Ok(script)
    }

    /// The results of a query, in the words of MCP.
    fn results(&self, query: &str) -> Value {
        let texts = (1..=self.results)
            .map(|i| self.text.replace("{i}", &i.to_string()).replace("{query}", query));
        let text = |text: String| json!({"content": [{"type": "text", "text": text}]});
        match self.format.as_str() {
            "markdown" => {
                let blocks =
                    texts.enumerate().map(|(i, it)| format!("## Result {}\n\n{it}\n", i + 1));
                text(blocks.collect::<Vec<_>>().join("\n---\n\n"))
            }
            "lines" => {
                let lines =
                    texts.enumerate().map(|(i, it)| format!("src/file{i}.rs:{}:{it}", i + 7));
                text(lines.collect::<Vec<_>>().join("\n"))
            }
            format => {
                let items = texts
                    .enumerate()
                    .map(|(i, it)| json!({"title": format!("Result {}", i + 1), "text": it}));
                let all = json!({"results": items.collect::<Vec<_>>()});
                let mut answer = text(all.to_string());
                if format == "structured"
                    && let Some(members) = answer.as_object_mut()
                {
                    members.insert("structuredContent".to_owned(), all);
                }
                answer
            }
        }
    }

    /// The tool.
    fn tools(&self) -> Value {
        let annotations = if self.is_plain { json!({}) } else { json!({"readOnlyHint": true}) };
        json!({"tools": [{
            "name": self.tool,
            "description": "Searches",
            "inputSchema": {
                "type": "object",
                "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
                "required": ["query"],
            },
            "annotations": annotations,
        }]})
    }
}

/// Serves, and ends the process, if it was started to: call it first in `main`, or in a test that is there
/// for it.
pub fn serve_if_asked() {
    if let Ok(script) = std::env::var(SCRIPT) {
        match Script::read(script.split_whitespace()) {
            Ok(script) => serve(&script),
            Err(fault) => eprintln!("{fault}"),
        }
        std::process::exit(0);
    }
}

fn add_to(file: Option<&PathBuf>, text: &str) {
    let file = file.and_then(|file| OpenOptions::new().create(true).append(true).open(file).ok());
    if let Some(mut file) = file {
        // One write a line: several processes may add to it.
        let _ = file.write_all(format!("{text}\n").as_bytes());
    }
}

fn sleep_for_ever() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(60));
    }
}

fn millis(text: &str) -> Duration {
    Duration::from_millis(text.parse().unwrap_or_default())
}

fn write(line: &str) {
    // Its `print!` would be caught where a test is the server.
    let mut out = std::io::stdout().lock();
    let _ = out
        .write_all(line.as_bytes())
        .and_then(|()| out.write_all(b"\n"))
        .and_then(|()| out.flush());
}

fn answer(id: &Value, result: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

fn error(id: &Value, text: &str) -> String {
    let error = json!({"code": -32000, "message": text, "data": {"text": text}});
    json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
}

/// Serves on standard input and output until the input ends.
pub fn serve(script: &Script) {
    add_to(script.pids.as_ref(), &std::process::id().to_string());
    if script.child {
        // The child itself says who it is, when it ignores what is ignored.
        let file = script.pids.clone().unwrap_or_else(|| "/dev/null".into());
        let say = format!(
            "trap '' TERM HUP INT; echo $$ >> '{}'; while :; do sleep 1; done",
            file.display()
        );
        let child = Command::new("/bin/sh")
            .args(["-c", &say])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        // It is nobody's to wait for.
        drop(child);
    }
    if let Some(file) = &script.show_env {
        let all: Vec<_> = std::env::vars().map(|(name, value)| format!("{name}={value}")).collect();
        add_to(Some(file), &all.join("\n"));
    }
    if script.stderr > 0 {
        let line = [b"e".repeat(99), b"\n".to_vec()].concat();
        (0..script.stderr.div_ceil(100)).for_each(|_| drop(std::io::stderr().write_all(&line)));
    }
    match script.start.split_once(':').unwrap_or((&script.start, "")) {
        ("crash", _) => std::process::exit(7),
        ("slow", time) => std::thread::sleep(millis(time)),
        ("garbage", _) => {
            for number in 0..1000 {
                write(&format!("warning {number}: this is no message, s3cret"));
            }
        }
        _ => {}
    }
    let script = Arc::new(script.clone());
    let wrong = Arc::new(Mutex::new(0));
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        add_to(script.log.as_ref(), &line);
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else {
            continue;
        };
        match method {
            "initialize" => match script.start.split_once(':').unwrap_or((&script.start, "")) {
                ("never" | "garbage", _) => {}
                ("error", text) => write(&error(id, text)),
                _ => {
                    let version = &message["params"]["protocolVersion"];
                    let info = json!({"name": "upstream", "version": "1", "title": "s3cret"});
                    write(&answer(
                        id,
                        &json!({
                            "protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info,
                            "instructions": "s3cret",
                        }),
                    ));
                }
            },
            "tools/list" => write(&answer(id, &script.tools())),
            "tools/call" => {
                let is_wrong = goes_wrong(&script, &wrong);
                let id = id.clone();
                let query =
                    message["params"]["arguments"]["query"].as_str().unwrap_or_default().to_owned();
                if is_wrong && script.call == "stop-reading" {
                    sleep_for_ever();
                }
                let script = Arc::clone(&script);
                // A slow call holds up no other.
                std::thread::spawn(move || call(&script, is_wrong, &id, &query));
            }
            "ping" => write(&answer(id, &json!({}))),
            _ => write(&error(id, "unknown")),
        }
    }
    if script.stays {
        sleep_for_ever();
    }
}

/// Whether this call is one of those that go wrong.
fn goes_wrong(script: &Script, wrong: &Mutex<usize>) -> bool {
    let Some(times) = script.times else { return true };
    if let Some(file) = &script.count {
        add_to(Some(file), "call");
        let so_far = std::fs::read_to_string(file).unwrap_or_default().lines().count();
        return so_far <= times;
    }
    let mut wrong = wrong.lock().unwrap_or_else(PoisonError::into_inner);
    *wrong += 1;
    *wrong <= times
}

fn call(script: &Script, is_wrong: bool, id: &Value, query: &str) {
    let (what, value) = script.call.split_once(':').unwrap_or((&script.call, ""));
    let results = || answer(id, &script.results(query));
    let size = || value.parse::<usize>().unwrap_or_default();
    let line = match what {
        _ if !is_wrong => results(),
        "hang" => return,
        "exit" => std::process::exit(3),
        "garbage" => {
            (0..1000).for_each(|_| write("}}} no message s3cret"));
            return;
        }
        "shape" => answer(id, &json!(["s3cret"])),
        "slow" => {
            std::thread::sleep(millis(value));
            results()
        }
        "error" => error(id, value),
        "tool-error" => {
            answer(id, &json!({"content": [{"type": "text", "text": value}], "isError": true}))
        }
        "huge" => answer(id, &json!({"content": [{"type": "text", "text": "x".repeat(size())}]})),
        "huge-id-last" => {
            let text = "x".repeat(size());
            format!(
                r#"{{"result":{{"content":[{{"type":"text","text":"{text}"}}]}},"jsonrpc":"2.0","id":{id}}}"#
            )
        }
        _ => results(),
    };
    write(&line);
}
