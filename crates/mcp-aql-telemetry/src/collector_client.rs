//! The HTTP client used to export to the collector.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use mcp_aql_client::http::{Client, Method, Url};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use tokio::sync::{mpsc, oneshot};

/// Maximum size of a collector's response, in bytes.
const MAX_ANSWER_BYTES: usize = 4 << 20;

type Answer = Result<Response<Bytes>, String>;
type QueuedRequest = (Request<Bytes>, oneshot::Sender<Answer>);

/// Sends the requests of the exporters from its own thread and runtime.
///
/// The threads of the exporters have no runtime. The runtime of the program cannot be used either: it may already have
/// stopped when the last spans are exported.
#[derive(Clone)]
pub(crate) struct CollectorClient(mpsc::UnboundedSender<QueuedRequest>);

impl CollectorClient {
    /// Starts the thread. It ends when all clones of the client are dropped. `limit` is the time limit of each request.
    pub(crate) fn new(limit: Duration) -> Result<Self, String> {
        let (queue, requests) = mpsc::unbounded_channel();
        let problem =
            |error| format!("OpenTelemetry: the thread of the exporter cannot start: {error}");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(problem)?;
        let thread = std::thread::Builder::new().name("mcp-aql-telemetry".to_owned());
        thread.spawn(move || runtime.block_on(answer_all(requests, limit))).map_err(problem)?;
        Ok(Self(queue))
    }
}

impl fmt::Debug for CollectorClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CollectorClient").finish_non_exhaustive()
    }
}

#[async_trait]
impl HttpClient for CollectorClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (answer, answered) = oneshot::channel();
        let ended = || "the thread of the exporter has ended";
        self.0.send((request, answer)).map_err(|_| ended())?;
        Ok(answered.await.map_err(|_| ended())??)
    }
}

/// Sends the requests concurrently, so that an unresponsive metrics collector does not delay spans.
async fn answer_all(mut requests: mpsc::UnboundedReceiver<QueuedRequest>, limit: Duration) {
    let mut clients = HashMap::new();
    while let Some((request, answer)) = requests.recv().await {
        let client = client_for(&mut clients, &request);
        tokio::spawn(async move {
            let sent = async { send(client?, request).await };
            let sent = tokio::time::timeout(limit, sent).await;
            let late = |_| Err("the request took too long".to_owned());
            // The exporter may have stopped waiting.
            let _ = answer.send(sent.unwrap_or_else(late));
        });
    }
}

/// Returns the URL of a request and the client for its server. Clients are created on first use.
fn client_for(
    clients: &mut HashMap<String, Client>,
    request: &Request<Bytes>,
) -> Result<(Client, Url), String> {
    let url = Url::parse(&request.uri().to_string()).map_err(|error| error.to_string())?;
    let server = url.origin().ascii_serialization();
    let client = match clients.get(&server) {
        Some(client) => client.clone(),
        None => {
            let client = Client::new(&url).map_err(|error| error.to_string())?;
            clients.insert(server, client.clone());
            client
        }
    };
    Ok((client, url))
}

/// Sends a request. Headers may contain credentials, so errors never quote them.
async fn send((client, url): (Client, Url), request: Request<Bytes>) -> Answer {
    let (head, body) = request.into_parts();
    let sent = client.send(&url, Method::POST, head.headers, body.into());
    let mut reply = sent.await.map_err(|error| error.to_string())?;
    let mut answer = Vec::new();
    while let Some(part) = reply.chunk().await.map_err(|error| error.to_string())? {
        if answer.len() + part.len() > MAX_ANSWER_BYTES {
            return Err("the response of the collector is too large".to_owned());
        }
        answer.extend_from_slice(&part);
    }
    let mut response = Response::new(Bytes::from(answer));
    *response.status_mut() = reply.status();
    *response.headers_mut() = reply.headers().clone();
    Ok(response)
}
