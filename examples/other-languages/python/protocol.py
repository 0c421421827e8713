"""MCP-AQL on top of MCP's official SDK: what is the same in every adapter. The table OPERATIONS is the only description
of the operations; routing, validation, introspection and the descriptions of the tools follow from it."""

import json
import math
import os
import re
import secrets
import sys
from collections import Counter

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations

MODE = "single" if os.environ.get("MCP_AQL_ENDPOINT_MODE") == "single" else "semantic"
CATEGORIES = {  # The permissions `readOnly` and `destructive`, and the beginning of the tool's description.
    "CREATE": (False, False, "Adds data. Nothing is removed or overwritten."),
    "READ": (True, False, "Safe, read-only operations. Stored data never changes."),
    "UPDATE": (False, True, "Changes data. Earlier values may be lost."),
    "DELETE": (False, True, "Removes data. Use with caution."),
    "EXECUTE": (False, True, "Controls what runs. IMPORTANT: may have effects outside of this adapter."),
}
LIMITS = {"max_request_size": 1_048_576, "max_response_size": 10_485_760, "max_string_length": 1_048_576,
          "max_array_elements": 10_000, "max_nesting_depth": 32}
SESSION = secrets.token_hex(8)
OPERATIONS, TYPES, REMOVABLE, PARTIAL = {}, {}, {}, set()


class Failure(Exception):
    def __init__(self, code, message, **details):
        self.error = {"code": code, "message": message, **({"details": details} if details else {})}


def invalid(name, text):
    return Failure("VALIDATION_INVALID_VALUE", f"Parameter '{name}' {text}", param_name=name)


def field(name, kind, description, required=False, **constraints):
    return {"name": name, "type": kind, "required": required, "description": description, **constraints}


def object_type(name, description, fields, is_partial=False):
    """Registers an object type. A partial one has the same fields, of which none is required and some may be null."""
    REMOVABLE[name] = {it["name"] for it in fields if not it["required"] and "default" not in it}
    if is_partial:
        PARTIAL.add(name)
        fields = [{**{key: it[key] for key in it if key != "default"}, "required": False} for it in fields]
    TYPES[name] = {"name": name, "kind": "object", "description": description, "fields": fields}


def operation(category, description, parameters, returns, example):
    """Registers a function as the operation of its name."""
    def register(run):
        entry = {"name": run.__name__, "semantic_category": category, "endpoint": category.lower(),
                 "description": description}
        OPERATIONS[run.__name__] = {"run": run, "entry": entry, "parameters": parameters, "returns": returns,
                                    "example": example}
        return run
    return register


def tool_of(name):
    return "mcp_aql" if MODE == "single" else f"mcp_aql_{OPERATIONS[name]['entry']['endpoint']}"


# Introspection

for each in [
    {"name": "SemanticCategory", "kind": "enum", "description": "The effect of an operation.", "values": [*CATEGORIES]},
    {"name": "OperationResult", "kind": "union", "description": "A reply.",
     "members": ["OperationSuccess", "OperationFailure"]},
]:
    TYPES[each["name"]] = each
object_type("OperationInput", "A request: an operation, or a batch.", [
    field("operation", "string", "The operation."), field("params", "object", "Its parameters."),
    field("operations", "array", "A batch of requests.", items={"type": "object"})])
object_type("OperationSuccess", "A success.", [
    field("success", "boolean", "true", True), field("data", "object", "The result.", True)])
object_type("OperationFailure", "A failure.", [
    field("success", "boolean", "false", True), field("error", "object", "code, message and details.", True)])
object_type("EndpointPermissions", "The effects of an operation.", [
    field("readOnly", "boolean", "It only reads.", True),
    field("destructive", "boolean", "It removes or overwrites.", True)])
object_type("FieldSelection", "The forms of the parameter `fields`.", [
    field(it, "array", f"The {it.replace('_', ' ')}.", items={"type": "string"})
    for it in ("presets", "fields", "computed_fields")])


@operation("READ", "List operations or types, or show one of them.", [
    field("query", "string", "What to show.", True, enum=["operations", "types"]),
    field("name", "string", "The name of one operation or type.")], "OperationResult", example={"query": "operations"})
