//! The calls of a client, and the outcomes that the client learns.

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
    /// A call that starts an execution. Over HTTP, it has no session.
    Execution,
}

impl Kind {
    pub(super) const ALL: [Self; 5] =
        [Self::Session, Self::Stateless, Self::Confirmed, Self::Read, Self::Execution];

    /// Returns the kinds of calls that a transport supports. Stateless calls need HTTP.
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

/// The outcome of a call, as known to the client.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    /// The call succeeded. Contains the reply's `data`.
    Acknowledged(Value),
    /// The call failed. Contains the error of the operation, of JSON-RPC or of HTTP.
    Failed(Value),
    /// The connection ended before the response.
    Lost,
}

impl Outcome {
    pub(super) fn is_acknowledged(&self) -> bool {
        matches!(self, Self::Acknowledged(_))
    }

    /// Returns the id of the execution that the call started.
    pub(super) fn execution(&self) -> Option<&str> {
        match self {
            Self::Acknowledged(data) => data["execution_id"].as_str(),
            _ => None,
        }
    }

    /// Returns `true` if the process rejected the call because it is stopping, and reported when to retry. Over HTTP,
    /// the time is in a header.
    pub(super) fn is_shutdown(&self, transport: Transport) -> bool {
        let Self::Failed(error) = self else { return false };
        let seconds = match transport {
            Transport::Http => &error["retry_after"],
            Transport::Stdio => &error["details"]["retry_after_seconds"],
        };
        error["message"].as_str().is_some_and(|text| text.contains(SHUTTING_DOWN))
            && seconds.is_u64()
    }

    /// Converts a response, or `None` if there was none.
    fn of(answered: Option<Answered>) -> Result<Self, Fault> {
        let Some((id, answer)) = answered else { return Ok(Self::Lost) };
        let Ok(message) = answer.message() else {
            let body = String::from_utf8_lossy(&answer.body);
            // A stream of events may end without a response.
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

/// Part of the error message for calls rejected during a stop.
pub(super) const SHUTTING_DOWN: &str = "server is shutting down";

/// A prepared call. Its connection and session are open, and it has its confirmation token.
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
    ///
    /// The arguments of a confirmed change:
    ///
    /// ```json
    /// { "operation": "delete_entries", "_request_id": "call-7",
    ///   "params": { "id": "call-7", "_confirmation": "conf_…" } }
    /// ```
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
        // Use the same id as `_request_id`, so that the log contains it.
        let arguments =
            json!({ "operation": kind.operation(), "params": params, "_request_id": id });
        Ok(Self { client, call: Retry { session, arguments }, kind })
    }

    /// Sends another READ first. Afterwards the connection is kept alive.
    pub(super) async fn use_connection(&mut self) -> Result<(), Fault> {
        let params = json!({ "id": "before" });
        let reply = self.client.call(None, Kind::Read.operation(), params).await?;
        if reply["data"] == "before" {
            Ok(())
        } else {
            Err(format!("a READ failed: {reply}").into())
        }
    }

    /// Returns the call for sending it again, if it is a confirmed change.
    pub(super) fn retry(&self) -> Option<Retry> {
        (self.kind == Kind::Confirmed).then(|| self.call.clone())
    }

    /// Sends the call, whole or in two halves, and waits for the response.
    pub(super) async fn send(self, halves: Option<Halves>) -> Result<Outcome, Fault> {
        let Self { mut client, call: Retry { session, arguments }, .. } = self;
        Outcome::of(client.send(session.as_deref(), arguments, halves).await?)
    }
}
