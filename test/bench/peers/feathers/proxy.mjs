// A proxy that does nothing else, made of the same part as Portico's gateway; without Express, which would cost nearly as
// much as the proxy itself (decision 023).
import { createServer } from "node:http";
import { createProxyMiddleware } from "http-proxy-middleware";

const proxy = createProxyMiddleware({
  target: process.env.TARGET,
  pathFilter: ["/api", "/assets"],
  pathRewrite: { "^/api": "" },
});
const server = createServer((request, response) => {
  proxy(request, response, () => response.destroy()).catch(() => response.destroy());
});
server.keepAliveTimeout = 60_000;
server.listen(Number(process.env.PORT), "127.0.0.1", () => process.send?.("ready"));
for (const end of ["SIGTERM", "disconnect"]) process.once(end, () => process.exit(0));
