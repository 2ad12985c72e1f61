// A service beside Portico: it checks its callers' tokens by the published keys, and calls the data service with an
// API token of its own. Plain Node and one library.
import { createServer } from "node:http";
import { createRemoteJWKSet, errors, jwtVerify } from "jose";

const {
  PORTICO_URL = "http://127.0.0.1:3001",
  APP_URL = "http://localhost:3000",
  PORTICO_TOKEN,
  PORT = "4000",
} = process.env;

if (PORTICO_TOKEN === undefined) {
  console.error("Set PORTICO_TOKEN to an API token; README.md says how to make one.");
  process.exit(1);
}

// Asked for once, kept, and asked for again when a token names a key that is not among them. A new key signs about ten seconds
// after it was published, so jose must not wait half a minute between two times that it asks.
const keys = createRemoteJWKSet(new URL("/.well-known/jwks.json", PORTICO_URL), { cooldownDuration: 5_000 });

/** What jose says when the keys can't be had; the rest of its errors is about the token. */
const WITHOUT_KEYS = ["ERR_JOSE_GENERIC", "ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID"];

/**
 * The user behind an `Authorization` header; undefined unless it holds a valid access token of this deployment.
 * @throws when the keys can't be had: then nobody knows whether it is one, and a caller who is told "no" would sign in again
 */
async function userOf(authorization = "") {
  const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
  if (token === undefined) return undefined;
  const rules = {
    algorithms: ["EdDSA"],
    typ: "at+jwt",
    issuer: new URL(APP_URL).origin,
    audience: "portico",
  };
  return jwtVerify(token, keys, rules).then(
    ({ payload }) => payload.sub,
    (error) => {
      if (error instanceof errors.JOSEError && !WITHOUT_KEYS.includes(error.code)) return undefined;
      throw error;
    },
  );
}

/** Who this service is to Portico; any other call of the API works alike. */
async function ownName() {
  const response = await fetch(new URL("/me?fields=email", PORTICO_URL), {
    headers: { Authorization: `Bearer ${PORTICO_TOKEN}` },
  });
  const body = await response.json();
  if (!response.ok) throw new Error(`Portico answered ${response.status}: ${body.message}`);
  return body.data[0].email;
}

async function answer(request) {
  const user = await userOf(request.headers.authorization);
  if (user === undefined) return { status: 401, body: { message: "Send a valid access token." } };
  return { status: 200, body: { user, service: await ownName() } };
}

const server = createServer(async (request, response) => {
  const { status, body } = await answer(request).catch((error) => {
    console.error(error);
    return { status: 502, body: { message: "Portico did not answer as hoped." } };
  });
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
});

server.listen(Number(PORT), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}`);
});
