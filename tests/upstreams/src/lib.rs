//! Scripted MCP servers, correct and broken ones, for tests of the aggregator.
//!
//! A test or benchmark program starts itself as such a server. To do so, call [`serve_if_asked`] first in your program.
//! Then configure the program's own path as the command of a server, and its script in the variable [`SCRIPT`]:
//!
//! ```json
//! {"command": "target/…/a-test", "env": {"UPSTREAM_SCRIPT": "--results 20 --format lines --call slow:50"}}
//! ```
//!
//! | option | meaning |
//! |---|---|
//! | `--results N` | number of results, 10 by default |
//! | `--text TEXT` | the content of each result; `{i}` is its number, `{query}` the query; `_` stands for a space |
//! | `--format json\|structured\|markdown\|lines` | their format, `json` by default |
//! | `--tool NAME` | the name of the tool, `search_docs` by default |
//! | `--plain` | the tool has no read-only annotation |
//! | `--also NAME` | adds a second tool that rejects all calls |
//! | `--adapter` | the tool is the endpoint of an MCP-AQL adapter with one operation, `search_notes` |
//! | `--changes late\|writes\|renamed:FILE` | as soon as the file exists, the tool appears, is annotated as writing, or is renamed to `find_docs`; the first two changes are announced |
//! | `--endless BYTES` | the list of tools never ends, with pages of this size |
//! | `--next CURSOR` | the list of tools has one page with this cursor of a next page; `_` means an empty cursor |
//! | `--schema BYTES` | size of the tool's schema |
//! | `--start ok\|never\|crash\|garbage\|error:TEXT\|slow:MS` | the response to `initialize` |
//! | `--call ok\|hang\|exit\|garbage\|stop-reading\|shape\|slow:MS\|error:TEXT\|tool-error:TEXT\|huge:BYTES\|huge-id-last:BYTES` | the response to `tools/call` |
//! | `--delay MS` | delay of failing calls |
//! | `--noise BYTES` | sends a notification of this size before each response |
//! | `--block` | responses contain a content block of an unknown type |
//! | `--times N` | number of calls that fail; later calls succeed |
//! | `--count FILE` | counts the calls in this file, so that `--times` works across restarts |
//! | `--log FILE` | appends every received line to the file |
//! | `--pids FILE` | appends the ids of the process and its children to the file |
//! | `--child` | starts a process that neither exits nor reacts to signals |
//! | `--daemon` | starts such a process in its own session, with a parent that exits |
//! | `--detached` | starts such a process in its own session, with an empty environment |
//! | `--stays` | does not exit at the end of its input |
//! | `--stderr BYTES` | first writes this many bytes to standard error |
//! | `--show-env FILE` | writes its environment to the file |

#![expect(
    clippy::indexing_slicing,
    reason = "indexing a `Value` returns null for a missing member"
)]

mod http;

use std::fs::OpenOptions;
use std::io::{BufRead as _, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

pub use http::{HttpScript, serve_http, serve_http_over};

/// The environment variable with the script of a server.
pub const SCRIPT: &str = "UPSTREAM_SCRIPT";

/// The behavior of a scripted server.
#[derive(Debug, Clone)]
pub struct Script {
    results: usize,
    text: String,
    fill: Option<Fill>,
    format: String,
    tool: String,
    is_plain: bool,
    also: Option<String>,
    is_adapter: bool,
    changes: Option<(Change, PathBuf)>,
    endless: Option<usize>,
    next: Option<String>,
    schema: usize,
    start: String,
    call: String,
    delay: Duration,
    noise: usize,
    block: bool,
    times: Option<usize>,
    count: Option<PathBuf>,
    log: Option<PathBuf>,
    pids: Option<PathBuf>,
    child: bool,
    daemon: bool,
    detached: bool,
    stays: bool,
    stderr: usize,
    show_env: Option<PathBuf>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            results: 10,
            text: "result {i} for {query}".to_owned(),
            fill: None,
            format: "json".to_owned(),
            tool: "search_docs".to_owned(),
            is_plain: false,
            also: None,
            is_adapter: false,
            changes: None,
            endless: None,
            next: None,
            schema: 0,
            start: "ok".to_owned(),
            call: "ok".to_owned(),
            delay: Duration::ZERO,
            noise: 0,
            block: false,
            times: None,
            count: None,
            log: None,
            pids: None,
            child: false,
            daemon: false,
            detached: false,
            stays: false,
            stderr: 0,
            show_env: None,
        }
    }
}

