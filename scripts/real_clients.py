#!/usr/bin/env python3
"""Drives examples/tasks with third-party clients: MCP's SDKs for Python and TypeScript, and MCP Inspector.

    scripts/real_clients.py [ADAPTER]      default: target/release/examples/tasks

- A tour of the operations, over standard input and output and over HTTP, in both lifecycles of MCP: with `initialize`,
  and without (2026-07-28).
- Users who sign in over HTTP and are asked for confirmations.
- Executions as tasks of MCP 2025-11-25, and of the extension of MCP 2026-07-28: one is cancelled, one is refused, and
  one has a result.

Installs the clients under target/clients on the first run. Requires python3 with venv, node and npm. Exits with 1 at
the first unexpected reply.
"""

import contextlib
import hashlib
import json
import secrets
import sqlite3
import subprocess
import tempfile
from pathlib import Path

from clients import MODES, Inspector, Refused, Sdk, refused
from testing import built, check, served

FAMILIES = ("create", "read", "update", "delete", "execute")
EXECUTE = "mcp_aql_execute"
EXPORT = {"operation": "execute_export", "params": {"format": "csv"}}
RELATED = "io.modelcontextprotocol/related-task"
EXTENSION = "io.modelcontextprotocol/tasks"
# An export of so many tasks takes some seconds.
DOUBLINGS = 17


def reply_of(result, what):
    """Returns the adapter's JSON, which must be the only content."""
    check(len(result["content"]) == 1, f"{what} answers with one text item", result)
    check(not result.get("isError"), f"{what} is no MCP error", result)
    return json.loads(result["content"][0]["text"])


class Caller:
    """Calls operations over a connection, which succeed, or fail with a code."""

    def __init__(self, connection):
        self.connection, self.asked = connection, []

    def reply(self, family, operation, params, **options):
        arguments = {"operation": operation, "params": params}
        answer = self.connection.call(f"mcp_aql_{family}", arguments, **options)
        self.asked += answer["asked"]
        return reply_of(answer["result"], operation)

    def succeed(self, family, operation, params, **options):
        reply = self.reply(family, operation, params, **options)
        check(reply["success"] is True, f"{operation} succeeds", reply)
        return reply["data"]

    def fail(self, family, operation, params, code, **options):
        reply = self.reply(family, operation, params, **options)
        check(reply["success"] is False, f"{operation} fails", reply)
        check(reply["error"]["code"] == code, f"{operation} fails with {code}", reply)
        return reply["error"]


def tour(connection, mode):
    """Lists the tools, then creates, reads, lists, updates, introspects, queries, exports and deletes."""
    caller = Caller(connection)
    tools = connection.ask("tools")
    check(set(tools) == {f"mcp_aql_{family}" for family in FAMILIES}, "five tools", sorted(tools))
    for name, tool in tools.items():
        check("introspect" in tool["description"], f"{name} mentions introspect", tool["description"])
    read_only = {name for name, tool in tools.items() if tool["annotations"].get("readOnlyHint")}
    check(read_only == {"mcp_aql_read"}, "one tool is read-only", read_only)

    title = f"Ship it ({mode})"
    task = caller.succeed("create", "create_task", {"title": title})["task"]
    check(task["priority"] == 3, "the default is applied", task)
    name = {"task_id": task["task_id"]}

    read = caller.succeed("read", "get_task", name)["task"]
    check(read == task, "what was created is read", read)
    newest = {"sort": {"field": "created_at", "order": "desc"}, "fields": "full", "first": 1}
    items = caller.succeed("read", "list_tasks", newest)["items"]
    check(items == [task], "what was created is listed", items)

    change = {"status": "done", "metadata": {"ticket": 12}}
    caller.succeed("update", "update_task", {**name, "input": change})
    change = {"metadata": {"owner": "Ada"}}
    task = caller.succeed("update", "update_task", {**name, "input": change})["task"]
    check(task["metadata"] == {"ticket": 12, "owner": "Ada"}, "objects merge", task)
    check(task["title"] == title and task["status"] == "done", "the rest stays", task)

    data = caller.succeed("read", "introspect", {"query": "operations"})
    listed = {entry["name"] for entry in data["operations"]}
    check({"introspect", "create_task", "update_task"} <= listed, "operations are listed", listed)
    data = caller.succeed("read", "introspect", {"query": "operations", "name": "create_task"})
    example = data["operation"]["examples"][0]["request"]
    made = caller.succeed("create", example["operation"], example["params"])["task"]
    data = caller.succeed("read", "introspect", {"query": "types", "name": "Task"})
    check(data["type"]["kind"] == "object", "types are described", data)

    query(caller, task, made)

    error = caller.fail("create", "create_task", {"titel": "x"}, "VALIDATION_MISSING_PARAM")
    check("'titel'" in error["message"], "the typo is named", error)
    error = caller.fail("create", "create_task", {"title": "x", "prio": 1}, "VALIDATION_UNKNOWN_PARAM")
    check("priority" in error["details"]["valid_params"], "valid names are listed", error)
    caller.fail("read", "delete_task", name, "VALIDATION_ENDPOINT_MISMATCH")
    export(caller, task)
    delete(caller, name)
    delete(caller, {"task_id": made["task_id"]})
    caller.fail("read", "get_task", name, "NOT_FOUND_RESOURCE")


