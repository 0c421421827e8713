#!/usr/bin/env python3
"""MCP's SDK for Python, of either major version, as a third-party client that `clients.py` gives commands.

Each line on standard input is a command for a session, in JSON, and gets a line on standard output: the name of the
session, and `reply` or `error`. Commands to different sessions run at the same time.

    {"session": "a", "do": "open", "target": URL}                     or the words of a command; replies capabilities
        "mode": "2026-07-28"                                          the version of MCP, by default with `initialize`
        "token": "…"                                                  signs in, and has a user who can be asked
        "tasks": "follow"                                             or "cancel": the extension of MCP 2026-07-28
    {"session": "a", "do": "tools"}                                   replies the tools by name
    {"session": "a", "do": "call", "tool": "…", "arguments": {…}}     replies the result
        "answers": ["decline", …]                                     of the user; the reply has the questions
        "progress": true                                              the reply has what was reported
        "task": "start"                                               or "follow": a task of MCP 2025-11-25
    {"session": "a", "do": "get_task", "task": "…"}                   likewise cancel_task and list_tasks
    {"session": "a", "do": "close"}

Structured content that violates its tool's schema is an error.
"""

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager

import mcp
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, ElicitResult

IS_VERSION_1 = not hasattr(mcp, "Client")
Refusal = mcp.McpError if IS_VERSION_1 else mcp.MCPError


def dumped(result):
    """Returns what was received."""
    return result.model_dump(mode="json", by_alias=True, exclude_unset=True)


def described(error):
    if isinstance(error, BaseExceptionGroup):
        return {"message": "; ".join(described(each)["message"] for each in error.exceptions)}
    facts = {"message": f"{type(error).__name__}: {error}"}
    if isinstance(error, Refusal):
        data = error.error if IS_VERSION_1 else error
        facts |= {"code": data.code, "data": data.data}
    return facts


class Session:
    """A session, and the user behind it."""

    def __init__(self, name):
        self.name, self.commands, self.schemas = name, asyncio.Queue(), {}
        # What the user will answer, the questions, and the states of tasks.
        self.answers, self.asked, self.seen = [], [], []

    async def ask(self, _context, params):
        self.asked.append(params.message)
        return ElicitResult(action=self.answers.pop(0))

    @asynccontextmanager
    async def connected(self, target, mode="legacy", token=None, tasks=None):
        """Yields a connection and the capabilities of the server."""
        if not isinstance(target, str):
            target = StdioServerParameters(command=target[0], args=target[1:], env=dict(os.environ))
        if IS_VERSION_1:
            transport = streamable_http_client(target) if isinstance(target, str) else stdio_client(target)
            async with transport as streams, ClientSession(streams[0], streams[1]) as client:
                yield client, (await client.initialize()).capabilities
            return
        options = {}
        if token:
            from mcp.client.streamable_http import create_mcp_http_client
            http = create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
            target, options = streamable_http_client(target, http_client=http), {"elicitation_callback": self.ask}
        if tasks:
            import task_extension
            options["extensions"] = [task_extension.Tasks(tasks == "cancel", self.seen)]
        async with mcp.Client(target, mode=mode, **options) as client:
            yield client, client.server_capabilities

    def say(self, **answer):
        print(json.dumps({"session": self.name, **answer}), flush=True)

    async def run(self, options):
        """Opens the session and runs its commands."""
        try:
            async with self.connected(**options) as (client, capabilities):
                self.say(reply=dumped(capabilities))
                while (command := await self.commands.get()) != {"do": "close"}:
                    do = getattr(self, command.pop("do"))
                    try:
                        self.say(reply=await do(client, **command))
                    except Refusal as error:
                        self.say(error=described(error))
            self.say(reply=None)
        except Exception as error:
            self.say(error=described(error))

    async def tools(self, client):
        tools = {tool.name: dumped(tool) for tool in (await client.list_tools()).tools}
        self.schemas = {name: tool.get("outputSchema") for name, tool in tools.items()}
        return tools

    async def call(self, client, tool, arguments, answers=(), progress=False, task=None):
        if task:
            return await self.call_as_task(client.experimental, tool, arguments, task)
        told = []

        async def report(current, _total, _message):
            told.append(current)

        self.answers, self.asked, self.seen[:] = list(answers), [], []
        result = dumped(await client.call_tool(tool, arguments, progress_callback=report if progress else None))
        if schema := self.schemas.get(tool):
            from jsonschema import Draft202012Validator
            Draft202012Validator.check_schema(schema)
            Draft202012Validator(schema).validate(result["structuredContent"])
        return {"result": result, "asked": self.asked, "progress": told, "seen": [dumped(each) for each in self.seen]}

    async def call_as_task(self, tasks, tool, arguments, how):
        task = (await tasks.call_tool_as_task(tool, arguments)).task
        if how == "start":
            return {"task": dumped(task)}
        async for _ in tasks.poll_task(task.taskId):
            pass
        return {"task": dumped(task), "result": dumped(await tasks.get_task_result(task.taskId, CallToolResult))}

    async def get_task(self, client, task):
        if IS_VERSION_1:
            return dumped(await client.experimental.get_task(task))
        import task_extension
        return dumped(await task_extension.ask(client.session, "tasks/get", task))

    async def cancel_task(self, client, task):
        return dumped(await client.experimental.cancel_task(task))

    async def list_tasks(self, client):
        return dumped(await client.experimental.list_tasks())


async def main():
    sessions, running = {}, []
    while line := await asyncio.to_thread(sys.stdin.readline):
        command = json.loads(line)
        name = command.pop("session")
        if command["do"] != "open":
            sessions[name].commands.put_nowait(command)
            continue
        del command["do"]
        sessions[name] = Session(name)
        running.append(asyncio.create_task(sessions[name].run(command)))


if __name__ == "__main__":
    asyncio.run(main())