/// A change of the tool while the server is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Late,
    Writes,
    Renamed,
}

impl Change {
    fn read(value: &str) -> Option<(Self, PathBuf)> {
        let (change, file) = value.split_once(':')?;
        let change = match change {
            "late" => Self::Late,
            "writes" => Self::Writes,
            "renamed" => Self::Renamed,
            _ => return None,
        };
        Some((change, file.into()))
    }
}

impl Script {
    /// Parses the options of a script.
    ///
    /// # Errors
    ///
    /// Returns a message about the first invalid option.
    pub fn read(words: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, String> {
        let mut script = Self::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let name = word.as_ref();
            match name {
                "--plain" => script.is_plain = true,
                "--adapter" => script.is_adapter = true,
                "--block" => script.block = true,
                "--child" => script.child = true,
                "--daemon" => script.daemon = true,
                "--detached" => script.detached = true,
                "--stays" => script.stays = true,
                _ => {
                    let value = words.next().ok_or_else(|| format!("{name} needs a value"))?;
                    let value = value.as_ref();
                    let fault = || format!("{name} {value}");
                    let number = || value.parse().map_err(|_| fault());
                    match name {
                        "--results" => script.results = number()?,
                        "--text" => script.text = value.replace('_', " "),
                        "--fill" => script.fill = Some(Fill::read(value).ok_or_else(fault)?),
                        "--format" => script.format = value.to_owned(),
                        "--tool" => script.tool = value.to_owned(),
                        "--also" => script.also = Some(value.to_owned()),
                        "--changes" => {
                            script.changes = Some(Change::read(value).ok_or_else(fault)?)
                        }
                        "--endless" => script.endless = Some(number()?),
                        "--next" => script.next = Some(value.replace('_', "")),
                        "--schema" => script.schema = number()?,
                        "--delay" => script.delay = millis(value),
                        "--noise" => script.noise = number()?,
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

    /// Returns the results of a query as MCP content.
    fn results(&self, query: &str) -> Value {
        let texts = (1..=self.results).map(|i| {
            let mut text = self.text.replace("{i}", &i.to_string()).replace("{query}", query);
            if let Some(fill) = self.fill {
                fill.add_to(&mut text, i);
            }
            text
        });
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

    /// Returns `true` if the tool has already changed in this way.
    fn has(&self, change: Change) -> bool {
        self.changes.as_ref().is_some_and(|(it, file)| *it == change && file.exists())
    }

    /// Returns the current name of the tool.
    fn tool(&self) -> &str {
        if self.has(Change::Renamed) { "find_docs" } else { &self.tool }
    }

    /// Returns the page of the tool list after a cursor.
    fn tools(&self, params: &Value) -> Value {
        let is_late = self.changes.as_ref().is_some_and(|(change, _)| *change == Change::Late);
        if is_late && !self.has(Change::Late) {
            return json!({"tools": []});
        }
        let annotations = match self.is_plain {
            true => json!({}),
            false => json!({"readOnlyHint": !self.has(Change::Writes)}),
        };
        let properties = match self.is_adapter {
            true => json!({"operation": {"type": "string"}, "params": {"type": "object"}}),
            false => json!({
                "query": {"type": "string", "description": "x".repeat(self.schema)},
                "limit": {"type": "integer"},
            }),
        };
        let required = if self.is_adapter { "operation" } else { "query" };
        let tool = |name: &str| {
            json!({
                "name": name,
                "description": "Searches; see introspect",
                "inputSchema": {
                    "type": "object", "properties": properties, "required": [required],
                },
                "annotations": annotations,
            })
        };
        if let Some(bytes) = self.endless {
            let page: u32 = params["cursor"].as_str().map_or(0, |it| it.parse().unwrap_or(0));
            let name = format!("other_{page}_{}", "x".repeat(bytes));
            let next = (page + 1).to_string();
            return json!({"tools": [tool(self.tool()), tool(&name)], "nextCursor": next});
        }
        let names = [self.tool()].into_iter().chain(self.also.as_deref());
        let mut list = json!({"tools": names.map(tool).collect::<Vec<_>>()});
        if let Some(next) = &self.next {
            list["nextCursor"] = json!(next);
        }
        list
    }

    /// Returns the error for a call of an unknown tool. The script does not matter for it.
    fn refusal(&self, id: &Value, tool: &str) -> Option<String> {
        let refused = json!({"code": -32602, "message": "unknown tool s3cret"});
        let is_known = tool == self.tool();
        (!is_known).then(|| json!({"jsonrpc": "2.0", "id": id, "error": refused}).to_string())
    }

    /// Returns the adapter's reply to an operation.
    fn operation(&self, params: &Value) -> Value {
        let arguments = &params["arguments"];
        let data = match arguments["operation"].as_str() {
            Some("introspect") if arguments["params"]["name"].is_null() => json!({
                "operations": [{"name": "search_notes", "semantic_category": "READ"}],
            }),
            Some("introspect") => json!({"operation": {
                "name": "search_notes",
                "semantic_category": "READ",
                "permissions": {"readOnly": true, "destructive": false},
                "mcpTool": self.tool(),
                "parameters": [{"name": "query", "type": "string", "required": true}],
            }}),
            _ => {
                json!({"items": [{"text": format!("a note on {}", arguments["params"]["query"])}]})
            }
        };
        let reply = json!({"success": true, "data": data});
        json!({"content": [{"type": "text", "text": reply.to_string()}]})
    }

    /// Returns the result of a successful call.
    fn result(&self, params: &Value) -> Value {
        let mut result = match self.is_adapter {
            true => self.operation(params),
            false => self.results(params["arguments"]["query"].as_str().unwrap_or_default()),
        };
        if self.block
            && let Some(blocks) = result["content"].as_array_mut()
        {
            blocks.push(json!({"type": "video", "data": "s3cret", "mimeType": "video/x"}));
        }
        result
    }
}

/// Filler that extends results to a size.
#[derive(Debug, Clone, Copy)]
struct Fill {
    bytes: usize,
    seed: u64,
}

impl Fill {
    fn read(value: &str) -> Option<Self> {
        let (bytes, seed) = value.split_once(':').unwrap_or((value, "0"));
        Some(Self { bytes: bytes.parse().ok()?, seed: seed.parse().ok()? })
    }

    /// Appends words that look random, but are the same in every run.
    fn add_to(self, text: &mut String, number: usize) {
        const SYLLABLES: [&str; 16] = [
            "ban", "cor", "del", "fin", "gar", "hol", "jun", "kel", "lor", "mir", "nov", "pel",
            "ras", "sel", "tor", "vin",
        ];
        let mut state = self.seed.wrapping_mul(1_000_003).wrapping_add(number as u64);
        while text.len() < self.bytes {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            text.push(' ');
            for shift in [60, 56, 52] {
                text.push_str(SYLLABLES[(state >> shift) as usize % SYLLABLES.len()]);
            }
        }
    }
}

/// Serves and then exits, if the script variable is set. Call it first in `main`, or in a test with no other purpose.
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
        // Write each line at once, because several processes may append to the file.
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
    // Do not use `print!`: in a test, its output would be captured.
    let mut out = std::io::stdout().lock();
    let _ = out
        .write_all(line.as_bytes())
        .and_then(|()| out.write_all(b"\n"))
        .and_then(|()| out.flush());
}

fn answer(id: &Value, result: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

/// Returns a result with slightly more than this many bytes. The string is formatted by hand, because `serde_json`
/// without optimization would take most of a second for 20 MB.
fn large(bytes: usize) -> String {
    format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, "x".repeat(bytes))
}

/// Returns a notification with slightly more than this many bytes.
fn noise(bytes: usize) -> String {
    let params = json!({"level": "info", "data": "x".repeat(bytes)});
    // Put the method first, like most servers do. `serde_json` would sort the members.
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{params}}}"#)
}

fn huge(id: &Value, bytes: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{}}}"#, large(bytes))
}

fn error(id: &Value, text: &str) -> String {
    let error = json!({"code": -32000, "message": text, "data": {"text": text}});
    json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
}

/// Serves on standard input and output until the input ends.
pub fn serve(script: &Script) {
    add_to(script.pids.as_ref(), &std::process::id().to_string());
    for (is_wanted, command) in [
        (script.child, &["/bin/sh"][..]),
        (script.daemon, &["setsid", "--fork", "/bin/sh"]),
        (script.detached, &["setsid", "env", "-i", "/bin/sh"]),
    ] {
        if is_wanted {
            start_child(command, script.pids.as_deref());
        }
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
    announce_changes(&script);
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
                            "protocolVersion": version, "serverInfo": info,
                            "capabilities": {"tools": {"listChanged": script.changes.is_some()}},
                            "instructions": "s3cret",
                        }),
                    ));
                }
            },
            "tools/list" => write(&answer(id, &script.tools(&message["params"]))),
            "tools/call" => {
                let is_wrong = goes_wrong(&script, &wrong);
                let id = id.clone();
                let params = message["params"].clone();
                if is_wrong && script.call == "stop-reading" {
                    sleep_for_ever();
                }
                let script = Arc::clone(&script);
                // Use a thread, so that a slow call does not delay others.
                std::thread::spawn(move || call(&script, is_wrong, &id, &params));
            }
            "ping" => write(&answer(id, &json!({}))),
            _ => write(&error(id, "unknown")),
        }
    }
    if script.stays {
        sleep_for_ever();
    }
}