def export(caller, task):
    """Checks an execution: its state at once, its result at the end, and progress if requested."""
    begun = caller.succeed("execute", "execute_export", {"format": "json"})
    known = {"execution_id": begun["execution_id"], "wait_seconds": 30}
    ended = caller.succeed("read", "get_execution", known)
    check(ended["status"] == "completed", "the export is completed", ended)
    check(task["task_id"] in json.dumps(ended["result"]), "the task is exported", ended)
    cancel = {"execution_id": begun["execution_id"]}
    caller.fail("execute", "cancel_execution", cancel, "VALIDATION_INVALID_VALUE")
    told = caller.connection.call(EXECUTE, EXPORT, progress=True)["progress"]
    check(any(current > 0 for current in told), "progress is told", told)


def delete(caller, name):
    """Checks that a confirmed call runs exactly once."""
    error = caller.fail("delete", "delete_task", name, "CONFIRMATION_REQUIRED")
    caller.succeed("read", "get_task", name)
    confirmed = {**name, "_confirmation": error["details"]["confirmation_token"]}
    caller.succeed("delete", "delete_task", confirmed)
    caller.fail("delete", "delete_task", confirmed, "TOKEN_ALREADY_USED")


def query(caller, done, todo):
    """Queries one done and one other task, among any others on the board, with every control."""
    both = {"task_id": done["task_id"], "relationship": "composes", "target_id": todo["task_id"]}
    caller.succeed("create", "link_tasks", both)
    params = {
        "query": f'"{done["title"]}" {todo["title"]}',
        "filter": {"status": ["todo", "done"], "_computed.is_overdue": False},
        "sort": [{"field": "status", "order": "desc"}, {"field": "created_at", "order": "desc"}],
        "fields": ["task_id", "status", "_computed.age_days"],
        "aggregate": {"found": {"count": True}, "by_status": {"group_by": "status", "count": True}},
        "include_items": True,
        "first": 1,
    }
    page = caller.succeed("read", "search_tasks", params)
    shown = {"task_id": done["task_id"], "status": "done", "_computed": {"age_days": 0}}
    check(page["items"] == [shown], "one request combines all controls", page)
    found, groups = page["aggregations"]["found"], page["aggregations"]["by_status"]
    check(found == sum(groups.values()) == page["pageInfo"]["totalCount"], "summaries agree", page)
    check(set(page["applied"]) == {"query", "filter", "sort", "fields", "first"}, "it is told", page)

    seen, after = [], None
    while True:
        more = {"after": after} if after else {}
        page = caller.succeed("read", "list_tasks", {"first": 2, "fields": "minimal", **more})
        seen += [item["task_id"] for item in page["items"]]
        if not page["pageInfo"]["hasNextPage"]:
            break
        after = page["pageInfo"]["endCursor"]
    check(len(seen) == len(set(seen)) == page["pageInfo"]["totalCount"], "pages hold all", seen)

    root = {"element_type": "task", "element_name": done["task_id"]}
    graph = caller.succeed("read", "query_relationships", {"root": root, "direction": "outgoing"})
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
        error = caller.fail("read", "list_tasks", params, code)
        check(hint in error["message"], f"{params} is refused with what would do", error)


def tour_of_inspector(inspector, options, command=()):
    """The same with single requests of the Inspector."""
    def call(family, operation, params):
        arguments = json.dumps({"operation": operation, "params": params})
        return reply_of(inspector.ask((options, command), "tools/call", "--tool-name", f"mcp_aql_{family}",
                                      "--tool-args-json", arguments), operation)

    tools = {tool["name"] for tool in inspector.ask((options, command), "tools/list")["tools"]}
    check(tools == {f"mcp_aql_{family}" for family in FAMILIES}, "the tools", tools)
    task = call("create", "create_task", {"title": "Inspect it"})["data"]["task"]
    check(task["title"] == "Inspect it", "create", task)
    name = {"task_id": task["task_id"]}
    read = call("read", "get_task", name)["data"]["task"]
    check(read["status"] == "todo", "read", read)
    changed = call("update", "update_task", {**name, "input": {"status": "doing"}})["data"]["task"]
    check(changed["status"] == "doing" and changed["title"] == "Inspect it", "update", changed)
    operations = call("read", "introspect", {"query": "operations"})["data"]["operations"]
    check(len(operations) >= 7, "introspect", operations)
    failed = call("read", "list_tasks", {"frist": 1})
    check(failed["error"]["code"] == "VALIDATION_UNKNOWN_PARAM", "a refusal", failed)


