//! Calls an adapter in many concurrent sessions and checks every reply.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use serde_json::json;
use tokio::task::JoinSet;

use crate::Fault;
use crate::http::Connection;
use crate::random::Random;

/// A session and what its client expects of it.
pub(crate) struct Session {
    /// The HTTP session id.
    name: String,
    /// The session id that operations see. The first reply contains it, and no later reply may contain another one.
    id: OnceLock<String>,
    calls: AtomicU64,
    /// Sum of the call counts that the session reported.
    counted: AtomicU64,
}

/// The open sessions.
pub(crate) struct Sessions {
    address: SocketAddr,
    connections: usize,
    sessions: Arc<Vec<Session>>,
}

/// The numbers of calls.
#[derive(Default)]
pub(crate) struct Calls {
    in_sessions: AtomicU64,
    stateless: AtomicU64,
    panics: AtomicU64,
}

impl Calls {
    pub(crate) fn all(&self) -> u64 {
        self.in_sessions.load(Relaxed) + self.stateless.load(Relaxed) + self.panics.load(Relaxed)
    }

    pub(crate) fn summary(&self) -> String {
        let [sessions, stateless, panics] =
            [&self.in_sessions, &self.stateless, &self.panics].map(|count| count.load(Relaxed));
        format!("{sessions}+{stateless}+{panics}")
    }
}

/// Runs `work` on several connections at once. Each repeatedly takes the next number, up to `count`.
async fn spread<F, W>(connections: usize, count: u64, work: W) -> Result<(), Fault>
where
    W: Fn(usize, Arc<AtomicU64>) -> F,
    F: Future<Output = Result<(), Fault>> + Send + 'static,
{
    let next = Arc::new(AtomicU64::new(0));
    let mut tasks = JoinSet::new();
    for connection in 0..connections.min(usize::try_from(count)?) {
        tasks.spawn(work(connection, Arc::clone(&next)));
    }
    while let Some(ended) = tasks.join_next().await {
        // If one task fails, the function returns and the others are aborted.
        ended??;
    }
    Ok(())
}

impl Sessions {
    /// Opens `count` sessions and makes one call in each.
    pub(crate) async fn open(
        address: SocketAddr,
        connections: usize,
        count: usize,
    ) -> Result<Self, Fault> {
        let opened = Arc::new(tokio::sync::Mutex::new(Vec::with_capacity(count)));
        let total = count as u64;
        spread(connections, total, |_, next| {
            let opened = Arc::clone(&opened);
            async move {
                let mut connection = Connection::open(address).await?;
                while next.fetch_add(1, Relaxed) < total {
                    let name = connection.open_session().await?;
                    let session = Session {
                        name,
                        id: OnceLock::new(),
                        calls: AtomicU64::new(0),
                        counted: AtomicU64::new(0),
                    };
                    session.call(&mut connection, 1).await?;
                    opened.lock().await.push(session);
                }
                Ok(())
            }
        })
        .await?;
        let sessions = std::mem::take(&mut *opened.lock().await);
        Ok(Self { address, connections, sessions: Arc::new(sessions) })
    }

    /// Returns the number of different session ids.
    pub(crate) fn ids(&self) -> usize {
        self.sessions.iter().filter_map(|session| session.id.get()).collect::<HashSet<_>>().len()
    }

    /// Makes calls in random sessions and without a session. Some of them panic. A session is used on several
    /// connections at the same time, and a connection serves all sessions.
    pub(crate) async fn call(&self, count: u64, seen: &Arc<Calls>) -> Result<(), Fault> {
        let address = self.address;
        spread(self.connections, count, |index, next| {
            let (sessions, seen) = (Arc::clone(&self.sessions), Arc::clone(seen));
            async move {
                let mut connection = Connection::open(address).await?;
                let mut random = Random::new(index as u64 + 1);
                loop {
                    let id = next.fetch_add(1, Relaxed);
                    if id >= count {
                        return Ok(());
                    }
                    let drawn = random.next();
                    let session = sessions.get(usize::try_from(drawn >> 8)? % sessions.len());
                    match drawn % 100 {
                        0 => {
                            panicked(&mut connection, session, id).await?;
                            seen.panics.fetch_add(1, Relaxed);
                        }
                        1..30 => {
                            stateless(&mut connection, id).await?;
                            seen.stateless.fetch_add(1, Relaxed);
                        }
                        _ => {
                            let session = session.ok_or("no session")?;
                            session.call(&mut connection, id).await?;
                            seen.in_sessions.fetch_add(1, Relaxed);
                        }
                    }
                }
            }
        })
        .await
    }

    /// Returns the number of sessions that counted each of their calls exactly once. The reported counts are then
    /// 1, 2, …, n, with the sum n · (n + 1) / 2.
    pub(crate) fn counted(&self) -> usize {
        let complete = |session: &&Session| {
            let calls = session.calls.load(Relaxed);
            session.counted.load(Relaxed) == calls * (calls + 1) / 2
        };
        self.sessions.iter().filter(complete).count()
    }

    /// Closes the sessions. Returns the number of sessions that the adapter had already evicted.
    pub(crate) async fn close(self) -> Result<usize, Fault> {
        let address = self.address;
        let (next_session, evicted) =
            (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&evicted);
        spread(self.connections, self.sessions.len() as u64, |_, _| {
            let (sessions, next) = (Arc::clone(&self.sessions), Arc::clone(&next_session));
            let evicted = Arc::clone(&counted);
            async move {
                let mut connection = Connection::open(address).await?;
                while let Some(session) = sessions.get(next.fetch_add(1, Relaxed)) {
                    let was_open = connection.close_session(&session.name).await?;
                    evicted.fetch_add(usize::from(!was_open), Relaxed);
                }
                Ok(())
            }
        })
        .await?;
        Ok(evicted.load(Relaxed))
    }
}

impl Session {
    async fn call(&self, connection: &mut Connection, id: u64) -> Result<(), Fault> {
        let nonce = format!("{}-{id}", self.name);
        let params = json!({ "nonce": nonce });
        let reply = connection.call(Some(&self.name), id, "get_echo", params).await?;
        let data = &reply["data"]["echo"];
        let session = data["session"].as_str().ok_or_else(|| format!("no session: {reply}"))?;
        let known = self.id.get_or_init(|| session.to_owned());
        if data["nonce"] != nonce.as_str() || known != session {
            return Err(format!("call {nonce} of {known} got {reply}").into());
        }
        self.calls.fetch_add(1, Relaxed);
        self.counted.fetch_add(data["calls"].as_u64().ok_or("no count")?, Relaxed);
        Ok(())
    }
}

async fn stateless(connection: &mut Connection, id: u64) -> Result<(), Fault> {
    let nonce = format!("none-{id}");
    let reply = connection.call(None, id, "get_echo", json!({ "nonce": nonce })).await?;
    let data = &reply["data"]["echo"];
    if data["nonce"] != nonce.as_str() || !data["session"].is_null() {
        return Err(format!("call {nonce} without a session got {reply}").into());
    }
    Ok(())
}

async fn panicked(
    connection: &mut Connection,
    session: Option<&Session>,
    id: u64,
) -> Result<(), Fault> {
    let session = session.map(|session| session.name.as_str());
    let reply = connection.call(session, id, "execute_panic", json!({})).await?;
    if reply["error"]["code"] != "INTERNAL_ERROR" {
        return Err(format!("a panic got {reply}").into());
    }
    Ok(())
}
