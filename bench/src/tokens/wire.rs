//! An MCP client that returns the strings for a model exactly as they were sent.

use mcp_aql::{Adapter, EndpointMode};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::server::line;
use crate::stream_client::StreamClient;
use crate::{Result, records};

/// A connection to one of the two servers.
#[derive(Debug)]
pub struct Wire {
    client: StreamClient,
    instructions: String,
    tool: &'static str,
}

impl Wire {
    /// Connects to an adapter with the fifty operations.
    ///
    /// # Errors
    ///
    /// Returns an error if the adapter does not start or answer.
    pub async fn to_adapter(mode: EndpointMode) -> Result<Self> {
        let adapter = Adapter::builder("records")
            .without_config()
            .mode(mode)
            .operations(records::aql::Records::default())
            .build()?;
        Self::to(adapter).await
    }

    /// Connects to an adapter.
    ///
    /// # Errors
    ///
    /// Returns an error if the adapter does not answer.
    pub async fn to(adapter: Adapter) -> Result<Self> {
        let tool = if adapter.mode() == EndpointMode::Single { "mcp_aql" } else { "mcp_aql_read" };
        Self::over(StreamClient::of_adapter(adapter).await?, tool)
    }

    /// Connects to the fifty operations as discrete tools.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not answer.
    pub async fn to_tools() -> Result<Self> {
        Self::over(StreamClient::of_tools().await?, "")
    }

    fn over((client, hello): (StreamClient, String), tool: &'static str) -> Result<Self> {
        let hello: Value = serde_json::from_str(&hello)?;
        let instructions = hello.pointer("/result/instructions").and_then(Value::as_str);
        Ok(Self { client, instructions: instructions.unwrap_or_default().to_owned(), tool })
    }

    /// Returns the server's instructions for a model.
    pub fn instructions(&self) -> &str {
        &self.instructions
    }

    /// Returns the result of `tools/list` as sent, except for the `_meta` of the tools. Clients read `_meta` themselves
    /// and do not pass it to a model.
    ///
    /// # Errors
    ///
    /// Returns an error if the result is missing.
    pub async fn tools(&mut self) -> Result<String> {
        let text = self.request("tools/list", json!({})).await?;
        let mut parts = text.split(r#","_meta":{"#);
        let mut stripped = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            stripped.push_str(part.split_once('}').map_or(part, |(_, rest)| rest));
        }
        Ok(stripped)
    }

    /// Returns the content item of the result of an `introspect` call.
    ///
    /// # Errors
    ///
    /// Returns an error if the call fails.
    pub async fn introspect(&mut self, params: Value) -> Result<String> {
        let arguments = json!({ "operation": "introspect", "params": params });
        let text = self.call(self.tool, &arguments).await?;
        match text.starts_with(r#"{"success":true"#) {
            true => Ok(with_a_fixed_session(&text)),
            false => Err(format!("{arguments}: {text}").into()),
        }
    }

    /// Returns the content item of the result of a call.
    ///
    /// # Errors
    ///
    /// Returns an error if the content item is missing.
    pub async fn call(&mut self, tool: &str, arguments: &Value) -> Result<String> {
        let call = json!({ "name": tool, "arguments": arguments });
        let result: Value = serde_json::from_str(&self.request("tools/call", call).await?)?;
        let text = result.pointer("/content/0/text").and_then(Value::as_str);
        text.map(str::to_owned).ok_or_else(|| format!("{arguments}: {result}").into())
    }

    async fn request(&mut self, method: &str, params: Value) -> Result<String> {
        #[derive(Deserialize)]
        struct Answer<'a> {
            #[serde(borrow)]
            result: &'a RawValue,
        }
        let answer = self.client.ask(&line(1, method, &params)).await?;
        let answer: Answer<'_> = serde_json::from_str(answer)?;
        Ok(answer.result.get().to_owned())
    }
}

/// Replaces the random session id by a fixed one. Otherwise the token count would vary.
///
/// ```json
/// {"session_id":"s-09d1f2a37c44be80"}
/// {"session_id":"s-7044b5d21da56edf"}
/// ```
fn with_a_fixed_session(text: &str) -> String {
    const ID: &str = "s-7044b5d21da56edf";
    const BEFORE: &str = r#""session_id":""#;
    let id = text.split_once(BEFORE).and_then(|(_, rest)| rest.split_once('"'));
    id.map_or_else(|| text.to_owned(), |(id, _)| text.replacen(id, ID, 1))
}
