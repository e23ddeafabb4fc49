// The official TypeScript SDK as a client that knows nothing but the server's URL: it finds out from
// the 401 where to get a token, gets one from a real authorization server, and gets in; then tokens
// are refreshed, keys are rotated and removed. Run by tools/judges.py.
//
//   node sdk_oauth.mjs SDK URL AUTHORIZATION_SERVER [KEYS]
//
// SDK: 1 (with its folder in SDK_DIR) or 2 (in OAUTH_DIR). KEYS: the file that the server reads the
// keys of its issuer from; without it the server fetches them itself. OPAQUE=1: the server
// introspects, so that opaque tokens are tried too.
import { createHash, randomBytes } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [version, target, issuer, keys] = process.argv.slice(2);
const load = file => import(pathToFileURL(file).href);

async function sdk() {
  if (version === '2') {
    return load(path.join(process.env.OAUTH_DIR,
                          'node_modules/@modelcontextprotocol/client/dist/index.mjs'));
  }
  const root = path.join(process.env.SDK_DIR, 'node_modules/@modelcontextprotocol/sdk/dist/esm');
  return { ...await load(path.join(root, 'client/index.js')),
           ...await load(path.join(root, 'client/streamableHttp.js')),
           ...await load(path.join(root, 'client/auth.js')) };
}
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = await sdk();

function check(condition, what) {
  if (!condition) throw new Error(typeof what === 'string' ? what : JSON.stringify(what));
}

// The keys of the issuer, to where the server reads them: the one place that knows how they travel.
async function publishKeys() {
  if (!keys) return;
  const metadata = await (await fetch(`${issuer}/.well-known/oauth-authorization-server`)).json();
  writeFileSync(`${keys}.new`, await (await fetch(metadata.jwks_uri)).text());
  renameSync(`${keys}.new`, keys);
}

async function admin(what) {
  const response = await fetch(`${issuer}/admin/${what}`, { method: 'POST' });
  check(response.ok, `admin ${what}: ${response.status}`);
  return response.json();
}

const redirect = 'https://client.example/callback';

// What a client keeps of an authorization server, and nothing that it did not hear from the SDK.
class Wallet {
  constructor(account) { this.account = account; }
  get redirectUrl() { return redirect; }
  get clientMetadata() {
    return { client_name: 'sdk', redirect_uris: [redirect], response_types: ['code'],
             grant_types: ['authorization_code', 'refresh_token'],
             token_endpoint_auth_method: 'none' };
  }
  clientInformation() { return this.client; }
  saveClientInformation(client) { this.client = client; }
  tokens() { return this.kept; }
  saveTokens(tokens) { this.kept = tokens; }
  redirectToAuthorization(url) { this.asked = url; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  codeVerifier() { return this.verifier; }
  saveDiscoveryState(found) { this.found = found; }
  discoveryState() { return this.found; }
}

// What a browser does: follows redirects with cookies, up to the client's own address.
async function browse(url, account) {
  const cookies = new Map();
  url.searchParams.set('login_hint', account);
  for (let at = url, steps = 0; steps < 20; ++steps) {
    const response = await fetch(at, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') } });
    for (const line of response.headers.getSetCookie()) {
      const [name, value] = line.split(';')[0].split(/=(.*)/s);
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    check(location, `no redirect at ${at}: ${response.status} ${await response.text()}`);
    if (location.startsWith(redirect)) return new URL(location).searchParams;
    at = new URL(location, at);
  }
  throw new Error('redirects without end');
}

async function open(wallet) {
  const client = new Client({ name: 'oauth', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(target), { authProvider: wallet });
  await client.connect(transport);
  return client;
}

// All that a user does: connect, log in where the browser was sent, connect again.
async function join(account) {
  const wallet = new Wallet(account);
  const client = new Client({ name: 'oauth', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(target), { authProvider: wallet });
  const failure = await client.connect(transport).then(() => null, error => error);
  check(failure instanceof UnauthorizedError, `connected without a token: ${failure}`);
  const answer = await browse(wallet.asked, account);
  check(answer.get('code'), String(answer));
  // Who is answered is whom was asked (RFC 9207).
  if (version === '2') await transport.finishAuth(answer);
  else await transport.finishAuth(answer.get('code'));
  return { wallet, client: await open(wallet) };
}

const echo = async client => {
  const result = await client.callTool({ name: 'echo', arguments: { text: 'in' } });
  check(result.content[0].text === 'in', result);
};
const post = token => fetch(target, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream',
             ...(token ? { Authorization: `Bearer ${token}` } : {}) },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {
    protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } } }),
});
// Keys take a moment to arrive by a file; a server that fetches them does so once in 30 s at most.
async function until(status, token) {
  for (let i = 0; ; ++i) {
    const got = (await post(token)).status;
    if (got === status) return;
    check(i < 400, `${got} instead of ${status}`);
    await new Promise(done => setTimeout(done, 100));
  }
}
const claims = token => JSON.parse(Buffer.from(token.split('.')[1], 'base64url'));
const header = token => JSON.parse(Buffer.from(token.split('.')[0], 'base64url'));

