//! A channel that passes requests to a program of the operator, for example for a chat or a desktop notification.

use std::ffi::{OsStr, OsString};
use std::io;
use std::process::Stdio;
use std::time::Duration;

use mcp_aql_core::BoxFuture;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::{ChannelError, HumanChannel, HumanRequest};

/// Runs a program for each request.
///
/// Use this to reach people by a chat, a phone or a desktop notification. The program receives the request, with its
/// code, as one JSON object on its standard input:
///
/// ```json
/// {
///   "id": "9f0c…", "kind": "block", "agent": "tidy", "action": "rm -rf /",
///   "reasons": ["It matches 'rm -rf*'."], "code": "…", "expires_at": "2031-05-06T07:05:00.000Z"
/// }
/// ```
///
/// No shell is involved. Arguments and environment contain no part of the request, because other users of the machine
/// can read them. The program's output is discarded.
///
/// The program has failed if its exit code is not 0. If it runs for longer than [`time_limit`](Self::time_limit), it is
/// killed and has failed, too.
///
/// ```
/// use std::time::Duration;
/// use mcp_aql::operator::CommandChannel;
///
/// let channel = CommandChannel::new("/usr/local/bin/notify", ["--room", "operations"])
///     .time_limit(Duration::from_secs(5));
/// ```
///
/// Source: MCP-AQL §8.8.4, §8.8.6 (REQ-OOB-05, REQ-OOB-13).
#[derive(Debug, Clone)]
pub struct CommandChannel {
    program: OsString,
    arguments: Vec<OsString>,
    time_limit: Duration,
}

impl CommandChannel {
    /// Creates a channel that runs `program` with these arguments. A name without a path is looked up in `PATH`.
    pub fn new<A: AsRef<OsStr>>(
        program: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            arguments: arguments.into_iter().map(|each| each.as_ref().to_owned()).collect(),
            time_limit: Duration::from_secs(10),
        }
    }

    /// Sets the time after which the program is killed. Default: 10 seconds. Set a longer time if you call a slow
    /// service.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    async fn run(&self, input: Vec<u8>) -> io::Result<()> {
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // The program must not outlive the request, even if the future is dropped.
            .kill_on_drop(true)
            .spawn()?;
        let stdin = child.stdin.take();
        let ended = async {
            if let Some(mut stdin) = stdin
                && let Err(error) = stdin.write_all(&input).await
                // A program that exits without reading its input is not an error.
                && error.kind() != io::ErrorKind::BrokenPipe
            {
                return Err(error);
            }
            child.wait().await
        };
        match tokio::time::timeout(self.time_limit, ended).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => Err(io::Error::other(format!("the program ended with {status}"))),
            Ok(Err(error)) => Err(error),
            Err(_) => {
                child.kill().await?;
                Err(io::ErrorKind::TimedOut.into())
            }
        }
    }
}

impl HumanChannel for CommandChannel {
    fn name(&self) -> &'static str {
        "command"
    }

    fn present<'a>(&'a self, request: &'a HumanRequest) -> BoxFuture<'a, Result<(), ChannelError>> {
        let input = json!({
            "id": request.id,
            "kind": request.kind,
            "agent": request.agent,
            "action": request.action,
            "reasons": request.reasons,
            "code": request.code.reveal(),
            "expires_at": mcp_aql_core::internal::util::clock::text(request.expires_at),
        });
        let input = format!("{input}\n").into_bytes();
        Box::pin(async { self.run(input).await.map_err(|error| ChannelError(Box::new(error))) })
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {

    use super::super::{Code, RequestKind};
    use super::*;

    fn request() -> HumanRequest {
        HumanRequest {
            id: "c-1".to_owned(),
            kind: RequestKind::Verify,
            agent: None,
            action: "say \"$(id)\"; `x`\n".to_owned(),
            reasons: vec!["Why not?".to_owned()],
            code: Code::new("K7QP".to_owned()),
            expires_at: "2031-05-06T07:05:00Z".parse().unwrap(),
        }
    }

    fn shell(script: &str, argument: &str) -> CommandChannel {
        CommandChannel::new("sh", ["-c", script, "sh", argument])
    }

    #[tokio::test]
    async fn a_program_reads_the_request_and_nothing_shows_it_elsewhere() {
        // REQ-OOB-05, REQ-OOB-13
        let path = std::env::temp_dir().join(mcp_aql_core::internal::vocab::new_id("command"));
        let script = "env > \"$1\"; tr '\\0' ' ' < /proc/$$/cmdline >> \"$1\"; cat > \"$1.in\"";
        shell(script, path.to_str().unwrap()).present(&request()).await.unwrap();
        let input = path.with_extension("in");
        let read: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(&input).unwrap()).unwrap();
        assert_eq!(
            read,
            json!({
                "id": "c-1", "kind": "verify", "agent": null, "action": "say \"$(id)\"; `x`\n",
                "reasons": ["Why not?"], "code": "K7QP", "expires_at": "2031-05-06T07:05:00.000Z",
            })
        );
        let seen = std::fs::read_to_string(&path).unwrap();
        assert!(seen.contains("PATH=") && !seen.contains("K7QP"), "{seen}");
        std::fs::remove_file(&path).unwrap();
        std::fs::remove_file(&input).unwrap();
    }

    #[tokio::test]
    async fn a_program_that_fails_is_an_error_and_one_that_does_not_read_is_none() {
        for (script, fails) in [("cat > /dev/null; exit 3", true), ("exec <&-; exit 0", false)] {
            assert_eq!(shell(script, "").present(&request()).await.is_err(), fails, "{script}");
        }
        let missing = CommandChannel::new("/nowhere/to/be/found", [""; 0]);
        assert!(missing.present(&request()).await.is_err());
    }

    #[tokio::test]
    async fn a_program_that_takes_too_long_is_killed() {
        let path = std::env::temp_dir().join(mcp_aql_core::internal::vocab::new_id("command"));
        let channel = shell("echo $$ > \"$1\"; exec sleep 60", path.to_str().unwrap())
            .time_limit(Duration::from_millis(500));
        let error = channel.present(&request()).await.unwrap_err();
        assert!(error.to_string().contains("timed out"), "{error}");
        let process = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let running = std::path::Path::new("/proc").join(process.trim()).exists();
        assert!(!running || cfg!(not(target_os = "linux")), "{process}");
    }
}
