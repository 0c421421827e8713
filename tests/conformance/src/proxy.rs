//! A proxy between the adapter and its client. It forwards messages line by line or changes them.

use mcp_aql::transport::ServeStream as _;
use std::collections::HashMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, DuplexStream,
};
use tokio::process::Command;
use tokio::sync::mpsc;

use crate::faults::Tamper;
use crate::garden::Garden;

/// Buffer size in each direction, in bytes.
const BUFFER: usize = 64 << 10;

/// State shared by the proxies in all connections of an adapter.
pub type Shared = Arc<Mutex<Value>>;

/// A proxy in one connection. By default, it forwards messages unchanged.
///
/// Implement only the methods for the messages that your proxy changes. It gets whole messages; lines that are not JSON
/// are passed to [`nonsense`](Self::nonsense).
pub trait Proxy: Send {
    /// Handles a message from the client.
    fn request(&mut self, message: Value, wire: &mut Wire) {
        let _ = message;
        wire.pass();
    }

    /// Handles a message from the adapter.
    fn answer(&mut self, message: Value, wire: &mut Wire) {
        let _ = message;
        wire.pass();
    }

    /// Handles an invalid line from the client, without its line feed.
    fn nonsense(&mut self, line: &[u8], wire: &mut Wire) {
        let _ = line;
        wire.pass();
    }
}

/// Collects the actions of a proxy for one message. Without an action, your proxy drops the message.
#[derive(Debug, Default)]
pub struct Wire {
    /// The received line with its line feed.
    line: Vec<u8>,
    from: Option<Side>,
    acts: Vec<Act>,
}

#[derive(Debug, Clone, Copy)]
enum Side {
    Client,
    Adapter,
}

#[derive(Debug)]
enum Act {
    ToAdapter(Vec<u8>),
    ToClient(Vec<u8>),
    Later(Duration, Vec<u8>),
    Close,
}

impl Wire {
    fn new(from: Side, line: &[u8]) -> Self {
        Self { line: line.to_owned(), from: Some(from), acts: Vec::new() }
    }

    /// Forwards the received line unchanged.
    pub fn pass(&mut self) {
        let line = self.line.clone();
        self.acts.extend(self.from.map(|from| match from {
            Side::Client => Act::ToAdapter(line),
            Side::Adapter => Act::ToClient(line),
        }));
    }

    /// Sends a message to the adapter.
    pub fn to_adapter(&mut self, message: &Value) {
        self.raw_to_adapter(message.to_string().as_bytes());
    }

    /// Sends a line to the adapter.
    pub fn raw_to_adapter(&mut self, line: &[u8]) {
        self.acts.push(Act::ToAdapter(with_end(line)));
    }

    /// Sends a message to the client.
    pub fn to_client(&mut self, message: &Value) {
        self.raw_to_client(&with_end(message.to_string().as_bytes()));
    }

    /// Sends bytes to the client without adding a line feed.
    pub fn raw_to_client(&mut self, bytes: &[u8]) {
        self.acts.push(Act::ToClient(bytes.to_owned()));
    }

    /// Sends a message to the client after a delay. Later messages may overtake it.
    pub fn later(&mut self, after: Duration, message: &Value) {
        self.acts.push(Act::Later(after, with_end(message.to_string().as_bytes())));
    }

    /// Closes the connection.
    pub fn close(&mut self) {
        self.acts.push(Act::Close);
    }
}

fn with_end(line: &[u8]) -> Vec<u8> {
    [line, b"\n"].concat()
}

/// The garden with a mistake, for any number of connections.
pub struct Faulty {
    garden: Garden,
    tamper: Option<&'static Tamper>,
    shared: Shared,
}

impl Faulty {
    /// Creates a separate garden with this mistake, if any.
    pub fn new(tamper: Option<&'static Tamper>) -> Self {
        let garden = match tamper {
            Some(Tamper::Garden(change) | Tamper::Both(change, _)) => {
                let mut options = crate::GardenOptions::default();
                change(&mut options);
                Garden::new(options)
            }
            _ => crate::garden(),
        };
        Self { garden, tamper, shared: Arc::new(Mutex::new(json!({}))) }
    }