def sign_in(client, url, token, mode):
    """A request without the token is refused. The user declines a deletion, closes the question, and accepts it."""
    try:
        with client.open(url, mode=mode) as connection:
            reply = Caller(connection).reply("read", "list_tasks", {})
    except Refused as error:
        is_early = "PERMISSION" not in str(error) and client.unknown_caller in str(error)
        check(is_early, "the request is refused before the call", error)
    else:
        check(False, "a request without a token is refused", reply)
    with client.open(url, mode=mode, token=token) as connection:
        caller = Caller(connection)
        made = caller.succeed("create", "create_task", {"title": f"Ask first ({mode})"})
        name = {"task_id": made["task"]["task_id"]}
        for action, answer in [("decline", "declined"), ("cancel", "cancelled")]:
            error = caller.fail("delete", "delete_task", name, "PERMISSION_DENIED", answers=[action])
            check(error["details"]["user_answer"] == answer, f"the user has {answer}", error)
        caller.succeed("read", "get_task", name)
        caller.succeed("delete", "delete_task", name, answers=["accept"])
        caller.fail("read", "get_task", name, "NOT_FOUND_RESOURCE")
        asked = caller.asked
        check(len(asked) == 3 and all("delete_task" in it for it in asked), "three questions", asked)


def database(folder, adapter, doublings):
    """Creates a database with this many doublings of one task."""
    path = folder / f"tasks-{doublings}.db"
    subprocess.run([adapter, "--db", path, "call", "create_task", json.dumps({"title": "Export it"})],
                   check=True, stdout=subprocess.DEVNULL)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(task)") if row[1] != "number"]
        names = ", ".join(columns)
        for _ in range(doublings):
            connection.execute(f"INSERT INTO task ({names}) SELECT {names} FROM task")
    return path


def follow_tasks(sdk, long, short):
    """Follows executions as tasks of MCP 2025-11-25. The export of `long` takes some seconds."""
    def opened(target):
        connection = sdk.open(target)
        declared = connection.capabilities.get("tasks", {})
        can = {"list", "cancel"} <= declared.keys() and "call" in declared["requests"]["tools"]
        check(can, "the server declares tasks", connection.capabilities)
        tool = connection.ask("tools")[EXECUTE]
        check(tool["execution"]["taskSupport"] == "optional", "the tool supports tasks", tool)
        return connection

    with opened(long) as connection:
        task = connection.call(EXECUTE, EXPORT, task="start")["task"]
        check(task["status"] == "working", "a task begins as working", task)
        name = task["taskId"]
        now = connection.ask("get_task", task=name)
        check(now["status"] == "working" and now["ttl"] is None, "the task is working", now)
        cancelled = connection.ask("cancel_task", task=name)
        check(cancelled["status"] == "cancelled", "the task is cancelled", cancelled)
        error = refused(connection.ask, "cancel_task", task=name)
        check(error["code"] == -32602, "a cancelled task cannot be cancelled", error)
    with opened(short) as connection:
        followed = connection.call(EXECUTE, EXPORT, task="follow")
        name, result = followed["task"]["taskId"], followed["result"]
        exported(reply_of(result, "the task")["data"])
        check(result["_meta"][RELATED] == {"taskId": name}, "the result names its task", result)
        now = connection.ask("get_task", task=name)
        check(now["status"] == "completed", "the task completes", now)
        listed = [each["taskId"] for each in connection.ask("list_tasks")["tasks"]]
        check(name in listed, "the task is listed", listed)
        unknown = {"operation": "execute_export", "params": {"format": "xml"}}
        error = refused(connection.ask, "call", tool=EXECUTE, arguments=unknown, task="follow")
        check(error["data"]["code"] == "VALIDATION_INVALID_VALUE", "a call that is refused starts no task", error)
        error = refused(connection.ask, "get_task", task="exec_1")
        check(error["code"] == -32602, "an unknown task is refused", error)


def exported(state):
    check(state["result"]["export"]["tasks"] == 1, "the task has a result", state)


