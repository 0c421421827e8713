//! Decodes the answers to pending requests.

use std::sync::atomic::Ordering::Relaxed;

use rmcp::model::{
    CallToolResult, ContentBlock, DiscoverResult, EmptyResult, ErrorCode, ErrorData,
    Implementation, InitializeResult, ListToolsResult, MetaObject, ProtocolVersion, RequestId,
    ServerCapabilities, ServerJsonRpcMessage, ServerResult,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::stats::Stats;

use super::message_filter::{
    BYTES, Incoming, MAX_START_BYTES, MessageFilter, OF_SERVER, PendingRequest, UNFIT, fault,
};

impl MessageFilter {
    pub(super) fn answer(
        &self,
        id: i64,
        result: Option<&RawValue>,
        error: Option<&RawValue>,
    ) -> Incoming {
        let Some(asked) = self.pending().remove(&id) else {
            Stats::count(&self.stats.late, 1);
            return Incoming::Nothing;
        };
        let unfit = |what: &str| {
            self.note(&asked, what);
            fault(id, UNFIT)
        };
        let answer = match (result, error) {
            (_, Some(error)) => self.refusal(id, &asked, error),
            (Some(result), None) => match self.exceeds(&asked, result.get().len()) {
                Some(most) => self.oversized_error(id, &asked, most),
                None => match self.decode(&asked, result.get()) {
                    Some(result) => ServerJsonRpcMessage::response(result, RequestId::Number(id)),
                    None => unfit("the answer is not valid for this MCP method"),
                },
            },
            (None, None) => unfit("the answer has neither a result nor an error"),
        };
        Incoming::Answer(Box::new(answer))
    }

    /// Returns the limit that an answer of this length exceeds, or `None` if it fits.
    pub(super) fn exceeds(&self, asked: &PendingRequest, length: usize) -> Option<usize> {
        match asked {
            PendingRequest::Call(_) => {
                let most = self.max_call_bytes.load(Relaxed);
                // The check before decoding covers the whole message, and allows more while tools
                // are listed.
                (length > most).then_some(most)
            }
            PendingRequest::Tools => {
                let left = self.remaining_tool_bytes.load(Relaxed);
                self.remaining_tool_bytes.store(left.saturating_sub(length), Relaxed);
                (length > left).then_some(MAX_START_BYTES)
            }
            _ => None,
        }
    }

    pub(super) fn decode(&self, asked: &PendingRequest, result: &str) -> Option<ServerResult> {
        Some(match asked {
            PendingRequest::Initialize => {
                let mut told: InitializeResult = serde_json::from_str(result).ok()?;
                if !ProtocolVersion::KNOWN_VERSIONS.contains(&told.protocol_version) {
                    return None;
                }
                let _ = self.version.set(told.protocol_version.clone());
                self.set_capabilities(&told.capabilities);
                // The client would log these fields.
                told.server_info = Implementation::new("", "");
                told.capabilities = ServerCapabilities::default();
                told.instructions = None;
                told.meta = None;
                ServerResult::InitializeResult(told)
            }
            PendingRequest::Discover => {
                let mut told: DiscoverResult = serde_json::from_str(result).ok()?;
                let known =
                    |version: &ProtocolVersion| ProtocolVersion::KNOWN_VERSIONS.contains(version);
                told.supported_versions.retain(known);
                self.set_capabilities(&told.capabilities);
                told.capabilities = ServerCapabilities::default();
                told.instructions = None;
                told.meta = None;
                ServerResult::DiscoverResult(told)
            }
            PendingRequest::Tools => {
                let mut told: ListToolsResult = serde_json::from_str(result).ok()?;
                // Unused fields are not kept.
                for tool in &mut told.tools {
                    tool.title = None;
                    tool.output_schema = None;
                    tool.icons = None;
                    tool.meta = None;
                }
                told.meta = None;
                ServerResult::ListToolsResult(told)
            }
            PendingRequest::Call(_) => {
                let mut told = call_result(result)?;
                if told.is_error == Some(true) {
                    self.note_tool_error(asked, &told);
                    told.content.clear();
                    told.structured_content = None;
                }
                let mut meta = MetaObject::default();
                // The size is measured without the envelope, so that it does not depend on the id.
                meta.insert(BYTES.to_owned(), result.len().into());
                told.meta = Some(meta);
                ServerResult::CallToolResult(told)
            }
            PendingRequest::Other => ServerResult::EmptyResult(EmptyResult {}),
        })
    }

    pub(super) fn set_capabilities(&self, capabilities: &ServerCapabilities) {
        let tools = capabilities.tools.as_ref();
        let tells = tools.is_some_and(|tools| tools.list_changed == Some(true));
        self.announces_changes.store(tells, Relaxed);
    }

    /// Records the message of a tool error.
    pub(super) fn note_tool_error(&self, asked: &PendingRequest, told: &CallToolResult) {
        let text = told.content.iter().find_map(|block| block.as_text());
        match (text, &told.structured_content) {
            (Some(text), _) => self.note(asked, &text.text),
            (None, Some(value)) => self.note(asked, &value.to_string()),
            (None, None) => self.note(asked, "the tool reported an error without a message"),
        }
    }

    /// Converts a server's error to one without its message. Version negotiation needs the data of
    /// the original error.
    pub(super) fn refusal(
        &self,
        id: i64,
        asked: &PendingRequest,
        error: &RawValue,
    ) -> ServerJsonRpcMessage {
        #[derive(Deserialize)]
        struct ErrorBody {
            code: i32,
            message: Option<String>,
            data: Option<Value>,
        }
        let Ok(told) = serde_json::from_str::<ErrorBody>(error.get()) else {
            self.note(asked, "a JSON-RPC error without a code");
            return fault(id, OF_SERVER);
        };
        let message = told.message.unwrap_or_default();
        self.note(asked, &format!("JSON-RPC error {}: {message}", told.code));
        if *asked == PendingRequest::Discover {
            let is_of_version = ErrorCode(told.code) == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION;
            let data = told.data.filter(|_| is_of_version);
            let error = ErrorData::new(ErrorCode(told.code), "", data);
            return ServerJsonRpcMessage::error(error, Some(RequestId::Number(id)));
        }
        fault(id, OF_SERVER)
    }
}

/// Decodes the result of a call. Blocks of unknown types are replaced, so that the others are kept.
fn call_result(result: &str) -> Option<CallToolResult> {
    if let Ok(told) = serde_json::from_str(result) {
        return Some(told);
    }
    let mut told: Value = serde_json::from_str(result).ok()?;
    for block in told.get_mut("content")?.as_array_mut()? {
        if serde_json::from_value::<ContentBlock>(block.clone()).is_err() {
            // An image counts as left out.
            *block = serde_json::to_value(ContentBlock::image("", "")).ok()?;
        }
    }
    serde_json::from_value(told).ok()
}
