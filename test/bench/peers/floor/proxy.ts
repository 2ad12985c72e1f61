// A proxy that does nothing else, made of the same parts as Portico's gateway: what none of them can be faster than.
import express from "express";
import { createProxyMiddleware } from "http-proxy-middleware";

const app = express();
app.use(createProxyMiddleware({ target: process.env.TARGET ?? "" }));
const server = app.listen(Number(process.env.PORT), "127.0.0.1", () => process.send?.("ready"));
server.keepAliveTimeout = 60_000;
for (const end of ["SIGTERM", "disconnect"]) process.once(end, () => process.exit(0));
