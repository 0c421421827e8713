//! The calls of a client, and what it learns about them.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::oneshot;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::Fault;
use crate::http::{self, Answer, Connection};

/// The maximum time to wait for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// The id of the JSON-RPC request, of which each connection has one.
const ID: u64 = 2;

/// A kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// A change in a session.
    Session,
    /// A change without a session.
    Stateless,
    /// A change with a confirmation token, in a session.
    Confirmed,
    /// A READ without a session.
    Read,
    /// A call that begins an execution, without a session.
    Execution,
}

impl Kind {
    pub(super) const ALL: [Self; 5] =
        [Self::Session, Self::Stateless, Self::Confirmed, Self::Read, Self::Execution];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Session => "change in a session",
            Self::Stateless => "change without a session",
            Self::Confirmed => "confirmed change",
            Self::Read => "READ",
            Self::Execution => "execution",
        }
    }

    pub(super) const fn operation(self) -> &'static str {
        match self {
            Self::Session | Self::Stateless => "create_entries",
            Self::Confirmed => "delete_entries",
            Self::Read => "get_slowly",
            Self::Execution => "execute_entries",
        }
    }
}

/// The outcome of a call, as its client knows it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    /// The operation's reply, with its `data`.
    Acknowledged(Value),
    /// An error: the reply of the operation, of JSON-RPC or of HTTP.
    Failed(Value),
    /// The connection ended before the answer.
    Lost,
}

impl Outcome {
    pub(super) fn is_acknowledged(&self) -> bool {
        matches!(self, Self::Acknowledged(_))
    }

    /// The id of the execution that an acknowledged call began.
    pub(super) fn execution(&self) -> Option<&str> {
        match self {
            Self::Acknowledged(data) => data["execution_id"].as_str(),
            _ => None,
        }
    }

    fn of(answer: &Answer) -> Result<Self, Fault> {
        let Ok(message) = answer.message() else {
            let body = String::from_utf8_lossy(&answer.body);
            // A stream may end without an answer.
            return Ok(match answer.status {
                200 => Self::Lost,
                status => Self::Failed(json!({ "status": status, "body": body })),
            });
        };
        let text = message["result"]["content"][0]["text"].as_str();
        let Some(text) = text else {
            return Ok(Self::Failed(json!({ "status": answer.status, "message": message })));
        };
        if message["id"] != ID {
            return Err(format!("the answer to another request: {message}").into());
        }
        let reply: Value = serde_json::from_str(text)?;
        Ok(match reply["success"] == true {
            true => Self::Acknowledged(reply["data"].clone()),
            false => Self::Failed(reply["error"].clone()),
        })
    }
}

/// A call that is prepared: its connection is open, its session too, and it has its token.
pub(super) struct Prepared {
    connection: Connection,
    request: Vec<u8>,
    /// A confirmed change, which can be sent again.
    confirmed: Option<Retry>,
}

/// A confirmed change to send again, with the same token.
#[derive(Debug, Clone)]
pub(super) struct Retry {
    session: Option<String>,
    params: Value,
}

impl Retry {
    pub(super) async fn send(self, address: SocketAddr) -> Result<Outcome, Fault> {
        let operation = Kind::Confirmed.operation();
        let request = http::call(address, self.session.as_deref(), ID, operation, self.params);
        let connection = Connection::open(address).await?;
        Prepared { connection, request, confirmed: None }.send().await
    }
}

impl Prepared {
    /// Opens the connection and prepares the call with this id.
    pub(super) async fn new(address: SocketAddr, kind: Kind, id: &str) -> Result<Self, Fault> {
        let mut connection = Connection::open(address).await?;
        let mut params = json!({ "id": id });
        let session = match kind {
            Kind::Session | Kind::Confirmed => Some(connection.open_session().await?),
            _ => None,
        };
        if kind == Kind::Confirmed {
            let asked = params.clone();
            let reply = connection.call(session.as_deref(), 1, kind.operation(), asked).await?;
            let token = reply["error"]["details"]["confirmation_token"].as_str();
            let token = token.ok_or_else(|| format!("no token: {reply}"))?;
            params["_confirmation"] = token.into();
        }
        let request = http::call(address, session.as_deref(), ID, kind.operation(), params.clone());
        let confirmed = (kind == Kind::Confirmed).then_some(Retry { session, params });
        Ok(Self { connection, request, confirmed })
    }

    /// The call to send again, if it is a confirmed change.
    pub(super) fn retry(&self) -> Option<Retry> {
        self.confirmed.clone()
    }

    /// Sends the call and waits for its answer.
    pub(super) async fn send(self) -> Result<Outcome, Fault> {
        let Self { mut connection, request, .. } = self;
        outcome(timeout(ANSWER_TIMEOUT, connection.send(&request)).await)
    }

    /// Sends one half of the call, reports it, and sends the other half when `rest` completes.
    pub(super) async fn send_in_halves(
        self,
        sent: oneshot::Sender<()>,
        rest: oneshot::Receiver<()>,
    ) -> Result<Outcome, Fault> {
        let Self { mut connection, request, .. } = self;
        let (first, second) = request.split_at(request.len() / 2);
        connection.stream.write_all(first).await?;
        let _ = sent.send(());
        // Fails when the sender is dropped, which is the sign.
        let _ = rest.await;
        outcome(timeout(ANSWER_TIMEOUT, connection.send(second)).await)
    }
}

fn outcome(answered: Result<Result<Answer, Fault>, Elapsed>) -> Result<Outcome, Fault> {
    match answered {
        Ok(Ok(answer)) => Outcome::of(&answer),
        Ok(Err(_)) => Ok(Outcome::Lost),
        Err(_) => Err("a call is not answered".into()),
    }
}
