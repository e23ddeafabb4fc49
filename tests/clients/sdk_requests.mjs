// The official TypeScript SDK 1.x as a client that asks for what it is told and prints each result,
// or {"error": …}, as a line of JSON. Run by tools/examples_judge.py with the folder of the SDK in
// SDK_DIR.
//   node sdk_requests.mjs URL '[["tools/call", {"name": …}], …]'
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const root = path.join(process.env.SDK_DIR, 'node_modules/@modelcontextprotocol/sdk/dist/esm');
const load = file => import(pathToFileURL(path.join(root, file)).href);
const { Client } = await load('client/index.js');
const { StreamableHTTPClientTransport } = await load('client/streamableHttp.js');

const [url, requests] = process.argv.slice(2);
const client = new Client({ name: 'examples', version: '1' });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));

// All pages of a list as one.
async function all(list, member) {
  const found = [];
  let cursor;
  do {
    const page = await list({ cursor });
    found.push(...page[member]);
    cursor = page.nextCursor;
  } while (cursor);
  return { [member]: found };
}
const methods = {
  'tools/list': () => all(params => client.listTools(params), 'tools'),
  'prompts/list': () => all(params => client.listPrompts(params), 'prompts'),
  'resources/list': () => all(params => client.listResources(params), 'resources'),
  'tools/call': params => client.callTool(params),
  'prompts/get': params => client.getPrompt(params),
  'resources/read': params => client.readResource(params),
};
for (const [method, params] of JSON.parse(requests)) {
  let result;
  try {
    result = await methods[method](params);
  } catch (error) {
    result = { error: String(error) };
  }
  console.log(JSON.stringify(result));
}
await client.close();