def introspect(query, name=None):
    if query == "types":
        summary = ("name", "kind", "description")
        types = [{key: it[key] for key in summary} for it in TYPES.values()]
        return {"types": types} if name is None else {"type": TYPES.get(name)}
    if name is None:
        capabilities = {"batch": True, "field_selection": True}
        return {"_protocol": {"version": "1.0.0-draft", "conformance": "level-2", "mode": MODE, "limits": LIMITS,
                              "capabilities": capabilities, "concurrency": "serialized", "session_id": SESSION},
                "operations": [it["entry"] for it in OPERATIONS.values()]}
    if name not in OPERATIONS:
        return {"operation": None}
    it = OPERATIONS[name]
    read_only, destructive, _ = CATEGORIES[it["entry"]["semantic_category"]]
    return {"operation": {
        **it["entry"], "mcpTool": tool_of(name), "permissions": {"readOnly": read_only, "destructive": destructive},
        "parameters": it["parameters"], "returns": {"name": it["returns"], "kind": TYPES[it["returns"]]["kind"]},
        "examples": [{"request": {"operation": name, "params": it["example"]}}]}}


# Validation

JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object",
              type(None): "null"}
MISSING, WRONG_TYPE, UNKNOWN, WRONG_VALUE = range(4)


def wrong_type(path, expected, value):
    actual = JSON_TYPES[type(value)]
    return Failure("VALIDATION_INVALID_TYPE", f"Parameter '{path}' expected '{expected}', got '{actual}'",
                   param_name=path, expected_type=expected, actual_type=actual)


def value_faults(call, path, spec, value, is_partial):
    """Yields the failures of a value, each with its rank in the order of validation."""
    kind, actual = spec["type"], JSON_TYPES[type(value)]
    if kind in TYPES and actual == "object":
        yield from member_faults(call, kind, f"{path}.", TYPES[kind]["fields"], value, is_partial or kind in PARTIAL)
    elif actual not in kind.split(" or "):
        yield WRONG_TYPE, wrong_type(path, kind, value)
    elif "enum" in spec and value not in spec["enum"]:
        yield WRONG_VALUE, invalid(path, f"must be one of: {', '.join(spec['enum'])}")
    elif actual == "integer" and not spec.get("minimum", value) <= value <= spec.get("maximum", value):
        yield WRONG_VALUE, invalid(path, f"must be from {spec['minimum']} to {spec['maximum']}")
    elif actual == "string" and not spec.get("minLength", 0) <= len(value) <= spec.get("maxLength", len(value)):
        yield WRONG_VALUE, invalid(path, f"must have {spec.get('minLength', 0)} to {spec['maxLength']} characters")
    elif actual == "array":
        for item in value:
            yield from value_faults(call, path, spec["items"], item, is_partial)


def member_faults(call, owner, prefix, specs, values, is_partial=False):
    """Yields the failures of the parameters of a call, whose `owner` is None, or of the fields of an object."""
    known = {spec["name"]: spec for spec in specs}
    unknown, listed = [name for name in values if name not in known], ", ".join(known)
    for name, spec in known.items():
        path = prefix + name
        if name not in values:
            if spec["required"]:
                text = f"Missing required parameter '{path}'. Expected: {spec['type']}"
                yield MISSING, Failure("VALIDATION_MISSING_PARAM", text, param_name=path, operation=call,
                                       description=spec["description"])
        elif values[name] is not None or not is_partial:
            yield from value_faults(call, path, spec, values[name], is_partial)
        elif name not in REMOVABLE[owner]:
            yield WRONG_VALUE, invalid(path, "cannot be removed: send a value in place of null")
    quoted = ", ".join(f"'{prefix}{name}'" for name in unknown)
    if unknown and owner is None:
        text = f"Unknown parameter(s) for operation '{call}': {quoted}. Valid parameters: {listed}"
        yield UNKNOWN, Failure("VALIDATION_UNKNOWN_PARAM", text, operation=call, unknown_params=unknown,
                               valid_params=list(known))
    elif unknown:
        text = f"Unknown field(s) for operation '{call}': {quoted}. Valid fields: {listed}"
        yield UNKNOWN, Failure("VALIDATION_UNKNOWN_FIELD", text, operation=call, unknown_fields=unknown,
                               valid_fields=list(known))


