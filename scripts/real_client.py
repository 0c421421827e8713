#!/usr/bin/env python3
"""Drive examples/tasks with the MCP SDK for Python, as a client that was not written here.

    real_client.py http://127.0.0.1:8787/mcp
    real_client.py COMMAND [ARGUMENT...]       an adapter on standard input and output

Lists the tools, then creates, reads, lists, updates and introspects, once for each lifecycle of MCP:
with `initialize`, and without (2026-07-28). Ends with 1 at the first reply that is not as it should be.
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters

TOOLS = {"create", "read", "update", "delete", "execute"}
MODES = ("legacy", "2026-07-28")


def check(condition, message, seen):
    if not condition:
        sys.exit(f"FAILED: {message}\n  seen: {seen}")


async def call(client, family, operation, params):
    """The reply's JSON, which must be the only content."""
    arguments = {"operation": operation, "params": params}
    result = await client.call_tool(f"mcp_aql_{family}", arguments)
    check(len(result.content) == 1, f"{operation} answers with one text item", result)
    check(not result.is_error, f"{operation} is no MCP error", result)
    return json.loads(result.content[0].text)


async def succeed(client, family, operation, params):
    reply = await call(client, family, operation, params)
    check(reply["success"] is True, f"{operation} succeeds", reply)
    return reply["data"]


async def fail(client, family, operation, params, code):
    reply = await call(client, family, operation, params)
    check(reply["success"] is False, f"{operation} fails", reply)
    check(reply["error"]["code"] == code, f"{operation} fails with {code}", reply)
    return reply["error"]


async def talk(client, mode):
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    check(set(tools) == {f"mcp_aql_{family}" for family in TOOLS}, "five tools", sorted(tools))
    for tool in tools.values():
        check("introspect" in tool.description, f"{tool.name} mentions introspect", tool.description)
    read_only = {name for name, tool in tools.items() if tool.annotations.read_only_hint}
    check(read_only == {"mcp_aql_read"}, "one tool is read-only", read_only)

    title = f"Ship it ({mode})"
    task = (await succeed(client, "create", "create_task", {"title": title}))["task"]
    check(task["priority"] == 3, "the default is applied", task)
    name = {"task_id": task["task_id"]}

    read = (await succeed(client, "read", "get_task", name))["task"]
    check(read == task, "what was created is read", read)
    items = (await succeed(client, "read", "list_tasks", {"first": 100}))["items"]
    check(task in items, "what was created is listed", items)

    change = {"status": "done", "metadata": {"ticket": 12}}
    await succeed(client, "update", "update_task", {**name, "input": change})
    change = {"metadata": {"owner": "Ada"}}
    task = (await succeed(client, "update", "update_task", {**name, "input": change}))["task"]
    check(task["metadata"] == {"ticket": 12, "owner": "Ada"}, "objects merge", task)
    check(task["title"] == title and task["status"] == "done", "the rest stays", task)

    data = await succeed(client, "read", "introspect", {"query": "operations"})
    listed = {entry["name"] for entry in data["operations"]}
    check({"introspect", "create_task", "update_task"} <= listed, "operations are listed", listed)
    data = await succeed(
        client, "read", "introspect", {"query": "operations", "name": "create_task"}
    )
    example = data["operation"]["examples"][0]["request"]
    made = (await succeed(client, "create", example["operation"], example["params"]))["task"]
    data = await succeed(client, "read", "introspect", {"query": "types", "name": "Task"})
    check(data["type"]["kind"] == "object", "types are described", data)

    error = await fail(client, "create", "create_task", {"titel": "x"}, "VALIDATION_MISSING_PARAM")
    check("'titel'" in error["message"], "the typo is named", error)
    error = await fail(
        client, "create", "create_task", {"title": "x", "prio": 1}, "VALIDATION_UNKNOWN_PARAM"
    )
    check("priority" in error["details"]["valid_params"], "valid names are listed", error)
    await fail(client, "read", "delete_task", name, "VALIDATION_ENDPOINT_MISMATCH")
    await succeed(client, "delete", "delete_task", name)
    await succeed(client, "delete", "delete_task", {"task_id": made["task_id"]})
    await fail(client, "read", "get_task", name, "NOT_FOUND_RESOURCE")


async def main(arguments):
    target = arguments[0]
    if not target.startswith("http"):
        target = StdioServerParameters(command=arguments[0], args=arguments[1:])
    for mode in MODES:
        async with Client(target, mode=mode) as client:
            await asyncio.wait_for(talk(client, mode), timeout=60)
        print(f"ok: Python SDK, {mode}, {arguments[0]}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    asyncio.run(main(sys.argv[1:]))