/// Starts a shell that ignores termination signals and writes its process id to a file.
fn start_child(command: &[&str], pids: Option<&Path>) {
    // The shell writes its id itself, once it ignores the signals.
    let file = pids.unwrap_or(Path::new("/dev/null"));
    let say =
        format!("trap '' TERM HUP INT; echo $$ >> '{}'; while :; do sleep 1; done", file.display());
    let child = Command::new(command[0])
        .args(&command[1..])
        .args(["-c", &say])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    // Do not wait for the child, because it never exits.
    drop(child);
}

/// Notifies the client once the tools have changed.
fn announce_changes(script: &Arc<Script>) {
    if script.changes.as_ref().is_some_and(|(change, _)| *change != Change::Renamed) {
        let script = Arc::clone(script);
        std::thread::spawn(move || {
            while script.changes.as_ref().is_some_and(|(_, file)| !file.exists()) {
                std::thread::sleep(Duration::from_millis(5));
            }
            write(
                &json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
                    .to_string(),
            );
        });
    }
}

/// Returns `true` if this call must fail.
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

fn call(script: &Script, is_wrong: bool, id: &Value, params: &Value) {
    if script.noise > 0 {
        write(&noise(script.noise));
    }
    if let Some(refusal) = script.refusal(id, params["name"].as_str().unwrap_or_default()) {
        return write(&refusal);
    }
    if is_wrong {
        std::thread::sleep(script.delay);
    }
    let (what, value) = script.call.split_once(':').unwrap_or((&script.call, ""));
    let results = || answer(id, &script.result(params));
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
        "huge" => huge(id, size()),
        "huge-id-last" => format!(r#"{{"result":{},"jsonrpc":"2.0","id":{id}}}"#, large(size())),
        _ => results(),
    };
    write(&line);
}
