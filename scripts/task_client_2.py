#!/usr/bin/env python3
"""Follows executions of examples/tasks as tasks of the extension of MCP 2026-07-28, with version 2 of MCP's SDK for
Python. The SDK has a place for extensions, and this one is written here.

    task_client_2.py LONG SHORT

Both are URLs, or commands as JSON lists of words. The export of LONG takes some seconds, and that of SHORT has a
result. Exits with 1 at the first unexpected answer.
"""

import asyncio
import json
import os
import sys
from typing import Any, Literal

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.extension import ClientExtension, ResultClaim
from mcp_types import CallToolResult, Request, RequestParams, Result

TOOL = "mcp_aql_execute"
EXTENSION = "io.modelcontextprotocol/tasks"


def check(condition, message, seen):
    if not condition:
        sys.exit(f"FAILED: {message}\n  seen: {seen}")


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
    """Waits for tasks, or cancels them."""

    identifier = EXTENSION

    def __init__(self, cancels):
        self.cancels, self.seen = cancels, []

    def claims(self):
        return [ResultClaim(result_type="task", model=Task, resolve=self.resolve)]

    async def resolve(self, task, context):
        self.seen.append(task)
        state = await ask(context.session, "tasks/get", task.task_id)
        if self.cancels:
            check(state.status == "working", "the task is working", state)
            await ask(context.session, "tasks/cancel", task.task_id, Result)
        while state.status == "working":
            await asyncio.sleep(0.05)
            state = await ask(context.session, "tasks/get", task.task_id)
        self.seen.append(state)
        if state.result is None:
            return CallToolResult(content=[])
        return CallToolResult.model_validate(state.result)


async def call(target, tasks, params):
    if not target.startswith("http"):
        words = json.loads(target)
        target = StdioServerParameters(command=words[0], args=words[1:], env=dict(os.environ))
    async with Client(target, mode="auto", extensions=[tasks]) as client:
        declared = client.server_capabilities.extensions
        check(EXTENSION in declared, "the server declares the extension", client.server_capabilities)
        result = await client.call_tool(TOOL, {"operation": "execute_export", "params": params})
        try:
            unknown = await ask(client.session, "tasks/get", "exec_1")
            check(False, "an unknown task is refused", unknown)
        except MCPError as error:
            check(error.code == -32602, "an unknown task is refused", error)
        return result


async def main(long, short):
    tasks = Tasks(cancels=True)
    await call(long, tasks, {"format": "csv"})
    check(tasks.seen[-1].status == "cancelled", "the task is cancelled", tasks.seen)

    tasks = Tasks(cancels=False)
    result = await call(short, tasks, {"format": "csv"})
    check([each.status for each in tasks.seen] == ["working", "completed"], "the task completes", tasks.seen)
    check(tasks.seen[0].ttl_ms is None and tasks.seen[1].ttl_ms > 0, "the task is kept after its end", tasks.seen)
    state = json.loads(result.content[0].text)["data"]
    check(state["result"]["export"]["tasks"] == 1, "the task has a result", result)

    tasks = Tasks(cancels=False)
    result = await call(short, tasks, {"format": "xml"})
    check(not tasks.seen, "a call that is refused starts no task", tasks.seen)
    check(json.loads(result.content[0].text)["error"]["code"] == "VALIDATION_INVALID_VALUE", "it is refused", result)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    asyncio.run(main(*sys.argv[1:]))
