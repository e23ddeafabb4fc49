// A real authorization server for tests: the npm package oidc-provider with everything that a
// client of MCP asks for (REVISIONS §14): metadata of RFC 8414, dynamic registration (RFC 7591),
// PKCE, resource indicators (RFC 8707), refresh tokens, client credentials, introspection (RFC 7662)
// and revocation (RFC 7009). Whoever asks is let in at once, as the account of `login_hint`.
//
//   node authorization_server.mjs PORT RESOURCE...     with the folder of the package in OAUTH_DIR
//
// Tokens are for one of the resources, JWTs (RFC 9068) at first. For tests only, beside it:
//   POST /admin/rotate?keep=yes|no   a new key signs from now on; the old ones stay published or not
//   POST /admin/format?as=jwt|opaque and
//   POST /admin/algorithm?as=ES256|RS256   what tokens are from now on
//   GET  /admin/secret               the name and the secret of the resource server's own client
// Prints "listening" and its URL when it is ready; ends with its input or by SIGTERM.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [port, ...resources] = process.argv.slice(2);
const require = createRequire(path.join(process.env.OAUTH_DIR, 'package.json'));
const { default: Provider } = await import(pathToFileURL(require.resolve('oidc-provider')).href);
const { default: MemoryAdapter } = await import(pathToFileURL(path.join(
  path.dirname(require.resolve('oidc-provider')), 'adapters/memory_adapter.js')).href);
const issuer = `http://127.0.0.1:${port}`;
const scope = 'tools:call';
const guard = { id: 'resource-server', secret: randomBytes(16).toString('hex') };
const service = { id: 'service', secret: randomBytes(16).toString('hex') };
const cookieKeys = [randomBytes(16).toString('hex')];
const state = { format: 'jwt', algorithm: 'ES256', keys: [], made: 0 };

function makeKeys() {
  const mark = ++state.made;
  const pairs = { ES256: ['ec', { namedCurve: 'P-256' }], RS256: ['rsa', { modulusLength: 2048 }] };
  return Object.entries(pairs).map(([alg, [kind, options]]) => ({
    ...generateKeyPairSync(kind, options).privateKey.export({ format: 'jwk' }),
    kid: `${alg}-${mark}`, alg, use: 'sig' }));
}

// What is stored outlives the provider that stored it.
const store = new Map();
class Adapter extends MemoryAdapter {
  constructor(model) { super(model, store); }
}

// Its keys cannot be changed while it runs: rotating makes another one, over the same store.
function makeProvider() {
  return new Provider(issuer, {
    adapter: Adapter,
    clients: [
      { client_id: guard.id, client_secret: guard.secret, grant_types: [], redirect_uris: [],
        response_types: [] },
      { client_id: service.id, client_secret: service.secret, redirect_uris: [],
        grant_types: ['client_credentials'], response_types: [] },
    ],
    cookies: { keys: cookieKeys },
    jwks: { keys: state.keys },
    scopes: ['openid', 'offline_access', scope],
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    issueRefreshToken: async (_, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    pkce: { required: () => true },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      clientCredentials: { enabled: true },
      revocation: { enabled: true },
      // The resource server may ask about everybody's tokens.
      introspection: { enabled: true, allowedPolicy: (_, client) => client.clientId === guard.id },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        defaultResource: () => resources[0],
        getResourceServerInfo: (_, indicator) => {
          if (!resources.includes(indicator)) throw new Error(`no such resource: ${indicator}`);
          return { scope, audience: indicator, accessTokenTTL: 600,
                   accessTokenFormat: state.format, jwt: { sign: { alg: state.algorithm } } };
        },
      },
    },
  });
}

// Logs in and consents without asking anybody.
async function interact(provider, request, response) {
  const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
  const end = (result, merge) => provider.interactionFinished(request, response, result, {
    mergeWithLastSubmission: merge });
  if (prompt.name === 'login') {
    return end({ login: { accountId: params.login_hint ?? 'alice' } }, false);
  }
  const grant = grantId ? await provider.Grant.find(grantId)
    : new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  const { missingOIDCScope, missingResourceScopes } = prompt.details;
  if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope.join(' '));
  for (const [resource, scopes] of Object.entries(missingResourceScopes ?? {})) {
    grant.addResourceScope(resource, scopes.join(' '));
  }
  return end({ consent: { grantId: await grant.save() } }, true);
}

state.keys = makeKeys();
let provider = makeProvider();

const admin = {
  rotate: query => {
    state.keys = [...makeKeys(), ...(query.get('keep') === 'yes' ? state.keys : [])];
    provider = makeProvider();
  },
  format: query => { state.format = query.get('as'); },
  algorithm: query => { state.algorithm = query.get('as'); },
  secret: () => ({ resource_server: guard, service }),
};

const server = createServer(async (request, response) => {
  const url = new URL(request.url, issuer);
  try {
    if (url.pathname.startsWith('/admin/')) {
      const said = admin[url.pathname.slice('/admin/'.length)](url.searchParams) ?? {};
      response.setHeader('Content-Type', 'application/json');
      return response.end(JSON.stringify(said));
    }
    if (url.pathname.startsWith('/interaction/')) return await interact(provider, request, response);
    // RFC 8414 §3: the same document under the name that is for OAuth.
    if (url.pathname === '/.well-known/oauth-authorization-server') {
      request.url = '/.well-known/openid-configuration';
    }
    return provider.callback()(request, response);
  } catch (error) {
    response.statusCode = 500;
    return response.end(String(error?.stack ?? error));
  }
});
server.listen(Number(port), '127.0.0.1', () => console.log(`listening ${issuer}`));
process.on('SIGTERM', () => process.exit(0));
