"""The extension of MCP 2026-07-28 for tasks, with version 2 of MCP's SDK for Python. The SDK has a place for extensions,
and this one is written here."""

import asyncio
from typing import Any, Literal

from mcp.client.extension import ClientExtension, ResultClaim
from mcp_types import CallToolResult, Request, RequestParams, Result


class Task(Result):
    result_type: Literal["task"]
    task_id: str
    status: str
    ttl_ms: int | None


class TaskState(Result):
    task_id: str
    status: str
    ttl_ms: int | None
    result: dict[str, Any] | None = None


class TaskParams(RequestParams):
    task_id: str


class TaskRequest(Request[TaskParams, str]):
    method: str
    params: TaskParams
    name_param = "taskId"


async def ask(session, method, task_id, result_type=TaskState):
    return await session.send_request(TaskRequest(method=method, params=TaskParams(task_id=task_id)), result_type)


class Tasks(ClientExtension):
    """Waits for tasks, or cancels them. Adds their states to `seen`."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self, cancels, seen):
        self.cancels, self.seen = cancels, seen

    def claims(self):
        return [ResultClaim(result_type="task", model=Task, resolve=self.resolve)]

    async def resolve(self, task, context):
        state = await ask(context.session, "tasks/get", task.task_id)
        self.seen += [task, state]
        if self.cancels:
            await ask(context.session, "tasks/cancel", task.task_id, Result)
        while state.status == "working":
            await asyncio.sleep(0.05)
            state = await ask(context.session, "tasks/get", task.task_id)
        self.seen.append(state)
        return CallToolResult(content=[]) if state.result is None else CallToolResult.model_validate(state.result)
