//! Tool calls that may run as MCP tasks, and requests about tasks.

use std::sync::Arc;

use mcp_aql_core::internal::operation::{CallScope, Cancellation};
use mcp_aql_core::internal::request::Arguments;
use serde_json::value::RawValue;

use super::outbox::AnswerTarget;
use super::reader::MessageReader;
use crate::mcp::admission::RequestMeta;
use crate::mcp::answer::{RpcError, respond_with, write_error};
use crate::mcp::message::{OtherRequest, ToolCall};
use crate::mcp::server::batch_too_large;
use crate::mcp::service::catch_panic;
use crate::mcp::tasks::{TaskCall, TaskProtocol, TaskRequest};

impl MessageReader {
    /// Runs a call that may become a task.
    pub(super) fn call_with_tasks(
        &self,
        protocol: TaskProtocol,
        call: &ToolCall<'_>,
        meta: RequestMeta,
        answers: &AnswerTarget,
    ) {
        let cancellation = Cancellation::default();
        let modern = protocol == TaskProtocol::Extension;
        let (tool, scope) = match self.tool_and_scope(call, &meta, modern, &cancellation) {
            Ok(begun) => begun,
            Err(error) => return self.error(Some(call.id), &error, answers),
        };
        let (server, notifier) = (Arc::clone(&self.server), Arc::new(self.outbox.clone()));
        let [arguments, task]: [Option<Box<str>>; 2] =
            [call.arguments, call.task].map(|text| text.map(Box::from));
        let answer = async move {
            let arguments = Arguments::read(arguments.as_deref(), server.limits());
            let (task, meta) = (task.as_deref(), &meta);
            let call = TaskCall { protocol, tool, arguments, task, meta, notifier, scope };
            server.call_with_tasks(call).await
        };
        self.spawn_answer(call.id, cancellation, answer, answers);
    }

    /// Answers a request about tasks.
    pub(super) fn take_task_request(&self, request: &OtherRequest<'_>, answers: &AnswerTarget) {
        let request_read = match self.read_task_request(request) {
            Ok(read) => read,
            Err(error) => return self.error(Some(request.id), &error, answers),
        };
        let (server, budget) = (Arc::clone(&self.server), answers.batch_budget().cloned());
        let cancellation = Cancellation::default();
        let elicitation = self.waiting_user().filter(|_| request_read.may_ask());
        let scope = CallScope { elicitation, ..cancellation.clone().into() };
        let answer = async move {
            let answer = server.answer_task_request(request_read, scope).await?;
            match budget {
                Some(budget) if !budget.reserve(answer.len()) => Err(batch_too_large()),
                _ => Ok(answer),
            }
        };
        self.spawn_answer(request.id, cancellation, answer, answers);
    }

    fn read_task_request(&self, request: &OtherRequest<'_>) -> Result<TaskRequest, RpcError> {
        let (meta, admitted) = self.lifecycle.admit_request(request)?;
        if !admitted.modern && !admitted.legacy {
            return Err(RpcError::new(-32601, request.method.to_string()));
        }
        let params = request.params.map(RawValue::get);
        self.server.task_request(&request.method, params, &meta, admitted.modern)
    }

    /// Runs a request, and sends its answer unless the client cancels the request.
    fn spawn_answer(
        &self,
        id: &str,
        cancellation: Cancellation,
        answer: impl Future<Output = Result<Vec<u8>, RpcError>> + Send + 'static,
        answers: &AnswerTarget,
    ) {
        let answer = catch_panic(answer);
        self.spawn_request(
            id.into(),
            cancellation,
            answers,
            answer,
            |line, id, answer| match answer {
                Ok(result) => respond_with(line, id, |line| line.extend(result)),
                Err(error) => write_error(line, Some(id), &error),
            },
        );
    }
}
