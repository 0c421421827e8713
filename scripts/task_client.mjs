// Follows executions of examples/tasks as tasks of MCP 2025-11-25, with MCP's SDK for TypeScript.
//
//     node task_client.mjs SDK LONG SHORT
//
// SDK is the folder of the package. The others are URLs, or commands as JSON lists of words. The export of LONG takes
// some seconds, and that of SHORT has a result. Exits with 1 at the first unexpected answer.

import { pathToFileURL } from "node:url";

const [sdk, long, short] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${sdk}/dist/esm/${path}`));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");
const { CallToolResultSchema } = await load("types.js");

const TOOL = "mcp_aql_execute";
const RELATED = "io.modelcontextprotocol/related-task";

function check(condition, message, seen) {
  if (!condition) {
    console.error(`FAILED: ${message}\n  seen: ${JSON.stringify(seen)}`);
    process.exit(1);
  }
}

async function connected(target, use) {
  const client = new Client({ name: "tasks", version: "1" });
  const [command, ...args] = target.startsWith("http") ? [] : JSON.parse(target);
  await client.connect(command
    ? new StdioClientTransport({ command, args })
    : new StreamableHTTPClientTransport(new URL(target)));
  const declared = client.getServerCapabilities().tasks;
  check(declared?.list && declared.cancel && declared.requests.tools.call, "the server declares tasks", declared);
  const { tools } = await client.listTools();
  const { execution } = tools.find((tool) => tool.name === TOOL);
  check(execution.taskSupport === "optional", "the tool supports tasks", execution);
  await use(client, client.experimental.tasks);
  await client.close();
}

// The messages of a call as a task, up to the first of a type.
async function messages(tasks, format, last) {
  const params = { name: TOOL, arguments: { operation: "execute_export", params: { format } } };
  const seen = [];
  for await (const message of tasks.callToolStream(params, CallToolResultSchema, { task: { ttl: 60_000 } })) {
    seen.push(message);
    if (message.type === last) break;
  }
  return seen;
}

async function refused(promise) {
  try {
    const answer = await promise;
    check(false, "this is refused", answer);
  } catch (error) {
    return error;
  }
}

await connected(long, async (client, tasks) => {
  const [{ task }] = await messages(tasks, "csv", "taskCreated");
  check(task.status === "working", "a task begins as working", task);
  const now = await tasks.getTask(task.taskId);
  check(now.status === "working" && now.ttl === null, "the task is working", now);
  const cancelled = await tasks.cancelTask(task.taskId);
  check(cancelled.status === "cancelled", "the task is cancelled", cancelled);
  const error = await refused(tasks.cancelTask(task.taskId));
  check(error.code === -32602, "a cancelled task cannot be cancelled", error);
});

await connected(short, async (client, tasks) => {
  const seen = await messages(tasks, "csv");
  const { task } = seen[0];
  const { type, result } = seen.at(-1);
  check(type === "result", "the task has a result", seen);
  check(JSON.parse(result.content[0].text).data.result.export.tasks === 1, "the result is complete", result);
  check(result._meta[RELATED].taskId === task.taskId, "the result names its task", result);
  const listed = (await tasks.listTasks()).tasks.map((each) => each.taskId);
  check(listed.includes(task.taskId), "the task is listed", listed);
  const [failed] = await messages(tasks, "xml", "error");
  check(failed.error.data.code === "VALIDATION_INVALID_VALUE", "a call that is refused starts no task", failed);
  const error = await refused(tasks.getTask("exec_1"));
  check(error.code === -32602, "an unknown task is refused", error);
});
