// MCP-AQL on top of MCP's official SDK: what is the same in every adapter. The table OPERATIONS is the only description
// of the operations; routing, validation, introspection and the descriptions of the tools follow from it.

import { randomBytes } from "node:crypto";
import { Transform } from "node:stream";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema, McpError } from "@modelcontextprotocol/sdk/types.js";

export type Json = Record<string, any>;
type Operation = { entry: Json; parameters: Json[]; returns: string; example: Json; run: (params: any) => Json };

const MODE = process.env.MCP_AQL_ENDPOINT_MODE === "single" ? "single" : "semantic";
// The permissions and the beginning of the tool's description.
const CATEGORIES: Record<string, { readOnly: boolean; destructive: boolean; purpose: string }> = {
  CREATE: { readOnly: false, destructive: false, purpose: "Adds data. Nothing is removed or overwritten." },
  READ: { readOnly: true, destructive: false, purpose: "Safe, read-only operations. Stored data never changes." },
  UPDATE: { readOnly: false, destructive: true, purpose: "Changes data. Earlier values may be lost." },
  DELETE: { readOnly: false, destructive: true, purpose: "Removes data. Use with caution." },
  EXECUTE: { readOnly: false, destructive: true,
    purpose: "Controls what runs. IMPORTANT: may have effects outside of this adapter." },
};
const LIMITS: Record<string, number> = { max_request_size: 1_048_576, max_response_size: 10_485_760,
  max_string_length: 1_048_576, max_array_elements: 10_000, max_nesting_depth: 32 };
const SESSION = randomBytes(8).toString("hex");
const OPERATIONS = new Map<string, Operation>();
const TYPES = new Map<string, Json>();
const REMOVABLE = new Map<string, string[]>();
const PARTIAL = new Set<string>();

export class Failure extends Error {
  error: Json;
  constructor(code: string, message: string, details?: Json) {
    super(message);
    this.error = { code, message, ...(details && { details }) };
  }
}

export function invalid(name: string, text: string): Failure {
  return new Failure("VALIDATION_INVALID_VALUE", `Parameter '${name}' ${text}`, { param_name: name });
}

export function field(name: string, type: string, description: string, constraints: Json = {}): Json {
  return { name, type, required: false, description, ...constraints };
}

// Registers an object type. A partial one has the same fields, of which none is required and some may be null.
export function objectType(name: string, description: string, fields: Json[], { isPartial = false } = {}): void {
  REMOVABLE.set(name, fields.filter((it) => !it.required && !("default" in it)).map((it) => it.name));
  if (isPartial) PARTIAL.add(name);
  const partial = fields.map(({ default: _, ...it }) => ({ ...it, required: false }));
  TYPES.set(name, { name, kind: "object", description, fields: isPartial ? partial : fields });
}

export function operation(name: string, category: string, description: string, parameters: Json[], returns: string,
  example: Json, run: (params: any) => Json): void {
  const entry = { name, semantic_category: category, endpoint: category.toLowerCase(), description };
  OPERATIONS.set(name, { entry, parameters, returns, example, run });
}

function toolOf(name: string): string {
  return MODE === "single" ? "mcp_aql" : `mcp_aql_${OPERATIONS.get(name)!.entry.endpoint}`;
}

// Introspection

TYPES.set("SemanticCategory", { name: "SemanticCategory", kind: "enum", description: "The effect of an operation.",
  values: Object.keys(CATEGORIES) });
TYPES.set("OperationResult", { name: "OperationResult", kind: "union", description: "A reply.",
  members: ["OperationSuccess", "OperationFailure"] });
objectType("OperationInput", "A request: an operation, or a batch.", [
  field("operation", "string", "The operation."), field("params", "object", "Its parameters."),
  field("operations", "array", "A batch of requests.", { items: { type: "object" } })]);
objectType("OperationSuccess", "A success.", [
  field("success", "boolean", "true", { required: true }), field("data", "object", "The result.", { required: true })]);
objectType("OperationFailure", "A failure.", [field("success", "boolean", "false", { required: true }),
  field("error", "object", "code, message and details.", { required: true })]);
objectType("EndpointPermissions", "The effects of an operation.", [
  field("readOnly", "boolean", "It only reads.", { required: true }),
  field("destructive", "boolean", "It removes or overwrites.", { required: true })]);
objectType("FieldSelection", "The forms of the parameter `fields`.",
  ["presets", "fields", "computed_fields"].map((it) =>
    field(it, "array", `The ${it.replace("_", " ")}.`, { items: { type: "string" } })));

operation("introspect", "READ", "List operations or types, or show one of them.", [
  field("query", "string", "What to show.", { required: true, enum: ["operations", "types"] }),
  field("name", "string", "The name of one operation or type.")], "OperationResult", { query: "operations" },
  introspect);

