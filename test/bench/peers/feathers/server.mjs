// FeathersJS with its MongoDB adapter, as its generator lays it out, without the schemas that check bodies.
import { AuthenticationService, authenticate, JWTStrategy } from "@feathersjs/authentication";
import { LocalStrategy, hooks as localHooks } from "@feathersjs/authentication-local";
import { feathers } from "@feathersjs/feathers";
import { bodyParser, errorHandler, koa, parseAuthentication, rest, serveStatic } from "@feathersjs/koa";
import { MongoDBService } from "@feathersjs/mongodb";
import { MongoClient, ObjectId } from "mongodb";

const { MONGODB_URL, PORT, SECRET, PUBLIC_DIR, USERS } = process.env;
const client = await MongoClient.connect(MONGODB_URL);
const db = client.db("feathers", { writeConcern: { w: 1, journal: true } });

const app = koa(feathers());
app.set("authentication", {
  entity: "user",
  entityId: "_id",
  service: "users",
  secret: SECRET,
  authStrategies: ["jwt", "local"],
  jwtOptions: {
    header: { typ: "access" },
    audience: "http://localhost",
    algorithm: "HS256",
    expiresIn: "1d",
  },
  local: { usernameField: "email", passwordField: "password" },
});
app.use(serveStatic(PUBLIC_DIR));
app.use(errorHandler());
app.use(parseAuthentication());
app.use(bodyParser());
app.configure(rest());

const paginate = { default: 10, max: 100 };
app.use("users", new MongoDBService({ Model: db.collection("users"), paginate }));
app.service("users").hooks({
  around: { find: [authenticate("jwt")], get: [authenticate("jwt")] },
  before: { create: [localHooks.hashPassword("password")] },
});

const authentication = new AuthenticationService(app);
authentication.register("jwt", new JWTStrategy());
authentication.register("local", new LocalStrategy());
app.use("authentication", authentication);

/** Counts what matches only for who asks for it: the adapter counts for every page otherwise. */
function totalOnDemand({ params }) {
  const { $total, ...query } = params.query;
  params.query = query;
  if ($total !== "true") params.paginate = false;
}

function stampNew({ data }) {
  const now = new Date();
  Object.assign(data, { authorId: new ObjectId(data.authorId), createdAt: now, updatedAt: now });
}

function stampChanged({ data }) {
  data.updatedAt = new Date();
}

app.use(
  "posts",
  new MongoDBService({ Model: db.collection("posts"), paginate, operators: ["$regex", "$options"] }),
);
app.service("posts").hooks({
  around: { all: [authenticate("jwt")] },
  before: { find: [totalOnDemand], create: [stampNew], patch: [stampChanged] },
});

for (const user of JSON.parse(USERS)) {
  const [known] = await app.service("users").find({ query: { email: user.email }, paginate: false });
  if (known === undefined) await app.service("users").create(user);
}
const server = await app.listen(Number(PORT), "127.0.0.1");
server.keepAliveTimeout = 60_000;
process.send?.("ready");
for (const end of ["SIGTERM", "disconnect"]) process.once(end, () => process.exit(0));
