#!/usr/bin/env python3
"""Makes calls over HTTP with MCP's SDK for Python, of either major version, while scripts/resumption.py breaks the
connections.

    resumption_client.py CALLS

CALLS is a JSON list of `{"name", "url", "title"}`, with `"waits": true` for a READ that waits for an execution. Opens a
session for each, prints "ready", and makes the calls after a line on standard input. Prints a line of JSON for each
when it ends: its name, and the reply or the error.
"""

import asyncio
import json
import sys

from mcp import ClientSession
from mcp.client import streamable_http

connect = streamable_http.streamable_http_client


async def reply(session, family, operation, **params):
    result = await session.call_tool(f"mcp_aql_{family}", {"operation": operation, "params": params})
    return json.loads(result.content[0].text)


def messages(error):
    """Returns the messages of an error."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(messages(each) for each in error.exceptions)
    return f"{type(error).__name__}: {error}"


async def run(call, ready, go):
    try:
        async with connect(call["url"]) as streams, ClientSession(streams[0], streams[1]) as session:
            await session.initialize()
            # Otherwise version 1 asks for the tools after its first call, perhaps while the server is away.
            await session.list_tools()
            params = {"title": call["title"]}
            operation = "create", "create_task"
            if call.get("waits"):
                begun = await reply(session, "execute", "execute_export", format="csv")
                params = {"execution_id": begun["data"]["execution_id"], "wait_seconds": 4}
                operation = "read", "get_execution"
            ready.release()
            await go.wait()
            answer = await reply(session, *operation, **params)
            # Before the block ends, which waits for the server.
            print(json.dumps({"name": call["name"], "reply": answer}), flush=True)
    except Exception as error:
        print(json.dumps({"name": call["name"], "error": messages(error)}), flush=True)
    finally:
        ready.release()


async def main(calls):
    ready, go = asyncio.Semaphore(0), asyncio.Event()
    running = [asyncio.create_task(run(call, ready, go)) for call in calls]
    for _ in calls:
        await ready.acquire()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    go.set()
    await asyncio.gather(*running)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    asyncio.run(main(json.loads(sys.argv[1])))
