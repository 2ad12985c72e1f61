// Which requests are of one client.
import { describe, expect, it } from "@jest/globals";
import { ProvedClients } from "./proved-clients.js";

const ADDRESS = "192.0.2.1";

describe("the client of a request", () => {
  it("is its network until what it presents was found good", () => {
    const clients = new ProvedClients();
    const before = [clients.clientOf(undefined, ADDRESS), clients.clientOf("token", ADDRESS)];
    expect(before).toEqual([ADDRESS, ADDRESS]);
    clients.prove("token", "ann");
    expect(clients.clientOf("token", ADDRESS)).toBe("ann");
    expect(clients.clientOf("another", ADDRESS)).toBe(ADDRESS);
  });

  it("is one for all tokens of a user", () => {
    const clients = new ProvedClients();
    for (const token of ["one", "two"]) clients.prove(token, "ann");
    expect(["one", "two"].map((token) => clients.clientOf(token, ADDRESS))).toEqual(["ann", "ann"]);
  });

  it("is not told by what tokens of different users have in common", () => {
    const clients = new ProvedClients();
    const tokens = ["ann", "ben"].map((name) => `${"the same head. ".repeat(30)}${name}`);
    for (const [at, token] of tokens.entries()) clients.prove(token, `user ${at}`);
    expect(tokens.map((token) => clients.clientOf(token, ADDRESS))).toEqual(["user 0", "user 1"]);
  });

  it("stays known while its token goes on being good, however many others come", () => {
    const clients = new ProvedClients();
    clients.prove("idle", "ben");
    for (let at = 0; at < 20_000; at += 1) {
      clients.prove(`token ${at}`, "eve");
      if (at % 1_000 === 0) clients.prove("token", "ann");
    }
    expect(["token", "idle"].map((token) => clients.clientOf(token, ADDRESS))).toEqual(["ann", ADDRESS]);
  });
});
