//! The calls of a client, and what it learns about them.

use serde_json::{Value, json};

use super::transport::{Address, Answered, Client, Halves, Transport};
use crate::Fault;

/// A kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// A change in a session.
    Session,
    /// A change without a session.
    Stateless,
    /// A change with a confirmation token, in a session.
    Confirmed,
    /// A READ. Over HTTP, it has no session.
    Read,
    /// A call that begins an execution. Over HTTP, it has no session.
    Execution,
}

impl Kind {
    pub(super) const ALL: [Self; 5] =
        [Self::Session, Self::Stateless, Self::Confirmed, Self::Read, Self::Execution];

    /// The kinds of calls over a transport.
    pub(super) fn over(transport: Transport) -> impl Iterator<Item = Self> {
        let is_known = move |kind: &Self| transport == Transport::Http || *kind != Self::Stateless;
        Self::ALL.into_iter().filter(is_known)
    }

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

    /// Whether the process refused the call because it stops, with the time after which it may be sent again: over HTTP
    /// in a header.
    pub(super) fn is_shutdown(&self, transport: Transport) -> bool {
        let Self::Failed(error) = self else { return false };
        let seconds = match transport {
            Transport::Http => &error["retry_after"],
            Transport::Stdio => &error["details"]["retry_after_seconds"],
        };
        error["message"].as_str().is_some_and(|text| text.contains(SHUTTING_DOWN))
            && seconds.is_u64()
    }

    /// The outcome of a call with this answer, or without one.
    fn of(answered: Option<Answered>) -> Result<Self, Fault> {
        let Some((id, answer)) = answered else { return Ok(Self::Lost) };
        let Ok(message) = answer.message() else {
            let body = String::from_utf8_lossy(&answer.body);
            // A stream may end without an answer.
            return Ok(match answer.status {
                200 => Self::Lost,
                status => Self::Failed(json!({ "status": status, "message": body })),
            });
        };
        let text = message["result"]["content"][0]["text"].as_str();
        let mut error = match text {
            None => json!({
                "status": answer.status, "message": message["error"]["message"], "answer": message,
            }),
            Some(_) if message["id"] != id => {
                return Err(format!("the answer to another request: {message}").into());
            }
            Some(text) => {
                let reply: Value = serde_json::from_str(text)?;
                if reply["success"] == true {
                    return Ok(Self::Acknowledged(reply["data"].clone()));
                }
                reply["error"].clone()
            }
        };
        error["retry_after"] = answer.retry_after.into();
        Ok(Self::Failed(error))
    }
}

/// The text in the error of a call that was refused because the process stops.
pub(super) const SHUTTING_DOWN: &str = "server is shutting down";

/// A call that is prepared: its connection is open, its session too, and it has its token.
pub(super) struct Prepared {
    client: Client,
    call: Retry,
    kind: Kind,
}

/// A call to send again.
#[derive(Debug, Clone)]
pub(super) struct Retry {
    session: Option<String>,
    arguments: Value,
}

impl Retry {
    pub(super) async fn send(self, address: &Address) -> Result<Outcome, Fault> {
        let mut client = Client::open(address).await?;
        Outcome::of(client.send(self.session.as_deref(), self.arguments, None).await?)
    }
}

impl Prepared {
    /// Opens the connection and prepares the call with this id.
    pub(super) async fn new(address: &Address, kind: Kind, id: &str) -> Result<Self, Fault> {
        let mut client = Client::open(address).await?;
        let mut params = json!({ "id": id });
        let session = match kind {
            Kind::Session | Kind::Confirmed => client.open_session().await?,
            _ => None,
        };
        if kind == Kind::Confirmed {
            let asked = params.clone();
            let reply = client.call(session.as_deref(), kind.operation(), asked).await?;
            let token = reply["error"]["details"]["confirmation_token"].as_str();
            let token = token.ok_or_else(|| format!("no token: {reply}"))?;
            params["_confirmation"] = token.into();
        }
        // The log names the call by `_request_id`.
        let arguments =
            json!({ "operation": kind.operation(), "params": params, "_request_id": id });
        Ok(Self { client, call: Retry { session, arguments }, kind })
    }

    /// Sends another READ on the connection, which is then kept alive.
    pub(super) async fn use_connection(&mut self) -> Result<(), Fault> {
        let params = json!({ "id": "before" });
        let reply = self.client.call(None, Kind::Read.operation(), params).await?;
        if reply["data"] == "before" {
            Ok(())
        } else {
            Err(format!("a READ failed: {reply}").into())
        }
    }

    /// The call to send again, if it is a confirmed change.
    pub(super) fn retry(&self) -> Option<Retry> {
        (self.kind == Kind::Confirmed).then(|| self.call.clone())
    }

    /// Sends the call, at once or in two halves, and waits for its answer.
    pub(super) async fn send(self, halves: Option<Halves>) -> Result<Outcome, Fault> {
        let Self { mut client, call: Retry { session, arguments }, .. } = self;
        Outcome::of(client.send(session.as_deref(), arguments, halves).await?)
    }
}
