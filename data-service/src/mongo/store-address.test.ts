// MONGODB_URL: which addresses open the embedded engine, and which database they name.
import { describe, expect, it } from "@jest/globals";
import { describeStore, parseStoreAddress } from "./store-address.js";

describe("parseStoreAddress", () => {
  it.each([
    ["mongodb_embedded://./data", { kind: "embedded", directory: "./data", database: "portico" }],
    [
      "mongodb_embedded:///var/my%20data",
      { kind: "embedded", directory: "/var/my data", database: "portico" },
    ],
    ["mongodb_embedded:///a?db=shop", { kind: "embedded", directory: "/a", database: "shop" }],
    ["mongodb://h", { kind: "server", url: "mongodb://h", database: "portico" }],
    ["mongodb://u:p@h:1,i:2/", { kind: "server", url: "mongodb://u:p@h:1,i:2/", database: "portico" }],
    ["mongodb://h/shop?w=1", { kind: "server", url: "mongodb://h/shop?w=1", database: "shop" }],
    ["mongodb://h/?appName=a/b", { kind: "server", url: "mongodb://h/?appName=a/b", database: "portico" }],
    ["mongodb+srv://u:p@h/shop", { kind: "server", url: "mongodb+srv://u:p@h/shop", database: "shop" }],
    [
      "mongodb://%2Ftmp%2Fx.sock/t?a=b",
      { kind: "server", url: "mongodb://%2Ftmp%2Fx.sock/t?a=b", database: "t" },
    ],
    ["mongodb://u@[::1]:1/t?a=@", { kind: "server", url: "mongodb://u@[::1]:1/t?a=@", database: "t" }],
  ])("reads %s", (url, address) => {
    expect(parseStoreAddress(url)).toEqual(address);
  });

  it.each([
    "mongodb_embedded://",
    "mongodb_embedded://x?w=1",
    "mongodb_embedded://x?db=",
    "mongodb_embedded://x#y",
    "mongodb_embedded://%",
  ])("refuses %s", (url) => {
    expect(() => parseStoreAddress(url)).toThrow("MONGODB_URL must read mongodb_embedded://{folder}");
  });
});

describe("the name of a database", () => {
  it.each(["a$b", "a.b", "a%20b", "a%2Fb", "a%22", "a%00", "é".repeat(32)])(
    "is refused where MongoDB could not take it: %s",
    (name) => {
      for (const url of [`mongodb://h/${name}`, `mongodb_embedded://x?db=${name}`])
        expect(() => parseStoreAddress(url)).toThrow("MONGODB_URL must name a database without /");
    },
  );

  it.each(["admin", "config", "local", "Admin"])("is none of MongoDB's own: %s", (name) => {
    expect(() => parseStoreAddress(`mongodb://u:p@h/${name}`)).toThrow(/not MongoDB's "\w+".*authSource=/);
  });

  it("may have any other letter, and 63 bytes", () => {
    const name = `${"é".repeat(31)}_`;
    expect(parseStoreAddress(`mongodb://h/${name}`)).toMatchObject({ database: name });
  });
});

it.each(["mongodb://h:99999/x", "mongodb://h:1,i:65536", "mongodb://[::1]:0", "mongodb://user:70000"])(
  "a port ends at 65535, and is not said: %s",
  (url) => {
    expect(() => parseStoreAddress(url)).toThrow(/^MONGODB_URL must name a port from 1 to 65535\.$/);
  },
);

describe("an address whose password is not encoded", () => {
  it.each([
    "mongodb://user:p@ss:wo/rd@127.0.0.1:1/portico",
    "mongodb://user:p@ss/word@127.0.0.1/portico",
    "mongodb+srv://user:p@ss@db.example.com",
    "mongodb://user:p@ss#word@127.0.0.1",
    "mongodb://user:password",
  ])("is refused before the driver sees it, and none of it is said: %s", (url) => {
    const remedy = "encode % : / ? # [ ] @ in user and password, as %25 %3A %2F %3F %23 %5B %5D %40.";
    const form = "mongodb://{user}:{password}@{host}:{port}/{database}";
    expect(() => parseStoreAddress(url)).toThrow(
      expect.objectContaining({ message: `MONGODB_URL must read ${form}: ${remedy}` }),
    );
  });
});

describe("what is said of where the data lies", () => {
  it("is DATA_DIR where the database lies in it, and the folder of the address where that is another", () => {
    const said = (mongodbUrl: string) => describeStore({ mongodbUrl, dataDir: "/srv/data" });
    expect(said("mongodb_embedded:///srv/data/mongodb")).toBe("/srv/data (embedded MongoDB)");
    expect(said("mongodb_embedded:///srv/data%20too/mongodb")).toBe(
      "/srv/data too/mongodb (embedded MongoDB)",
    );
    expect(said("mongodb_embedded://here")).toBe(`${process.cwd()}/here (embedded MongoDB)`);
    expect(said("mongodb://user:secret@db/portico")).toBe("the MongoDB at MONGODB_URL");
  });
});
