#!/usr/bin/env python3
"""Follows executions of examples/tasks as tasks of MCP 2025-11-25, with version 1 of MCP's SDK for Python.

    task_client_1.py LONG SHORT

Both are URLs, or commands as JSON lists of words. The export of LONG takes some seconds, and that of SHORT has a
result. Exits with 1 at the first unexpected answer.
"""

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager

from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import CallToolResult

TOOL = "mcp_aql_execute"


def check(condition, message, seen):
    if not condition:
        sys.exit(f"FAILED: {message}\n  seen: {seen}")


@asynccontextmanager
async def connected(target):
    if target.startswith("http"):
        transport = streamablehttp_client(target)
    else:
        words = json.loads(target)
        transport = stdio_client(StdioServerParameters(command=words[0], args=words[1:], env=dict(os.environ)))
    async with transport as streams, ClientSession(streams[0], streams[1]) as session:
        hello = await session.initialize()
        declared = hello.capabilities.tasks
        check(declared and declared.list and declared.cancel, "the server declares tasks", hello.capabilities)
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        check(tools[TOOL].execution.taskSupport == "optional", "the tool supports tasks", tools[TOOL])
        yield session


async def refused(awaitable):
    try:
        answer = await awaitable
    except McpError as error:
        return error.error
    check(False, "this is refused", answer)


def export(session, file_format="csv"):
    arguments = {"operation": "execute_export", "params": {"format": file_format}}
    return session.experimental.call_tool_as_task(TOOL, arguments)


async def main(long, short):
    async with connected(long) as session:
        tasks = session.experimental
        task = (await export(session)).task
        check(task.status == "working", "a task begins as working", task)
        now = await tasks.get_task(task.taskId)
        check(now.status == "working" and now.ttl is None, "the task is working", now)
        cancelled = await tasks.cancel_task(task.taskId)
        check(cancelled.status == "cancelled", "the task is cancelled", cancelled)
        error = await refused(tasks.cancel_task(task.taskId))
        check(error.code == -32602, "a cancelled task cannot be cancelled", error)

    async with connected(short) as session:
        tasks = session.experimental
        task = (await export(session)).task
        states = [state.status async for state in tasks.poll_task(task.taskId)]
        check(states[-1] == "completed", "the task completes", states)
        result = await tasks.get_task_result(task.taskId, CallToolResult)
        state = json.loads(result.content[0].text)["data"]
        check(state["result"]["export"]["tasks"] == 1, "the task has a result", result)
        check(result.meta["io.modelcontextprotocol/related-task"] == {"taskId": task.taskId}, "it names its task", result)
        listed = [each.taskId for each in (await tasks.list_tasks()).tasks]
        check(task.taskId in listed, "the task is listed", listed)
        error = await refused(export(session, "xml"))
        check(error.data["code"] == "VALIDATION_INVALID_VALUE", "a call that is refused starts no task", error)
        error = await refused(tasks.get_task("exec_1"))
        check(error.code == -32602, "an unknown task is refused", error)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    asyncio.run(main(*sys.argv[1:]))
