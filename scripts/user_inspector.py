#!/usr/bin/env python3
"""Signs in to examples/tasks over HTTP with the MCP Inspector, whose user is asked for confirmations.

    user_inspector.py NODE INSPECTOR-FOLDER http://127.0.0.1:8787/mcp TOKEN

Once for each lifecycle of MCP: a request without the token is refused, the user declines a deletion, closes the
question, and accepts it. Requires MCP_CATALOG_PATH and MCP_CLIENT_CONFIG_PATH, so that the Inspector's files do not go
to the user's home. Exits with 1 at the first unexpected reply.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from real_client import check

NODE, FOLDER, URL, TOKEN = sys.argv[1:] if len(sys.argv) == 5 else sys.exit(__doc__)
PROGRAM = Path(FOLDER) / "clients" / "mcpdo" / "build" / "mcp-bin.js"
ENVIRONMENT = {
    **os.environ,
    "PATH": f"{Path(NODE).resolve().parent}:{os.environ['PATH']}",
    "MCP_INSPECTOR_SECRET_STORE": "memory",
}


def run(*arguments):
    command = [NODE, PROGRAM, "--stored-auth-only", "--format", "json", *arguments]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)


def answer(*arguments):
    done = run(*arguments)
    check(done.returncode == 0, f"{arguments[0]} succeeds", done.stdout + done.stderr)
    return json.loads(done.stdout)


def reply(output):
    """The reply of the adapter in the output of a call."""
    return json.loads(output["content"][0]["text"])


def call(connection, family, operation, params):
    arguments = json.dumps({"operation": operation, "params": params})
    return answer("--connection", connection, "tools/call", f"mcp_aql_{family}", arguments)


def talk(era):
    refused = run("connect", URL, "--era", era)
    check("auth_required" in refused.stderr, "a request without a token is refused", refused)
    header = f"Authorization: Bearer {TOKEN}"
    name = answer("connect", URL, "--era", era, "--header", header)["name"]
    made = reply(call(name, "create", "create_task", {"title": f"Ask first ({era})"}))
    task = {"task_id": made["data"]["task"]["task_id"]}
    for option, expected in [("--decline", "declined"), ("--cancel", "cancelled"), (None, None)]:
        asked = call(name, "delete", "delete_task", task)
        check("delete_task" in json.dumps(asked), "the question names the operation", asked)
        question = re.search(r'"(?:id|elicitationId)": "([^"]+)"', json.dumps(asked))
        check(question, "a question is pending", asked)
        option = [option] if option else ["{}"]
        done = reply(answer("--connection", name, "elicitation/respond", question[1], *option))
        if expected:
            check(done["error"]["details"]["user_answer"] == expected, f"the user has {expected}", done)
        else:
            check(done["success"], "the accepted call runs", done)
    gone = reply(call(name, "read", "get_task", task))
    check(gone["error"]["code"] == "NOT_FOUND_RESOURCE", "the task is deleted", gone)
    print(f"ok: MCP Inspector, {era}, signed in and asked, {URL}")


private = subprocess.run([NODE, PROGRAM, "private"], env=ENVIRONMENT, capture_output=True, text=True, check=True)
ENVIRONMENT |= dict(re.findall(r"export (\w+)='([^']*)'", private.stdout))
try:
    for each in ("legacy", "modern"):
        talk(each)
finally:
    run("daemon", "stop")
