// Tables with a label and links, with records that lie there as they are put: for tests that look at how much a query reads.
import { MongoClient } from "mongodb";
import { makeTable } from "../contract/records/make.js";
import { type Api, asAdmin } from "../support/api.js";
import { startStack } from "../support/stack.js";

export interface Labelled {
  readonly root: Api;
  make(name: string, ...relations: readonly object[]): Promise<void>;
  /** Puts records with the ids 0, 1, 2 … into a table's collection. @param of what each has beside its label */
  put(name: string, count: number, of: (at: number) => object): Promise<void>;
  stop(): Promise<void>;
}

/** A stack that looks up no keys beforehand: with so few records it would, and nothing would be joined. */
export async function startLabelled(): Promise<Labelled> {
  const stack = await startStack({ env: { QUERY_PLAN_MAX_KEYS: "0" } });
  const root = await asAdmin(stack);
  const client = await MongoClient.connect(stack.mongodbUrl);
  return {
    root,
    async make(name, ...relations) {
      const columns = [{ name: "label", type: "string" }];
      await makeTable(root, { name, idType: "int", columns, relations });
    },
    async put(name, count, of) {
      const documents = Array.from({ length: count }, (_, _id) => ({
        _id,
        label: `${name} ${_id}`,
        ...of(_id),
      }));
      await client.db().collection<{ _id: number }>(name).insertMany(documents);
    },
    async stop() {
      await client.close();
      await stack.stop();
    },
  };
}
