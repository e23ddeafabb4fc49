// The official TypeScript SDK against a server that speaks TLS: with a token, with a certificate,
// with both. Whom it trusts is in NODE_EXTRA_CA_CERTS. Run by tools/oauth_judge.py.
//
//   node sdk_tls.mjs SDK URL      SDK: 1 (with its folder in SDK_DIR) or 2 (in OAUTH_DIR)
//
// TOKEN: a bearer token; CLIENT_CERT and CLIENT_KEY: files of a certificate of one's own.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [version, target] = process.argv.slice(2);
const { OAUTH_DIR, SDK_DIR, TOKEN, CLIENT_CERT, CLIENT_KEY, NODE_EXTRA_CA_CERTS } = process.env;
const load = file => import(pathToFileURL(file).href);
const root = path.join(SDK_DIR, 'node_modules/@modelcontextprotocol/sdk/dist/esm');
const sdk = version === '2'
  ? await load(path.join(OAUTH_DIR, 'node_modules/@modelcontextprotocol/client/dist/index.mjs'))
  : { ...await load(path.join(root, 'client/index.js')),
      ...await load(path.join(root, 'client/streamableHttp.js')) };

// The fetch of node takes no certificate of one's own; that of undici, which it is made of, does.
function fetchWithCertificate() {
  const undici = createRequire(path.join(OAUTH_DIR, 'package.json'))('undici');
  const dispatcher = new undici.Agent({ connect: {
    ca: readFileSync(NODE_EXTRA_CA_CERTS), cert: readFileSync(CLIENT_CERT),
    key: readFileSync(CLIENT_KEY) } });
  return (url, options) => undici.fetch(url, { ...options, dispatcher });
}

const client = new sdk.Client({ name: 'tls', version: '1' });
await client.connect(new sdk.StreamableHTTPClientTransport(new URL(target), {
  ...(CLIENT_CERT ? { fetch: fetchWithCertificate() } : {}),
  requestInit: { headers: TOKEN ? { Authorization: `Bearer ${TOKEN}` } : {} } }));
const { tools } = await client.listTools();
const result = await client.callTool({ name: 'echo', arguments: { text: 'over TLS' } });
const good = tools.length > 0 && result.content[0].text === 'over TLS';
console.log(good ? 'in' : JSON.stringify(result));
process.exit(good ? 0 : 1);