function introspect({ query, name }: { query: string; name?: string }): Json {
  if (query === "types") {
    const types = [...TYPES.values()].map(({ name, kind, description }) => ({ name, kind, description }));
    return name === undefined ? { types } : { type: TYPES.get(name) ?? null };
  }
  if (name === undefined) {
    const capabilities = { batch: true, field_selection: true };
    return {
      _protocol: { version: "1.0.0-draft", conformance: "level-2", mode: MODE, limits: LIMITS, capabilities,
        concurrency: "serialized", session_id: SESSION },
      operations: [...OPERATIONS.values()].map((it) => it.entry),
    };
  }
  const found = OPERATIONS.get(name);
  if (!found) return { operation: null };
  const { readOnly, destructive } = CATEGORIES[found.entry.semantic_category];
  return { operation: { ...found.entry, mcpTool: toolOf(name), permissions: { readOnly, destructive },
    parameters: found.parameters, returns: { name: found.returns, kind: TYPES.get(found.returns)!.kind },
    examples: [{ request: { operation: name, params: found.example } }] } };
}

// Validation

// The failures in the order of validation.
type Faults = { missing: Failure[]; type: Failure[]; unknown: Failure[]; value: Failure[] };

function jsonType(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (value === Infinity || value === -Infinity) return "infinity";
  if (typeof value === "number") return Number.isSafeInteger(value) ? "integer" : "number";
  return Array.isArray(value) ? "array" : typeof value;
}

function wrongType(path: string, expected: string, value: unknown): Failure {
  const actual = jsonType(value);
  return new Failure("VALIDATION_INVALID_TYPE", `Parameter '${path}' expected '${expected}', got '${actual}'`,
    { param_name: path, expected_type: expected, actual_type: actual });
}

function checkValue(call: string, path: string, spec: Json, value: any, isPartial: boolean, faults: Faults): void {
  const actual = jsonType(value);
  const length = typeof value === "string" ? [...value].length : 0;
  if (TYPES.has(spec.type) && actual === "object") {
    const inner = isPartial || PARTIAL.has(spec.type);
    checkMembers(call, spec.type, `${path}.`, TYPES.get(spec.type)!.fields, value, inner, faults);
  } else if (!spec.type.split(" or ").includes(actual)) {
    faults.type.push(wrongType(path, spec.type, value));
  } else if (spec.enum && !spec.enum.includes(value)) {
    faults.value.push(invalid(path, `must be one of: ${spec.enum.join(", ")}`));
  } else if (value < spec.minimum || value > spec.maximum) {
    faults.value.push(invalid(path, `must be from ${spec.minimum} to ${spec.maximum}`));
  } else if (length < spec.minLength || length > spec.maxLength) {
    faults.value.push(invalid(path, `must have ${spec.minLength ?? 0} to ${spec.maxLength} characters`));
  } else if (actual === "array") {
    for (const item of value) checkValue(call, path, spec.items, item, isPartial, faults);
  }
}

// Checks the parameters of a call, whose `owner` is null, or the fields of an object.
function checkMembers(call: string, owner: string | null, prefix: string, specs: Json[], values: Json,
  isPartial: boolean, faults: Faults): void {
  const valid = specs.map((it) => it.name);
  const unknown = Object.keys(values).filter((name) => !valid.includes(name));
  for (const spec of specs) {
    const path = prefix + spec.name;
    if (!Object.hasOwn(values, spec.name)) {
      if (spec.required) {
        const text = `Missing required parameter '${path}'. Expected: ${spec.type}`;
        faults.missing.push(new Failure("VALIDATION_MISSING_PARAM", text,
          { param_name: path, operation: call, description: spec.description }));
      }
    } else if (values[spec.name] !== null || !isPartial) {
      checkValue(call, path, spec, values[spec.name], isPartial, faults);
    } else if (!REMOVABLE.get(owner!)!.includes(spec.name)) {
      faults.value.push(invalid(path, "cannot be removed: send a value in place of null"));
    }
  }
  const quoted = unknown.map((name) => `'${prefix}${name}'`).join(", ");
  if (unknown.length > 0 && owner === null) {
    const text = `Unknown parameter(s) for operation '${call}': ${quoted}. Valid parameters: ${valid.join(", ")}`;
    const details = { operation: call, unknown_params: unknown, valid_params: valid };
    faults.unknown.push(new Failure("VALIDATION_UNKNOWN_PARAM", text, details));
  } else if (unknown.length > 0) {
    const text = `Unknown field(s) for operation '${call}': ${quoted}. Valid fields: ${valid.join(", ")}`;
    const details = { operation: call, unknown_fields: unknown, valid_fields: valid };
    faults.unknown.push(new Failure("VALIDATION_UNKNOWN_FIELD", text, details));
  }
}