async function ask(endpoint, form, client) {
  const response = await fetch(`${issuer}/${endpoint}`, {
    method: 'POST', body: new URLSearchParams(form),
    headers: client ? { Authorization: 'Basic ' + Buffer.from(`${client.id}:${client.secret}`)
      .toString('base64') } : {} });
  const text = await response.text();
  check(response.ok, `${endpoint}: ${response.status} ${text}`);
  return text ? JSON.parse(text) : {};
}
const serviceToken = async (resource = target) => (await ask('token', {
  grant_type: 'client_credentials', resource, scope: 'tools:call' },
  (await admin('secret')).service)).access_token;

let alice;
const checks = {
  'the 401 says where to go': async () => {
    const response = await post();
    const challenge = response.headers.get('www-authenticate');
    check(response.status === 401 && challenge.startsWith('Bearer '), challenge);
    const where = /resource_metadata="([^"]+)"/.exec(challenge)[1];
    const about = await (await fetch(where)).json();
    check(about.resource === target && about.authorization_servers[0] === issuer, about);
  },
  'from the URL alone to a tool': async () => {
    alice = await join('alice');
    await echo(alice.client);
    const { wallet } = alice;
    const asked = wallet.asked.searchParams;
    check(asked.get('resource') === target && asked.get('code_challenge_method') === 'S256' &&
          asked.get('code_challenge') === createHash('sha256').update(wallet.verifier)
              .digest('base64url'), String(wallet.asked));
    check(asked.get('scope').split(' ').includes('tools:call'), asked.get('scope'));
    const { sub, aud, iss } = claims(wallet.kept.access_token);
    check(sub === 'alice' && aud === target && iss === issuer, { sub, aud, iss });
  },
  'a token that is refused is refreshed': async () => {
    const { wallet, client } = alice;
    const before = wallet.kept;
    wallet.kept = { ...before, access_token: before.access_token.slice(0, -8) + 'AAAAAAAA' };
    await echo(client);
    check(wallet.kept.access_token !== before.access_token && wallet.kept.refresh_token !==
          before.refresh_token, 'nothing was refreshed');
    await until(200, wallet.kept.access_token);
  },
  'a second user is somebody else': async () => {
    const bob = await join('bob');
    await echo(bob.client);
    check(claims(bob.wallet.kept.access_token).sub === 'bob', 'not bob');
    const session = alice.client.transport.sessionId;
    const stolen = await fetch(target, { method: 'DELETE', headers: {
      Authorization: `Bearer ${bob.wallet.kept.access_token}`, 'Mcp-Session-Id': session } });
    check(!session || stolen.status === 404, `bob ended alice's session: ${stolen.status}`);
    await echo(alice.client);
    await bob.client.close();
  },
  'a token by RS256': async () => {
    await admin('algorithm?as=RS256');
    const token = await serviceToken();
    await admin('algorithm?as=ES256');
    check(header(token).alg === 'RS256', header(token));
    await until(200, token);
  },
  'client credentials': async () => {
    const token = await serviceToken();
    check(header(token).alg === 'ES256' && claims(token).sub === 'service', claims(token));
    await until(200, token);
  },
  'a token for another resource': async () => {
    const response = await post(await serviceToken('https://elsewhere.example/mcp'));
    const challenge = response.headers.get('www-authenticate');
    check(response.status === 401 && challenge.includes('invalid_token'), challenge);
  },
  'a new key, beside the old one': async () => {
    const old = alice.wallet.kept.access_token;
    await admin('rotate?keep=yes');
    await publishKeys();
    const fresh = await serviceToken();
    check(header(fresh).kid !== header(old).kid, 'the same key');
    await until(200, fresh);
    await until(200, old);
    await echo(alice.client);
  },
  'a key that is removed': async () => {
    const old = alice.wallet.kept.access_token;
    await admin('rotate?keep=no');
    await publishKeys();
    await until(200, await serviceToken());
    await until(401, old);
    // The client of the SDK helps itself.
    await echo(alice.client);
    check(header(alice.wallet.kept.access_token).kid !== header(old).kid, 'the old key');
  },
};

if (process.env.OPAQUE === '1') {
  checks['an opaque token, until it is revoked'] = async () => {
    await admin('format?as=opaque');
    const carol = await join('carol');
    await admin('format?as=jwt');
    const token = carol.wallet.kept.access_token;
    check(!token.includes('.'), token);
    await echo(carol.client);
    await ask('token/revocation', { token, client_id: carol.wallet.client.client_id });
    await until(401, token);
  };
  checks['an opaque token that nobody made'] = async () => {
    const response = await post(randomBytes(32).toString('base64url'));
    check(response.status === 401, `${response.status}`);
  };
}

let passed = 0;
await publishKeys();
for (const [name, make] of Object.entries(checks)) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('timed out')), 90000);
  });
  try {
    await Promise.race([make(), late]);
    ++passed;
  } catch (error) {
    console.log(`  FAIL ${name}: ${String(error?.stack ?? error).slice(0, 1200)}`);
  } finally {
    clearTimeout(timer);
  }
}
console.log(`sdk-oauth/${version}: passed ${passed} of ${Object.keys(checks).length}`);
process.exit(passed === Object.keys(checks).length ? 0 : 1);
