//! Writes transcripts of one task with three sizes of adapter.

use std::fmt::Write as _;

use mcp_aql::EndpointMode;
use serde_json::Value;

use super::conversation::Conversation;
use super::whole_tasks::{Cost, SIZES, conversation, desk_with, plain_tools};
use super::{Count, scripts};
use crate::Result;

/// Formats the transcripts as Markdown. They contain everything that a model reads and writes, with its token counts.
///
/// # Errors
///
/// Returns an error if a server sends an unexpected answer.
pub async fn transcripts(count: Count<'_>) -> Result<String> {
    let mut text = String::new();
    for size in SIZES {
        let script = scripts::cancellation();
        let tools = plain_tools(desk_with(size, EndpointMode::Single)?).await?;
        let conversation = conversation(desk_with(size, EndpointMode::Single)?, &script).await?;
        let plain = Cost::of_plain(&conversation, &tools, count);
        let _ = writeln!(text, "## {size} operations\n");
        write_transcript(&conversation, script.iter().map(|it| it.says), count, &mut text)?;
        let ours = Cost::of(&conversation, count);
        let _ = writeln!(
            text,
            "The whole task takes {} tokens in {} calls. With {size} plain tools, it takes {} tokens in {} \
             calls, of which the list of tools has {}.\n",
            ours.whole, ours.calls, plain.whole, plain.calls, plain.tools
        );
    }
    Ok(text)
}

fn write_transcript(
    conversation: &Conversation,
    says: impl Iterator<Item = &'static str>,
    count: Count<'_>,
    text: &mut String,
) -> Result {
    let list: Value = serde_json::from_str(&conversation.tools)?;
    for tool in list["tools"].as_array().into_iter().flatten() {
        let description = tool["description"].as_str().unwrap_or_default();
        let _ = writeln!(
            text,
            "The description of the tool `{}` ({} tokens, {} with name, schema and hints):\n\n```text\n{description}\n```\n",
            tool["name"].as_str().unwrap_or_default(),
            count(description),
            count(&conversation.tools),
        );
    }
    let instructions = &conversation.instructions;
    let _ = writeln!(
        text,
        "The server's instructions ({} tokens):\n\n```text\n{instructions}\n```\n",
        count(instructions)
    );
    for sentence in says {
        let _ = writeln!(text, "The user says: \"{sentence}\"\n");
    }
    for trip in &conversation.trips {
        let call: Value = serde_json::from_str(&trip.call)?;
        let _ = writeln!(
            text,
            "The model calls ({} tokens), and reads ({} tokens):\n\n```json\n{}\n```\n\n```json\n{}\n```\n",
            count(&trip.call),
            count(&trip.reply),
            call["arguments"],
            trip.reply,
        );
    }
    Ok(())
}