// A value and everything in it, names included.
function* nodes(value: any): Generator<unknown> {
  yield value;
  if (value === null || typeof value !== "object") return;
  for (const each of Array.isArray(value) ? value : Object.entries(value).flat()) yield* nodes(each);
}

function limit(name: string, unit: string, actual: number): void {
  const most = LIMITS[`max_${name}`];
  if (actual > most) {
    throw new Failure("VALIDATION_PAYLOAD_TOO_LARGE", `Payload exceeds ${name} limit of ${most}`,
      { limit_type: name, limit_value: most, actual_value: actual, unit });
  }
}

function checkLimits(request: Json): void {
  for (const value of nodes(request)) {
    if (typeof value === "string") limit("string_length", "bytes", Buffer.byteLength(value));
    if (Array.isArray(value)) limit("array_elements", "elements", value.length);
  }
  limit("request_size", "bytes", Buffer.byteLength(JSON.stringify(request)));
}

// Calls

function isInvalidText(value: unknown): boolean {
  return typeof value === "string" && (value.includes("\0") || !value.isWellFormed());
}

function runOne(tool: string, request: Json): Json {
  if ([...nodes(request)].some(isInvalidText)) {
    throw new Failure("VALIDATION_INVALID_ENCODING", "Invalid character encoding in request");
  }
  const { operation: name, params = {}, ...beside } = request;
  if (name === undefined) {
    throw new Failure("VALIDATION_MISSING_PARAM", "Missing required parameter 'operation'. Expected: string",
      { param_name: "operation" });
  }
  if (typeof name !== "string") throw wrongType("operation", "string", name);
  if (jsonType(params) !== "object") throw wrongType("params", "object", params);
  const found = OPERATIONS.get(name);
  if (!found) throw new Failure("NOT_FOUND_OPERATION", `Unknown operation: '${name}'`, { operation: name });
  if (tool !== toolOf(name)) {
    throw new Failure("VALIDATION_ENDPOINT_MISMATCH",
      `Operation '${name}' belongs to the tool '${toolOf(name)}', not to '${tool}'`, { operation: name,
        expected_endpoint: found.entry.endpoint, actual_endpoint: tool.replace("mcp_aql_", "") });
  }
  const given = Object.fromEntries(Object.entries({ ...beside, ...params }).filter(([it]) => !it.startsWith("_")));
  const faults: Faults = { missing: [], type: [], unknown: [], value: [] };
  checkMembers(name, null, "", found.parameters, given, false, faults);
  const first = [...faults.missing, ...faults.type, ...faults.unknown, ...faults.value].at(0);
  if (first) throw first;
  const defaults = found.parameters.filter((it) => "default" in it).map((it) => [it.name, it.default]);
  return found.run({ ...structuredClone(Object.fromEntries(defaults)), ...given });
}

function replyToOne(tool: string, request: Json): Json {
  let error: Json;
  try {
    return { success: true, data: runOne(tool, request) };
  } catch (fault) {
    if (!(fault instanceof Failure)) console.error("internal error:", fault);
    error = fault instanceof Failure ? fault.error
      : { code: "INTERNAL_ERROR", message: "Internal error: 'the operation failed'" };
  }
  if (request.operation === "introspect") {
    const isQuery = error.code === "VALIDATION_INVALID_VALUE" && error.details?.param_name === "query";
    error = { code: isQuery ? "INVALID_QUERY_TYPE" : error.code, message: error.message };
  }
  return { success: false, error };
}

function replyToBatch(tool: string, request: Json): Json {
  const items = request.operations;
  const isItem = (it: any) => jsonType(it) === "object" && typeof it.operation === "string"
    && Object.keys(it).every((name) => name === "operation" || name === "params");
  if (Object.keys(request).length > 1 || !Array.isArray(items) || items.length === 0 || !items.every(isItem)) {
    return { success: false, error: { code: "BATCH_VALIDATION_ERROR", message:
      "A batch has only `operations`, a list with one or more of { operation: string, params?: object }" } };
  }
  const results = items.map((it, index) => ({ index, operation: it.operation, result: replyToOne(tool, it) }));
  const succeeded = results.filter((it) => it.result.success).length;
  return { success: true, data: null, results,
    summary: { total: items.length, succeeded, failed: items.length - succeeded } };
}

function replyTo(tool: string, { request, repeated, depth }: Json): Json {
  try {
    limit("nesting_depth", "levels", depth);
    if (repeated.length > 0) {
      throw new Failure("VALIDATION_INVALID_VALUE", `Repeated name(s) in the request: ${repeated.join(", ")}`);
    }
    if (jsonType(request) !== "object") throw wrongType("arguments", "object", request);
    checkLimits(request);
    const reply = Object.hasOwn(request, "operations") ? replyToBatch(tool, request) : replyToOne(tool, request);
    limit("response_size", "bytes", Buffer.byteLength(JSON.stringify(reply)));
    return reply;
  } catch (fault) {
    return { success: false, error: (fault as Failure).error };
  }
}