    /// Returns the state shared by the proxies of all connections.
    pub fn state(&self) -> Value {
        self.shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Serves one connection until it ends.
    ///
    /// # Errors
    /// Returns an error if the garden cannot be built.
    pub async fn serve(
        &self,
        mode: Option<mcp_aql_conformance::Mode>,
        from_client: impl AsyncRead + Send + Unpin + 'static,
        to_client: impl AsyncWrite + Send + Unpin + 'static,
    ) -> mcp_aql::Result<()> {
        let adapter = self.garden.adapter(mode)?;
        let Some(proxy) = self.tamper.and_then(|tamper| proxy_of(tamper, &self.shared)) else {
            return adapter.serve(tokio::io::join(from_client, to_client)).await;
        };
        let serve = |stream| async move { adapter.serve(stream).await };
        serve_behind(proxy, serve, from_client, to_client).await;
        Ok(())
    }
}

/// Serves one connection to an adapter in this process through a proxy.
pub(crate) async fn serve_behind<F: Future<Output = mcp_aql::Result<()>> + Send + 'static>(
    proxy: Box<dyn Proxy>,
    serve: impl FnOnce(DuplexStream) -> F,
    from_client: impl AsyncRead + Send + Unpin,
    to_client: impl AsyncWrite + Send + Unpin + 'static,
) {
    let (ours, theirs) = tokio::io::duplex(BUFFER);
    let serving = tokio::spawn(serve(theirs));
    let (from_adapter, to_adapter) = tokio::io::split(ours);
    pass(proxy, from_adapter, to_adapter, from_client, to_client).await;
    let _ = serving.await;
}

/// Returns the proxy that injects a mistake into one connection, or `None` if the garden itself makes the mistake.
fn proxy_of(tamper: &Tamper, shared: &Shared) -> Option<Box<dyn Proxy>> {
    let calls = Calls::default();
    Some(match tamper {
        Tamper::Garden(_) => return None,
        Tamper::Body(change) | Tamper::Both(_, change) => {
            Box::new(Bodies { change: *change, calls })
        }
        Tamper::Answer(change) => Box::new(Answers { change: *change, calls }),
        Tamper::Request(change) => Box::new(Requests(*change)),
        Tamper::Proxy(make) => make(),
        Tamper::Shared(make) => make(Arc::clone(shared)),
    })
}

/// Starts an adapter as a process and serves one connection to it through a mutant's proxy.
///
/// Pass `None` as `tamper` to forward every message unchanged.
///
/// # Errors
/// Returns an error if the process cannot be started.
pub async fn serve_mutated(
    mut command: Command,
    tamper: Option<&Tamper>,
    from_client: impl AsyncRead + Send + Unpin + 'static,
    to_client: impl AsyncWrite + Send + Unpin + 'static,
) -> std::io::Result<()> {
    let shared = Arc::default();
    let proxy = tamper.and_then(|tamper| proxy_of(tamper, &shared));
    let mut process =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let (Some(to_adapter), Some(from_adapter)) = (process.stdin.take(), process.stdout.take())
    else {
        return Err(std::io::Error::other("the process has no pipes"));
    };
    let proxy = proxy.unwrap_or_else(|| Box::new(Unchanged));
    pass(proxy, from_adapter, to_adapter, from_client, to_client).await;
    process.wait().await?;
    Ok(())
}

/// Forwards every message unchanged.
struct Unchanged;

impl Proxy for Unchanged {}

