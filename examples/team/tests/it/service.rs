//! Starts the service and calls it over HTTP.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, PgPool};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::Child;

/// The scopes of a team member.
pub(crate) const ALL_SCOPES: &str =
    "team:read team:create team:update team:delete team:execute team:cleanup";

/// Waits for `wait`. The limit is generous: it only ends a failed test.
pub(crate) async fn eventually<T>(wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(120), wait).await.unwrap()
}

/// The data of a service: a folder and, for PostgreSQL, a database.
pub(crate) struct Data {
    folder: TempDir,
    pub(crate) database_url: Option<String>,
}

impl Data {
    /// Returns data in SQLite.
    pub(crate) fn in_sqlite() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), database_url: None }
    }

    /// Creates a database in the PostgreSQL server of the tests. Returns `None` without a server.
    pub(crate) async fn in_postgres() -> Option<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let Ok(address) = std::env::var("MCP_AQL_TEST_POSTGRES") else {
            // Write to the terminal directly: the test harness hides the output of passing tests.
            let _ = writeln!(
                std::io::stderr(),
                "MCP_AQL_TEST_POSTGRES is not set: PostgreSQL is left out (scripts/postgres.sh)"
            );
            return None;
        };
        let parts = address.split_whitespace().filter_map(|part| part.split_once('='));
        let (name, others): (Vec<_>, Vec<_>) = parts.partition(|(key, _)| *key == "dbname");
        let options: Vec<_> = others.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let url = |name: &str| format!("postgres:///{name}?{}", options.join("&"));
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let new = format!("team_{}_{number}", std::process::id());
        let server = PgPool::connect(&url(name[0].1)).await.unwrap();
        let create = AssertSqlSafe(format!("CREATE DATABASE {new}"));
        sqlx::raw_sql(create).execute(&server).await.unwrap();
        Some(Self { folder: tempfile::tempdir().unwrap(), database_url: Some(url(&new)) })
    }

    /// Returns new data for each kind of database.
    pub(crate) async fn of_each_kind() -> Vec<Self> {
        [Some(Self::in_sqlite()), Self::in_postgres().await].into_iter().flatten().collect()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_team"));
        command.arg("--data").arg(self.folder.path()).args(arguments).env_remove("DATABASE_URL");
        command.envs(self.database_url.iter().map(|url| ("DATABASE_URL", OsString::from(url))));
        command
    }

    /// Issues a token with the command `token`.
    pub(crate) fn token(&self, tenant: &str, subject: &str, scope: &str) -> String {
        let arguments = ["token", "--tenant", tenant, "--subject", subject, "--scope", scope];
        let output = self.command(&arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Starts a process of the service on a free port.
    pub(crate) async fn start(&self) -> Server {
        self.start_with(&[]).await
    }

    /// Starts a process of the service with additional environment variables.
    pub(crate) async fn start_with(&self, variables: &[(&str, &str)]) -> Server {
        let mut command =
            tokio::process::Command::from(self.command(&["serve", "--listen", "127.0.0.1:0"]));
        command.envs(variables.iter().copied()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = loop {
            let line = log.next_line().await.unwrap().unwrap();
            if let Some((_, url)) = line.split_once("listening url=http://") {
                break url.strip_suffix("/mcp").unwrap().to_owned();
            }
        };
        // Keep reading the log, because a full pipe would block the process.
        tokio::spawn(async move { while let Ok(Some(_)) = log.next_line().await {} });
        Server { child, address }
    }
}

/// A process of the service. If you drop it, the process is killed.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Returns a caller of this process.
    pub(crate) fn caller(&self, token: &str) -> Caller {
        Caller { address: self.address.clone(), token: token.to_owned() }
    }

    /// Kills the process with SIGKILL.
    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }
}

/// A caller with a token. Each call is a separate request without a session, as in MCP 2026-07-28.
#[derive(Clone)]
pub(crate) struct Caller {
    address: String,
    token: String,
}

impl Caller {
    /// Calls an operation and returns its reply.
    pub(crate) async fn call(&self, operation: &str, params: Value) -> Value {
        self.try_call(operation, params).await.unwrap().1
    }

    /// Calls an operation and returns its result. Panics if the call fails.
    pub(crate) async fn data(&self, operation: &str, params: Value) -> Value {
        let reply = self.call(operation, params).await;
        assert_eq!(reply["success"], true, "{operation}: {reply}");
        reply["data"].clone()
    }

    /// Calls an operation and returns its error code. Panics if the call succeeds.
    pub(crate) async fn code(&self, operation: &str, params: Value) -> String {
        let reply = self.call(operation, params).await;
        let code = reply["error"]["code"].as_str();
        code.unwrap_or_else(|| panic!("{operation}: {reply}")).to_owned()
    }

    /// Calls an operation that requires a confirmation, and returns the confirmation token.
    pub(crate) async fn ask(&self, operation: &str, params: Value) -> Value {
        let reply = self.call(operation, params).await;
        assert_eq!(reply["error"]["code"], "CONFIRMATION_REQUIRED", "{reply}");
        reply["error"]["details"]["confirmation_token"].clone()
    }

    /// Calls an operation. Returns the HTTP status and the reply. Fails if the process is killed before it responds.
    pub(crate) async fn try_call(
        &self,
        operation: &str,
        params: Value,
    ) -> std::io::Result<(u16, Value)> {
        let (status, result) = self.request(operation, params, json!({}), json!({})).await?;
        let text = result["content"][0]["text"].as_str();
        Ok((status, serde_json::from_str(text.unwrap_or_else(|| panic!("{result}")))?))
    }

    /// Calls an operation as a client with a user to ask. Returns the MCP result. `answer` is the user's answer, or
    /// empty if the user was not asked yet.
    pub(crate) async fn call_with_user(
        &self,
        operation: &str,
        params: Value,
        answer: Value,
    ) -> Value {
        let capabilities = json!({ "elicitation": { "form": {} } });
        self.request(operation, params, capabilities, answer).await.unwrap().1
    }

    async fn request(
        &self,
        operation: &str,
        params: Value,
        capabilities: Value,
        answer: Value,
    ) -> std::io::Result<(u16, Value)> {
        let family = match operation.split('_').next().unwrap() {
            "create" => "create",
            "update" => "update",
            "delete" => "delete",
            "export" | "cancel" | "retry" => "execute",
            _ => "read",
        };
        let tool = format!("mcp_aql_{family}");
        let mut call = json!({
            "name": tool,
            "arguments": { "operation": operation, "params": params },
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": capabilities,
            },
        });
        call.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call });
        let (status, answer) = self.post(&tool, &body.to_string()).await?;
        let (start, end) = (answer.find("{\"jsonrpc\""), answer.rfind('}'));
        let (Some(start), Some(end)) = (start, end) else {
            return Err(std::io::Error::other(format!("{status}: {answer}")));
        };
        let message: Value = serde_json::from_str(&answer[start..=end])?;
        Ok((status, message["result"].clone()))
    }

    async fn post(&self, tool: &str, body: &str) -> std::io::Result<(u16, String)> {
        let (address, token, length) = (&self.address, &self.token, body.len());
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\nAuthorization: Bearer {token}\r\n\
             Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        Ok((status.ok_or(std::io::ErrorKind::UnexpectedEof)?, answer))
    }
}