// MCP

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:]/g;

// The names that an object in this JSON text contains twice, of which `JSON.parse` keeps the last value, and the depth.
function scan(text: string): { repeated: string[]; depth: number } {
  const objects: Set<string>[] = [], repeated: string[] = [];
  let previous = "", depth = 0;
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === "{" || token === "[") objects.push(new Set());
    else if (token === "}" || token === "]") objects.pop();
    else if (token === ":") {
      const name = JSON.parse(previous);
      if (objects.at(-1)?.has(name)) repeated.push(name);
      objects.at(-1)?.add(name);
    }
    depth = Math.max(depth, objects.length);
    previous = token;
  }
  return { repeated, depth };
}

// Decodes a line. Bytes that are not UTF-8 become lone surrogates; U+FFFD that was sent as such is kept.
function decode(line: Buffer): string {
  const parts = line.toString("latin1").split("\xef\xbf\xbd");
  return parts.map((it) => Buffer.from(it, "latin1").toString().replaceAll("\ufffd", "\ud800")).join("\ufffd");
}

const MAX_PASSED_DEPTH = 100;

// Passes the arguments of a call on in a member beside what `JSON.parse` does not report. The arguments are two levels
// below the message. `JSON.stringify` fails if they are nested very deeply.
function checkedLine(line: Buffer): string {
  const text = decode(line);
  const message = JSON.parse(text);
  if (message.method === "tools/call") {
    const { repeated, depth } = scan(text);
    const request = depth > MAX_PASSED_DEPTH ? {} : message.params.arguments ?? {};
    message.params.arguments = { request, repeated, depth: depth - 2 };
  }
  return JSON.stringify(message);
}

function checkedLines(): Transform {
  let rest = Buffer.alloc(0);
  return new Transform({
    transform(chunk, _, done) {
      rest = Buffer.concat([rest, chunk]);
      for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
        try {
          this.push(`${checkedLine(rest.subarray(0, end))}\n`);
        } catch {
          this.push("{}\n"); // The SDK ignores what is not a message.
        }
        rest = rest.subarray(end + 1);
      }
      done();
    },
  });
}

function description(tool: string): string {
  const entries = [...OPERATIONS.values()].map((it) => it.entry).filter((it) => toolOf(it.name) === tool);
  const namesOf = (category: string) =>
    entries.filter((it) => it.semantic_category === category).map((it) => it.name).join(", ") || "none";
  const call = '{ operation: "introspect", params: { query: "operations" } }';
  if (MODE === "single") {
    const listed = Object.keys(CATEGORIES).map((it) => `${it[0]}${it.slice(1).toLowerCase()}: ${namesOf(it)}`);
    return "MCP-AQL adapter. One entry point for all operations, which are routed automatically.\n\n"
      + `Supported operation categories:\n${listed.join("\n")}\n\nQuick start:\n${call}`;
  }
  const category = tool.replace("mcp_aql_", "").toUpperCase();
  const examples = entries.slice(0, 2).map(({ name }) =>
    JSON.stringify({ operation: name, params: OPERATIONS.get(name)!.example }));
  const what = category === "READ" ? "all operations and parameters" : "required parameters";
  return `${CATEGORIES[category].purpose}\n\nSupported operations: ${namesOf(category)}\n\n`
    + `Quick start examples:\n${examples.join("\n") || "none"}\n\n`
    + `Discover ${what}:\n${call} on mcp_aql_read`;
}

export async function serve(name: string, version: string): Promise<void> {
  const inputSchema = { type: "object", properties: {
    operation: { type: "string" }, params: { type: "object", additionalProperties: true },
    operations: { type: "array", items: { type: "object" } } } };
  const tools = (MODE === "single" ? ["EXECUTE"] : Object.keys(CATEGORIES)).map((category) => {
    const name = MODE === "single" ? "mcp_aql" : `mcp_aql_${category.toLowerCase()}`;
    const { readOnly, destructive } = CATEGORIES[category];
    return { name, description: description(name), inputSchema,
      annotations: { readOnlyHint: readOnly, destructiveHint: destructive } };
  });
  const server = new Server({ name, version }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    if (!tools.some((tool) => tool.name === params.name)) throw new McpError(-32602, "Unknown tool");
    const reply = replyTo(params.name, params.arguments!);
    const isError = reply.error?.code === "INTERNAL_ERROR";
    return { content: [{ type: "text", text: JSON.stringify(reply) }], isError };
  });
  await server.connect(new StdioServerTransport(process.stdin.pipe(checkedLines())));
}
