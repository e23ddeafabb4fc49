// The official TypeScript SDK 1.x as a client of tasks (2025-11-25, its experimental API), against
// the fixture server. Run by tools/judges.py with the folder of the SDK in SDK_DIR.
//   node sdk_tasks.mjs http URL | stdio COMMAND [ARGUMENT...]
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const root = path.join(process.env.SDK_DIR, 'node_modules/@modelcontextprotocol/sdk/dist/esm');
const load = file => import(pathToFileURL(path.join(root, file)).href);
const { Client } = await load('client/index.js');
const { StreamableHTTPClientTransport } = await load('client/streamableHttp.js');
const { StdioClientTransport } = await load('client/stdio.js');
const types = await load('types.js');

const [mode, target, ...rest] = process.argv.slice(2);
const transport = () => mode === 'http'
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args: rest, stderr: 'ignore' });

const client = new Client({ name: 'tasks', version: '1' },
                          { capabilities: { elicitation: {}, tasks: {} } });
const answers = { confirm: true, name: 'Ada' };
client.setRequestHandler(types.ElicitRequestSchema, async ({ params }) => ({
  action: 'accept',
  content: Object.fromEntries(
      Object.keys(params.requestedSchema.properties).map(key => [key, answers[key]])),
}));
await client.connect(transport());
await client.listTools();
const tasks = client.experimental.tasks;

// Everything that a call as a task yields, by kind.
async function run(name, args = {}, options = {}) {
  const seen = { created: null, states: [], result: null, error: null };
  for await (const one of tasks.callToolStream({ name, arguments: args },
                                               types.CallToolResultSchema, options)) {
    if (one.type === 'taskCreated') seen.created = one.task;
    if (one.type === 'taskStatus') seen.states.push(one.task.status);
    if (one.type === 'result') seen.result = one.result;
    if (one.type === 'error') seen.error = one.error;
  }
  return seen;
}
function check(condition, what) {
  if (!condition) throw new Error(what);
}
const text = result => result.content[0].text;

const checks = {
  'a call as a task': async () => {
    const seen = await run('slow_compute', { seconds: 0.5, label: 'x' }, { task: { ttl: 60000 } });
    check(seen.created?.taskId && seen.result, JSON.stringify(seen));
    check(text(seen.result) === 'computed: x', text(seen.result));
  },
  'a tool that runs as a task only': async () => {
    const seen = await run('failing_job', {}, { task: {} });
    check(seen.created && (seen.error || seen.result.isError), JSON.stringify(seen));
  },
  'a call without the wish': async () => {
    const result = await client.callTool({ name: 'slow_compute', arguments: { seconds: 0 } });
    check(text(result) === 'computed: done', JSON.stringify(result));
  },
  'a question while it runs': async () => {
    const seen = await run('confirm_delete', { filename: 'a' }, { task: {} });
    check(seen.result && text(seen.result) === 'Deleted a', JSON.stringify(seen));
  },
  'two questions at once': async () => {
    const seen = await run('multi_input', {}, { task: {} });
    check(seen.result && text(seen.result) === 'Ada is sure', JSON.stringify(seen));
  },
  'cancelling': async () => {
    let cancelled = null;
    for await (const one of tasks.callToolStream(
        { name: 'slow_compute', arguments: { seconds: 60 } }, types.CallToolResultSchema,
        { task: {} })) {
      if (one.type === 'taskCreated') cancelled = await tasks.cancelTask(one.task.taskId);
    }
    check(cancelled?.status === 'cancelled', JSON.stringify(cancelled));
  },
  'the list': async () => {
    const { tasks: all } = await tasks.listTasks();
    check(all.length >= 5 && all.every(one => one.taskId), JSON.stringify(all));
  },
  'an unknown task': async () => {
    const failure = await tasks.getTask('nobody').catch(error => error);
    check(failure.code === -32602, String(failure));
  },
};

let passed = 0;
for (const [name, make] of Object.entries(checks)) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('timed out')), 20000);
  });
  try {
    await Promise.race([make(), late]);
    ++passed;
  } catch (error) {
    console.log(`  FAIL ${name}: ${String(error?.message ?? error).slice(0, 400)}`);
  } finally {
    clearTimeout(timer);
  }
}
console.log(`sdk-tasks: passed ${passed} of ${Object.keys(checks).length}`);
await client.close();
process.exit(passed === Object.keys(checks).length ? 0 : 1);