/// Forwards lines in both directions until one side closes.
async fn pass(
    mut proxy: Box<dyn Proxy>,
    from_adapter: impl AsyncRead + Send + Unpin,
    mut to_adapter: impl AsyncWrite + Send + Unpin + 'static,
    from_client: impl AsyncRead + Send + Unpin,
    to_client: impl AsyncWrite + Send + Unpin + 'static,
) {
    let (say, mut said) = mpsc::unbounded_channel::<Vec<u8>>();
    // A separate task writes, so neither side blocks the other.
    let writing = tokio::spawn(async move {
        let mut to_client = to_client;
        while let Some(bytes) = said.recv().await {
            if to_client.write_all(&bytes).await.is_err() || to_client.flush().await.is_err() {
                break;
            }
        }
        let _ = to_client.shutdown().await;
    });
    let (tell, mut told) = mpsc::unbounded_channel::<Vec<u8>>();
    let telling = tokio::spawn(async move {
        while let Some(bytes) = told.recv().await {
            if to_adapter.write_all(&bytes).await.is_err() {
                break;
            }
        }
        let _ = to_adapter.shutdown().await;
    });
    let mut tell = Some(tell);
    let mut client = BufReader::new(from_client);
    let mut server = BufReader::new(from_adapter);
    let (mut request, mut answer) = (Vec::new(), Vec::new());
    loop {
        let wire = tokio::select! {
            read = client.read_until(b'\n', &mut request), if tell.is_some() => {
                let Ok(1..) = read else {
                    // The client has closed, but pending requests are still answered.
                    tell = None;
                    continue;
                };
                let mut wire = Wire::new(Side::Client, &request);
                let line = request.strip_suffix(b"\n").unwrap_or(&request);
                match serde_json::from_slice(line) {
                    Ok(message) => proxy.request(message, &mut wire),
                    Err(_) => proxy.nonsense(line, &mut wire),
                }
                request.clear();
                wire
            }
            read = server.read_until(b'\n', &mut answer) => {
                let Ok(1..) = read else { break };
                let mut wire = Wire::new(Side::Adapter, &answer);
                if let Ok(message) = serde_json::from_slice(&answer) {
                    proxy.answer(message, &mut wire);
                }
                answer.clear();
                wire
            }
        };
        for act in wire.acts {
            match act {
                Act::ToAdapter(line) => {
                    if let Some(tell) = &tell {
                        let _ = tell.send(line);
                    }
                }
                Act::ToClient(bytes) => {
                    let _ = say.send(bytes);
                }
                Act::Later(after, bytes) => {
                    let say = say.downgrade();
                    tokio::spawn(async move {
                        tokio::time::sleep(after).await;
                        if let Some(say) = say.upgrade() {
                            let _ = say.send(bytes);
                        }
                    });
                }
                Act::Close => {
                    drop(say);
                    let _ = writing.await;
                    telling.abort();
                    return;
                }
            }
        }
    }
    drop((say, tell));
    let _ = writing.await;
    let _ = telling.await;
}

/// The pending requests by id.
#[derive(Default)]
pub(crate) struct Calls(HashMap<String, Value>);

impl Calls {
    pub(crate) fn asked(&mut self, message: &Value) {
        if let (Some(id), Some(_)) = (message.get("id"), message.get("method")) {
            self.0.insert(id.to_string(), message.clone());
        }
    }

    pub(crate) fn answered(&mut self, message: &Value) -> Option<Value> {
        self.0.remove(&message.get("id")?.to_string())
    }
}

/// Changes the results of operations.
struct Bodies {
    change: fn(&Value, &mut Value),
    calls: Calls,
}

impl Proxy for Bodies {
    fn request(&mut self, message: Value, wire: &mut Wire) {
        self.calls.asked(&message);
        wire.pass();
    }

    fn answer(&mut self, mut message: Value, wire: &mut Wire) {
        if let Some(request) = self.calls.answered(&message)
            && let Some(Value::String(text)) = message.pointer_mut("/result/content/0/text")
            && let Ok(before) = serde_json::from_str::<Value>(text)
        {
            let arguments = request.pointer("/params/arguments").unwrap_or(&Value::Null);
            let mut body = before.clone();
            (self.change)(arguments, &mut body);
            if body != before {
                *text = body.to_string();
                return wire.to_client(&message);
            }
        }
        wire.pass();
    }
}

/// Changes whole responses.
struct Answers {
    change: fn(&Value, &mut Value),
    calls: Calls,
}

impl Proxy for Answers {
    fn request(&mut self, message: Value, wire: &mut Wire) {
        self.calls.asked(&message);
        wire.pass();
    }

    fn answer(&mut self, message: Value, wire: &mut Wire) {
        if let Some(request) = self.calls.answered(&message) {
            let mut changed = message.clone();
            (self.change)(&request, &mut changed);
            if changed != message {
                return wire.to_client(&changed);
            }
        }
        wire.pass();
    }
}

/// Changes requests.
struct Requests(fn(&mut Value));

impl Proxy for Requests {
    fn request(&mut self, message: Value, wire: &mut Wire) {
        let mut changed = message.clone();
        (self.0)(&mut changed);
        if changed == message {
            wire.pass();
        } else {
            wire.to_adapter(&changed);
        }
    }
}
