//! Simulates misbehaving clients. Each checks that the adapter reacts correctly.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::Fault;
use crate::http::{Connection, call, request};

/// A kind of misbehavior.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Habit {
    /// Never completes the headers.
    HalfHeaders,
    /// Never completes the body.
    HalfBody,
    /// Reads one byte at a time.
    ReadsSlowly,
    /// Never reads a long response.
    StopsReading,
    /// Disconnects during a call, with a FIN packet.
    VanishesPolitely,
    /// Disconnects during a call, with an RST packet.
    VanishesRudely,
    /// Disconnects during the calls of a session. Another connection then closes the session.
    LeavesItsSession,
}

pub(crate) const HABITS: [(Habit, &str); 7] = [
    (Habit::HalfHeaders, "headers never finished: disconnected"),
    (Habit::HalfBody, "body never finished: 408, then disconnected"),
    (Habit::ReadsSlowly, "reads a byte at a time: receives everything"),
    (Habit::StopsReading, "stops reading: disconnected"),
    (Habit::VanishesPolitely, "vanishes mid-call with FIN"),
    (Habit::VanishesRudely, "vanishes mid-call with RST"),
    (Habit::LeavesItsSession, "vanishes mid-call, its session is closed"),
];

/// Size of a long response: more bytes than the socket buffers of both ends can hold.
const LONG_ANSWER_BYTES: usize = 12 << 20;
/// Additional time for the adapter's time limits, because the machine may be busy.
const TIMEOUT_TOLERANCE: Duration = Duration::from_secs(60);

/// Runs `count` clients of each kind concurrently. Returns the number of correct reactions per kind.
pub(crate) async fn all(address: SocketAddr, count: usize) -> Result<[usize; 7], Fault> {
    let mut clients = JoinSet::new();
    for (index, (habit, _)) in HABITS.into_iter().enumerate() {
        for _ in 0..wanted(habit, count) {
            clients.spawn(
                async move { (index, timeout(TIMEOUT_TOLERANCE, one(address, habit)).await) },
            );
        }
    }
    let mut treated = [0; 7];
    while let Some(client) = clients.join_next().await {
        let (index, outcome) = client?;
        if outcome.is_ok_and(|outcome| outcome.is_ok())
            && let Some(treated) = treated.get_mut(index)
        {
            *treated += 1;
        }
    }
    Ok(treated)
}

/// Returns the number of clients of a kind. It is lower for long responses, because they occupy memory while they wait.
pub(crate) fn wanted(habit: Habit, count: usize) -> usize {
    if habit == Habit::StopsReading { count.div_ceil(10) } else { count }
}

async fn one(address: SocketAddr, habit: Habit) -> Result<(), Fault> {
    let echo = call(address, None, 1, "get_echo", json!({ "nonce": "hostile" }));
    match habit {
        Habit::HalfHeaders => {
            let mut stream = TcpStream::connect(address).await?;
            stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: loc").await?;
            until_end(&mut stream).await;
        }
        Habit::HalfBody => {
            let mut connection = Connection::open(address).await?;
            let half = echo.get(..echo.len() - 20).ok_or("a short request")?;
            connection.stream.write_all(half).await?;
            let answer = connection.answer().await?;
            if answer.status != 408 || answer.message()?["error"]["code"] != -32600 {
                return Err("no 408".into());
            }
            until_end(connection.stream.get_mut()).await;
        }
        Habit::ReadsSlowly => {
            let params = json!({ "bytes": 30_000 });
            let mut stream = TcpStream::connect(address).await?;
            let request = call(address, None, 1, "get_bulk", params);
            let request =
                String::from_utf8(request)?.replace("\r\nHost", "\r\nConnection: close\r\nHost");
            stream.write_all(request.as_bytes()).await?;
            let mut read = 0;
            let mut byte = [0];
            while stream.read(&mut byte).await? == 1 {
                read += usize::from(byte == *b"x");
                if read < 2_000 {
                    sleep(Duration::from_millis(1)).await;
                }
            }
            if read < 30_000 {
                return Err("the answer was cut short".into());
            }
        }
        Habit::StopsReading => {
            let mut stream = TcpStream::connect(address).await?;
            stream
                .write_all(&call(
                    address,
                    None,
                    1,
                    "get_bulk",
                    json!({ "bytes": LONG_ANSWER_BYTES }),
                ))
                .await?;
            // Wait much longer than the client timeout. The adapter must have dropped the rest of the response.
            sleep(Duration::from_secs(12)).await;
            if until_end(&mut stream).await >= LONG_ANSWER_BYTES {
                return Err("the whole answer was buffered".into());
            }
        }
        Habit::VanishesPolitely | Habit::VanishesRudely => {
            for operation in ["get_never", "execute_wait"] {
                let mut stream = TcpStream::connect(address).await?;
                stream.write_all(&call(address, None, 1, operation, json!({}))).await?;
                sleep(Duration::from_millis(200)).await;
                if habit == Habit::VanishesRudely {
                    stream.set_zero_linger()?;
                }
            }
        }
        Habit::LeavesItsSession => {
            let mut connection = Connection::open(address).await?;
            let name = connection.open_session().await?;
            for (id, operation) in ["get_never", "execute_wait"].into_iter().enumerate() {
                let mut stream = TcpStream::connect(address).await?;
                let id = id as u64 + 1;
                stream.write_all(&call(address, Some(&name), id, operation, json!({}))).await?;
                sleep(Duration::from_millis(200)).await;
            }
            connection.close_session(&name).await?;
            let gone = call(address, Some(&name), 3, "get_echo", json!({ "nonce": "x" }));
            if connection.send(&gone).await?.status != 404 {
                return Err("a closed session answered".into());
            }
            let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
            let gone = request(address, "POST", "Mcp-Session-Id: none\r\n", ping);
            if connection.send(&gone).await?.status != 404 {
                return Err("a session that never existed answered".into());
            }
        }
    }
    Ok(())
}

/// Reads until the connection is closed or reset. Returns the number of bytes.
async fn until_end(stream: &mut TcpStream) -> usize {
    let mut read = Vec::new();
    let _ = stream.read_to_end(&mut read).await;
    read.len()
}
