#!/usr/bin/env python3
"""Drives examples/tasks with the MCP SDK for Python, a third-party client.

    real_client.py http://127.0.0.1:8787/mcp
    real_client.py COMMAND [ARGUMENT...]       an adapter on standard input and output

Lists the tools, then creates, reads, lists, updates, introspects, exports and deletes with confirmation, once for
each lifecycle of MCP: with `initialize`, and without (2026-07-28). Exits with 1 at the first unexpected reply.
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
    """Returns the reply's JSON, which must be the only content."""
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
    newest = {"sort": {"field": "created_at", "order": "desc"}, "fields": "full", "first": 1}
    items = (await succeed(client, "read", "list_tasks", newest))["items"]
    check(items == [task], "what was created is listed", items)

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

    await query(client, task, made)

    error = await fail(client, "create", "create_task", {"titel": "x"}, "VALIDATION_MISSING_PARAM")
    check("'titel'" in error["message"], "the typo is named", error)
    error = await fail(
        client, "create", "create_task", {"title": "x", "prio": 1}, "VALIDATION_UNKNOWN_PARAM"
    )
    check("priority" in error["details"]["valid_params"], "valid names are listed", error)
    await fail(client, "read", "delete_task", name, "VALIDATION_ENDPOINT_MISMATCH")
    await export(client, task)
    await delete(client, name)
    await delete(client, {"task_id": made["task_id"]})
    await fail(client, "read", "get_task", name, "NOT_FOUND_RESOURCE")


async def export(client, task):
    """Checks an execution: its state at once, its result at the end, and progress if requested."""
    begun = await succeed(client, "execute", "execute_export", {"format": "json"})
    known = {"execution_id": begun["execution_id"], "wait_seconds": 30}
    ended = await succeed(client, "read", "get_execution", known)
    check(ended["status"] == "completed", "the export is completed", ended)
    check(task["task_id"] in json.dumps(ended["result"]), "the task is exported", ended)
    cancel = {"execution_id": begun["execution_id"]}
    await fail(client, "execute", "cancel_execution", cancel, "VALIDATION_INVALID_VALUE")

    told = []

    async def progress(current, total, message):
        told.append((current, total, message))

    arguments = {"operation": "execute_export", "params": {"format": "csv"}}
    await client.call_tool("mcp_aql_execute", arguments, progress_callback=progress)
    check(any(current > 0 for current, _, _ in told), "progress is told", told)


async def delete(client, name):
    """Checks that a confirmed call runs exactly once."""
    error = await fail(client, "delete", "delete_task", name, "CONFIRMATION_REQUIRED")
    await succeed(client, "read", "get_task", name)
    confirmed = {**name, "_confirmation": error["details"]["confirmation_token"]}
    await succeed(client, "delete", "delete_task", confirmed)
    await fail(client, "delete", "delete_task", confirmed, "TOKEN_ALREADY_USED")


async def query(client, done, todo):
    """Queries one done and one other task, among any others on the board, with every control."""
    both = {"task_id": done["task_id"], "relationship": "composes", "target_id": todo["task_id"]}
    await succeed(client, "create", "link_tasks", both)
    params = {
        "query": f'"{done["title"]}" {todo["title"]}',
        "filter": {"status": ["todo", "done"], "_computed.is_overdue": False},
        "sort": [{"field": "status", "order": "desc"}, {"field": "created_at", "order": "desc"}],
        "fields": ["task_id", "status", "_computed.age_days"],
        "aggregate": {"found": {"count": True}, "by_status": {"group_by": "status", "count": True}},
        "include_items": True,
        "first": 1,
    }
    page = await succeed(client, "read", "search_tasks", params)
    shown = {"task_id": done["task_id"], "status": "done", "_computed": {"age_days": 0}}
    check(page["items"] == [shown], "one request combines all controls", page)
    found, groups = page["aggregations"]["found"], page["aggregations"]["by_status"]
    check(found == sum(groups.values()) == page["pageInfo"]["totalCount"], "summaries agree", page)
    check(set(page["applied"]) == {"query", "filter", "sort", "fields", "first"}, "it is told", page)

    seen, after = [], None
    while True:
        more = {"after": after} if after else {}
        page = await succeed(client, "read", "list_tasks", {"first": 2, "fields": "minimal", **more})
        seen += [item["task_id"] for item in page["items"]]
        if not page["pageInfo"]["hasNextPage"]:
            break
        after = page["pageInfo"]["endCursor"]
    check(len(seen) == len(set(seen)) == page["pageInfo"]["totalCount"], "pages hold all", seen)

    root = {"element_type": "task", "element_name": done["task_id"]}
    graph = await succeed(
        client, "read", "query_relationships", {"root": root, "direction": "outgoing"}
    )
    target = graph["relationships"][0]["target"]["element_name"]
    check(target == todo["task_id"], "relationships are followed", graph)

    for params, code, hint in [
        ({"filter": {"statu": "todo"}}, "VALIDATION_INVALID_VALUE", "'status'"),
        ({"filter": {"priority": "high"}}, "VALIDATION_INVALID_TYPE", "'integer'"),
        ({"sort": {"field": "prio"}}, "VALIDATION_INVALID_VALUE", "'priority'"),
        ({"fields": ["titel"]}, "VALIDATION_INVALID_VALUE", "'title'"),
        ({"aggregate": {"a": {"sum": "title"}}}, "VALIDATION_INVALID_VALUE", "priority"),
        ({"first": 1, "last": 1}, "VALIDATION_INVALID_TYPE", "not both"),
        ({"first": 1, "after": "x"}, "VALIDATION_INVALID_VALUE", "cursor"),
    ]:
        error = await fail(client, "read", "list_tasks", params, code)
        check(hint in error["message"], f"{params} is refused with what would do", error)


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
