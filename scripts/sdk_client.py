#!/usr/bin/env python3
"""Calls tools of an MCP server with MCP's SDK for Python, a third-party client.

    sdk_client.py TARGET CALLS

TARGET is a URL, or a command as a JSON list of words. CALLS is a JSON list of objects with `tool` and `arguments`.
With `until_without`, the call is repeated for up to a minute while its answer contains that text. Prints the tools and
the answers as JSON. Exits with 1 if structured content violates its tool's schema.
"""

import asyncio
import json
import os
import sys
import time

from jsonschema import Draft202012Validator
from mcp import Client, MCPError, StdioServerParameters

PATIENCE = 60


async def call(client, wanted):
    until = time.monotonic() + PATIENCE
    while True:
        try:
            result = await client.call_tool(wanted["tool"], wanted["arguments"])
            answer = {
                "text": [block.text for block in result.content],
                "structured": result.structured_content,
                "failed": result.is_error,
            }
        except MCPError as error:
            answer = {"error": {"code": error.code, "message": error.message, "data": error.data}}
        marker = wanted.get("until_without")
        if not marker or marker not in json.dumps(answer) or time.monotonic() > until:
            return answer
        await asyncio.sleep(0.1)


async def main(target, calls):
    if not target.startswith("http"):
        words = json.loads(target)
        target = StdioServerParameters(command=words[0], args=words[1:], env=dict(os.environ))
    async with Client(target) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        answers = []
        for wanted in calls:
            answer = await call(client, wanted)
            schema = tools[wanted["tool"]].output_schema
            if schema and "error" not in answer:
                Draft202012Validator.check_schema(schema)
                Draft202012Validator(schema).validate(answer["structured"])
            answers.append(answer)
        described = {name: tool.model_dump(by_alias=True, exclude_none=True) for name, tool in tools.items()}
        print(json.dumps({"tools": described, "answers": answers}))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))
