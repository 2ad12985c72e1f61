// Whose word on the client's address is believed: by the address of each proxy, whatever port it had.
import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "@jest/globals";
import express, { type Request } from "express";
import { listen, type RunningServer } from "./server.js";
import { type TrustProxy, trustProxies } from "./trust-proxy.js";

let server: RunningServer | undefined;
afterEach(() => server?.stop());

/** Runs an app that answers with the client's address. */
async function start(trustProxy: TrustProxy): Promise<{ readonly url: string; readonly taken: Request[] }> {
  const taken: Request[] = [];
  const app = express();
  trustProxies(app, trustProxy);
  app.get("/ip", ({ ip }, response) => void response.json(ip));
  app.get("/kept", (request) => void taken.push(request));
  server = await listen(app, { host: "127.0.0.1", port: 0, portVariable: "PORT" });
  return { url: server.url, taken };
}

const LIST = ["loopback", "203.0.113.7", "2001:db8:7::/48"];

describe("the client's address", () => {
  it.each<[string, TrustProxy, string, string]>([
    ["before a trusted server", LIST, "198.51.100.1, 203.0.113.7", "198.51.100.1"],
    ["before one with its port", LIST, "198.51.100.1, 203.0.113.7:51234", "198.51.100.1"],
    ["before one in IPv6's spelling", LIST, "198.51.100.1, ::ffff:203.0.113.7", "198.51.100.1"],
    ["before one so with its port", LIST, "198.51.100.1,[::ffff:203.0.113.7]:5123", "198.51.100.1"],
    ["before one of a network", LIST, "198.51.100.1, [2001:db8:7:1::5]:443", "198.51.100.1"],
    ["before one in brackets alone", LIST, "198.51.100.1, [2001:db8:7::5]", "198.51.100.1"],
    ["before several with ports", LIST, "198.51.100.1, 203.0.113.7:1, 127.0.0.1:2", "198.51.100.1"],
    ["as it was told, with its port", LIST, "198.51.100.1:777, 203.0.113.7", "198.51.100.1:777"],
    ["of whom nobody trusts", LIST, "198.51.100.1, 203.0.113.8:51234", "203.0.113.8:51234"],
    ["of a network beside", LIST, "198.51.100.1, [2001:db8:8::5]:443", "[2001:db8:8::5]:443"],
    ["that is none", LIST, "198.51.100.1, unknown", "unknown"],
    ["that only looks like a trusted one", LIST, "198.51.100.1, 0177.0.0.1", "0177.0.0.1"],
    ["where proxies are counted", 1, "198.51.100.1, 203.0.113.7:51234", "203.0.113.7:51234"],
    ["where nobody is trusted", false, "198.51.100.1", "127.0.0.1"],
    ["where the proxy is not trusted", ["203.0.113.7"], "198.51.100.1", "127.0.0.1"],
  ])("%s", async (_which, trustProxy, told, address) => {
    const { url } = await start(trustProxy);
    const answer = await fetch(`${url}/ip`, { headers: { "X-Forwarded-For": told } });
    expect(await answer.json()).toBe(address);
  });

  it("is unknown, and no reason to fail, once the connection has ended", async () => {
    const { url, taken } = await start(LIST);
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.write("GET /kept HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 198.51.100.1\r\n\r\n");
    while (taken.length === 0) await new Promise(setImmediate);
    const [kept] = taken;
    const closed = kept && once(kept.socket, "close");
    socket.destroy();
    await closed;
    expect(kept?.ip).toBeUndefined();
  });
});