def follow_extension(sdk, long, short):
    """Follows executions as tasks of the extension of MCP 2026-07-28."""
    def call(target, tasks, file_format):
        with sdk.open(target, mode="auto", tasks=tasks) as connection:
            check(EXTENSION in connection.capabilities["extensions"], "the server declares the extension",
                  connection.capabilities)
            answer = connection.call(EXECUTE, {"operation": "execute_export", "params": {"format": file_format}})
            error = refused(connection.ask, "get_task", task="exec_1")
            check(error["code"] == -32602, "an unknown task is refused", error)
        return answer["seen"], answer["result"]

    seen, _ = call(long, "cancel", "csv")
    states = [each["status"] for each in seen]
    check(states[:2] == ["working"] * 2 and states[-1] == "cancelled", "the task is working, then cancelled", seen)
    seen, result = call(short, "follow", "csv")
    check((seen[0]["status"], seen[-1]["status"]) == ("working", "completed"), "the task completes", seen)
    check(seen[0]["ttlMs"] is None and seen[-1]["ttlMs"] > 0, "the task is kept after its end", seen)
    exported(reply_of(result, "the task")["data"])
    seen, result = call(short, "follow", "xml")
    check(not seen, "a call that is refused starts no task", seen)
    check(reply_of(result, "it")["error"]["code"] == "VALIDATION_INVALID_VALUE", "it is refused", result)


def follow_with_inspector(inspector, target, mode):
    """A call of the Inspector as a task returns the result of the task."""
    with inspector.open(target, mode=mode) as connection:
        result = connection.call(EXECUTE, EXPORT, task=True)["result"]
        state = reply_of(result, "the task")["data"]
        check(state["status"] == "completed", "the task is completed", state)
        exported(state)
        task = state["execution_id"]
        shown = connection.ask("tasks/get", task)
        shown = shown.get("task", shown)
        check(shown["taskId"] == task and shown["status"] == "completed", "the Inspector shows the task", shown)
        again = connection.ask("tasks/result", task)
        check(again["content"] == result["content"], "the result can be fetched again", again)
        if mode == "legacy":
            listed = connection.ask("tasks/list")["tasks"]
            check(task in [each["taskId"] for each in listed], "the Inspector lists the task", listed)
        error = refused(connection.ask, "tasks/get", "exec_1")
        check("Unknown task" in error["message"], "an unknown task is refused", error)


def main():
    adapter, passed = built("examples/tasks"), 0

    def ok(*what):
        nonlocal passed
        passed += 1
        print("ok:", *what, flush=True)

    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        python, older, typescript, earlier = (stack.enter_context(Sdk(language, version)) for language, version in [
            ("Python", 2), ("Python", 1), ("TypeScript", 2), ("TypeScript", 1)])
        inspector = stack.enter_context(Inspector(folder))

        def serve(path, *options):
            return stack.enter_context(served([adapter, "--db", path, *options, "serve"], path.with_suffix(".log")))[0]

        url = serve(folder / "http.db")
        for transport, target in [("stdio", [adapter, "--db", folder / "python.db"]), ("http", url)]:
            for mode in MODES:
                with python.open(target, mode=mode) as connection:
                    tour(connection, mode)
                ok(f"tour, {python.name}, {mode}, {transport}")
        tour_of_inspector(inspector, ["--transport", "stdio"], ["--", adapter, "--db", folder / "stdio.db"])
        ok("tour, MCP Inspector, stdio")
        tour_of_inspector(inspector, ["--transport", "http", "--server-url", url])
        ok("tour, MCP Inspector, http")

        token, config = secrets.token_urlsafe(32), folder / "auth.toml"
        config.write_text(f'[[auth.tokens]]\nsha256 = "{hashlib.sha256(token.encode()).hexdigest()}"\nsubject = "ada"\n'
                          'scopes = ["tasks:read", "tasks:create", "tasks:delete"]\n')
        url = serve(folder / "user.db", "--config", config)
        for client in (python, typescript, inspector):
            for mode in MODES:
                sign_in(client, url, token, mode)
                ok(f"signed in and asked, {client.name}, {mode}")
        signed_in = ["--transport", "http", "--server-url", url, "--header", f"Authorization: Bearer {token}"]
        tools = {tool["name"] for tool in inspector.ask((signed_in, ()), "tools/list")["tools"]}
        check(tools == {"mcp_aql_create", "mcp_aql_read", "mcp_aql_delete"}, "the tools of the user", tools)

        paths = [database(folder, adapter, DOUBLINGS), database(folder, adapter, 0)]
        urls, commands = [serve(path) for path in paths], [[adapter, "--db", path, "serve"] for path in paths]
        for transport, (long, short) in [("stdio", commands), ("http", urls)]:
            for sdk in (older, earlier):
                follow_tasks(sdk, long, short)
                ok(f"tasks, {sdk.name}, {transport}")
            follow_extension(python, long, short)
            ok(f"tasks, {python.name}, {transport}")
            for mode in MODES:
                follow_with_inspector(inspector, short, mode)
                ok(f"tasks, MCP Inspector, {mode}, {transport}")
    print(f"{passed} passed, 0 failed")


if __name__ == "__main__":
    main()
