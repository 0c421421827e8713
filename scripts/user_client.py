#!/usr/bin/env python3
"""Signs in to examples/tasks over HTTP with the MCP SDK for Python, whose user is asked for confirmations.

    user_client.py http://127.0.0.1:8787/mcp TOKEN

Once for each lifecycle of MCP, with `initialize` and without (2026-07-28): a request without the token is refused, the
user declines a deletion, closes the question, and accepts it. Exits with 1 at the first unexpected reply.
"""

import asyncio
import json
import sys

from mcp import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.types import ElicitResult

from real_client import MODES, call, check, fail, succeed


async def talk(url, token, mode):
    answers, asked = [], []

    async def ask(_context, params):
        asked.append(params.message)
        return ElicitResult(action=answers.pop(0))

    http = create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
    transport = streamable_http_client(url, http_client=http)
    async with Client(transport, mode=mode, elicitation_callback=ask) as client:
        made = await succeed(client, "create", "create_task", {"title": f"Ask first ({mode})"})
        name = {"task_id": made["task"]["task_id"]}
        for action, answer in [("decline", "declined"), ("cancel", "cancelled")]:
            answers.append(action)
            error = await fail(client, "delete", "delete_task", name, "PERMISSION_DENIED")
            check(error["details"]["user_answer"] == answer, f"the user has {answer}", error)
        await succeed(client, "read", "get_task", name)
        answers.append("accept")
        await succeed(client, "delete", "delete_task", name)
        await fail(client, "read", "get_task", name, "NOT_FOUND_RESOURCE")
        check(len(asked) == 3 and all("delete_task" in it for it in asked), "three questions", asked)


async def refused(url, mode):
    try:
        async with Client(url, mode=mode) as client:
            reply = await call(client, "read", "list_tasks", {})
    except Exception as error:  # The SDK wraps the status in its own errors.
        return check("PERMISSION" not in str(error), "the request is refused before the call", error)
    check(False, "a request without a token is refused", json.dumps(reply))


async def main(url, token):
    for mode in MODES:
        await asyncio.wait_for(refused(url, mode), timeout=60)
        await asyncio.wait_for(talk(url, token, mode), timeout=60)
        print(f"ok: Python SDK, {mode}, signed in and asked, {url}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    asyncio.run(main(*sys.argv[1:]))
