//! A PostgreSQL server that stops responding on request. The tests of `mcp-aql-sqlx` include this file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

/// State in which everything is forwarded.
pub(crate) const RUNNING: u8 = 0;
/// State in which responses are held back.
pub(crate) const FROZEN: u8 = 1;
/// State that changes to [`FROZEN`] as soon as a client commits.
pub(crate) const UNTIL_COMMIT: u8 = 2;

/// Listens at a socket in `folder` and forwards connections to the socket of the real server. `state` controls this.
pub(crate) async fn stand_between(folder: &Path, server: PathBuf, state: Arc<AtomicU8>) {
    let listener = UnixListener::bind(folder.join(".s.PGSQL.5432")).unwrap();
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let server = UnixStream::connect(server.join(".s.PGSQL.5432")).await.unwrap();
            let ((mut questions, mut to_client), (mut answers, mut to_server)) =
                (client.into_split(), server.into_split());
            let known = Arc::clone(&state);
            tokio::spawn(async move {
                let mut buffer = vec![0; 65_536];
                while let Ok(length @ 1..) = questions.read(&mut buffer).await {
                    let is_commit = buffer[..length].windows(6).any(|part| part == b"COMMIT");
                    if is_commit && known.load(Ordering::SeqCst) == UNTIL_COMMIT {
                        known.store(FROZEN, Ordering::SeqCst);
                    }
                    to_server.write_all(&buffer[..length]).await.unwrap();
                }
            });
            let state = Arc::clone(&state);
            tokio::spawn(async move {
                let mut buffer = vec![0; 65_536];
                while let Ok(length @ 1..) = answers.read(&mut buffer).await {
                    while state.load(Ordering::SeqCst) == FROZEN {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                    if to_client.write_all(&buffer[..length]).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
}
