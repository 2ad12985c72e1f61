// Parse Server as its guide sets it up, on the address of an engine's socket.
import express from "express";
import { MongoClient } from "mongodb";

// Parse's own reader of addresses turns the host of a Unix socket into a path.
const connect = MongoClient.connect.bind(MongoClient);
MongoClient.connect = (url, options) => connect(url.replace("mongodb:///", "mongodb://"), options);

const { ParseServer } = await import("parse-server");
const { MONGODB_URL, PORT, MASTER_KEY } = process.env;
const parse = new ParseServer({
  databaseURI: MONGODB_URL,
  appId: "bench",
  masterKey: MASTER_KEY,
  serverURL: `http://127.0.0.1:${PORT}/parse`,
  allowClientClassCreation: false,
  logLevel: "error",
  logsFolder: null,
  silent: true,
  fileUpload: { enableForAuthenticatedUser: true, enableForPublic: false },
});
await parse.start();
const app = express();
app.use("/parse", parse.app);
const server = app.listen(Number(PORT), "127.0.0.1", () => process.send?.("ready"));
server.keepAliveTimeout = 60_000;
for (const end of ["SIGTERM", "disconnect"]) process.once(end, () => process.exit(0));