def nodes(value, depth=1):
    """Yields a value and everything in it, names included, each with its nesting depth."""
    yield value, depth
    for inner in [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []:
        yield from nodes(inner, depth + 1)


def limit(name, unit, actual):
    most = LIMITS[f"max_{name}"]
    if actual > most:
        raise Failure("VALIDATION_PAYLOAD_TOO_LARGE", f"Payload exceeds {name} limit of {most}", limit_type=name,
                      limit_value=most, actual_value=actual, unit=unit)


def size(text):
    return len(text.encode("utf-8", "surrogatepass"))


def check_limits(request):
    limit("request_size", "bytes", size(json.dumps(request, ensure_ascii=False, separators=(",", ":"))))
    for value, depth in nodes(request):
        if isinstance(value, str):
            limit("string_length", "bytes", size(value))
        if isinstance(value, list):
            limit("array_elements", "elements", len(value))
        if isinstance(value, (list, dict)):
            limit("nesting_depth", "levels", depth)
        if isinstance(value, float) and not math.isfinite(value):
            raise Failure("VALIDATION_INVALID_VALUE", "A number of the request is not finite")


# Calls

def run_one(tool, request):
    """Returns the data of one operation, or raises a Failure."""
    # Surrogates also stand for bytes that are not UTF-8.
    if any(isinstance(text, str) and re.search("[\0\ud800-\udfff]", text) for text, _ in nodes(request)):
        raise Failure("VALIDATION_INVALID_ENCODING", "Invalid character encoding in request")
    name = request.get("operation")
    if name is None:
        raise Failure("VALIDATION_MISSING_PARAM", "Missing required parameter 'operation'. Expected: string",
                      param_name="operation")
    params = request.get("params", {})
    if not isinstance(name, str):
        raise wrong_type("operation", "string", name)
    if not isinstance(params, dict):
        raise wrong_type("params", "object", params)
    if name not in OPERATIONS:
        raise Failure("NOT_FOUND_OPERATION", f"Unknown operation: '{name}'", operation=name)
    if tool != tool_of(name):
        text = f"Operation '{name}' belongs to the tool '{tool_of(name)}', not to '{tool}'"
        raise Failure("VALIDATION_ENDPOINT_MISMATCH", text, operation=name,
                      expected_endpoint=OPERATIONS[name]["entry"]["endpoint"], actual_endpoint=tool.split("_")[-1])
    given = {key: value for key, value in {**request, **params}.items()
             if not key.startswith("_") and (key in params or key not in ("operation", "params"))}
    found = [*member_faults(name, None, "", OPERATIONS[name]["parameters"], given)]
    if found:
        raise min(found, key=lambda ranked: ranked[0])[1]
    defaults = {it["name"]: it["default"] for it in OPERATIONS[name]["parameters"] if "default" in it}
    return OPERATIONS[name]["run"](**{**defaults, **given})


def reply_to_one(tool, request):
    try:
        return {"success": True, "data": run_one(tool, request)}
    except Failure as failure:
        error = failure.error
    except Exception as fault:
        print(f"internal error: {fault!r}", file=sys.stderr)
        error = {"code": "INTERNAL_ERROR", "message": "Internal error: 'the operation failed'"}
    if request.get("operation") == "introspect":
        error.pop("details", None)
        if "'query'" in error["message"] and error["code"] == "VALIDATION_INVALID_VALUE":
            error["code"] = "INVALID_QUERY_TYPE"
    return {"success": False, "error": error}


def reply_to_batch(tool, request):
    items = request["operations"]
    if len(request) > 1 or not isinstance(items, list) or not items or not all(
            isinstance(it, dict) and isinstance(it.get("operation"), str) and set(it) <= {"operation", "params"}
            for it in items):
        text = "A batch has only `operations`, a list with one or more of { operation: string, params?: object }"
        return {"success": False, "error": {"code": "BATCH_VALIDATION_ERROR", "message": text}}
    results = [{"index": index, "operation": it["operation"], "result": reply_to_one(tool, it)}
               for index, it in enumerate(items)]
    succeeded = sum(it["result"]["success"] for it in results)
    return {"success": True, "data": None, "results": results,
            "summary": {"total": len(items), "succeeded": succeeded, "failed": len(items) - succeeded}}


def reply_to(tool, request, repeated):
    try:
        if repeated:
            raise Failure("VALIDATION_INVALID_VALUE", f"Names that occur twice in an object: {json.dumps(repeated)}")
        if not isinstance(request, dict):
            raise wrong_type("arguments", "object", request)
        check_limits(request)
        reply = reply_to_batch(tool, request) if "operations" in request else reply_to_one(tool, request)
        limit("response_size", "bytes", size(json.dumps(reply, ensure_ascii=False)))
        return reply
    except Failure as failure:
        return {"success": False, "error": failure.error}


# MCP

MAX_PARSED_DEPTH = 100
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]|[^\[\]{}"]+|"')


def shallow(text):
    """Replaces what is nested too deeply for the parser with null, so that the id of the message can be read."""
    depth, kept = 0, []
    for token in TOKEN.findall(text):
        depth += token in ("[", "{")
        if depth <= MAX_PARSED_DEPTH:
            kept.append(token)
        elif token in ("[", "{") and depth == MAX_PARSED_DEPTH + 1:
            kept.append("null")
        depth -= token in ("]", "}")
    return "".join(kept)


def integer(digits):
    """Python refuses to read integers with more than 4300 digits. As numbers, they are infinite."""
    return int(digits) if len(digits) < 400 else float(digits)


async def lines():
    """Yields the lines of standard input with arguments that the SDK cannot change: the text of their JSON, in which
    bytes that are not UTF-8 are lone surrogates, and the names that an object repeats."""
    async for line in anyio.wrap_file(sys.stdin.buffer):
        repeated = []

        def members(pairs):
            names = Counter(name for name, _ in pairs)
            repeated.extend(name for name in names if names[name] > 1)
            return dict(pairs)

        try:
            text = shallow(line.decode("utf-8", "surrogateescape"))
            message = json.loads(text, object_pairs_hook=members, parse_int=integer)
            if message["method"] == "tools/call":
                arguments = message["params"].get("arguments", {})
                message["params"]["arguments"] = {"json": json.dumps([arguments, repeated])}
            yield json.dumps(message)
        except (ValueError, TypeError, KeyError, AttributeError):
            yield "{}"  # The SDK logs and ignores what is not a message.


def description(tool):
    names = [name for name in OPERATIONS if tool_of(name) == tool]
    call = '{ operation: "introspect", params: { query: "operations" } }'
    if MODE == "single":
        by_category = {it: [name for name in names if OPERATIONS[name]["entry"]["semantic_category"] == it]
                       for it in CATEGORIES}
        listed = "\n".join(f"{it.capitalize()}: {', '.join(of) or 'none'}" for it, of in by_category.items())
        return ("MCP-AQL adapter. One entry point for all operations, which are routed automatically.\n\n"
                f"Supported operation categories:\n{listed}\n\nQuick start:\n{call}")
    category = tool.removeprefix("mcp_aql_").upper()
    examples = [{"operation": name, "params": OPERATIONS[name]["example"]} for name in names[:2]]
    quick = "\n".join(json.dumps(it) for it in examples) or "none"
    what = "all operations and parameters" if category == "READ" else "required parameters"
    return (f"{CATEGORIES[category][2]}\n\nSupported operations: {', '.join(names) or 'none'}\n\n"
            f"Quick start examples:\n{quick}\n\nDiscover {what}:\n{call} on mcp_aql_read")


async def serve(name, version):
    schema = {"type": "object", "properties": {
        "operation": {"type": "string"}, "params": {"type": "object", "additionalProperties": True},
        "operations": {"type": "array", "items": {"type": "object"}}}}
    hints = {"mcp_aql": (False, True)} if MODE == "single" else {
        f"mcp_aql_{category.lower()}": permissions[:2] for category, permissions in CATEGORIES.items()}
    tools = [Tool(name=tool, description=description(tool), input_schema=schema,
                  annotations=ToolAnnotations(read_only_hint=read_only, destructive_hint=destructive))
             for tool, (read_only, destructive) in hints.items()]

    async def list_tools(context, params):
        return ListToolsResult(tools=tools)

    async def call_tool(context, params):
        if params.name not in hints:
            raise MCPError(-32602, "Unknown tool")
        reply = reply_to(params.name, *json.loads(params.arguments["json"]))
        is_error = reply.get("error", {}).get("code") == "INTERNAL_ERROR"
        text = json.dumps(reply, ensure_ascii=False)
        return CallToolResult(content=[TextContent(type="text", text=text)], is_error=is_error)

    server = Server(name, version=version, on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server(stdin=lines()) as (read, write):
        await server.run(read, write, server.create_initialization_options())
