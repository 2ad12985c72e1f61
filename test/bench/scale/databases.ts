// One database a size, made once: filled through the driver, served by a data service of its own.
import { MongoClient } from "mongodb";
import { signIn } from "../../support/api.js";
import { ADMIN, type RunningService, startService } from "../../support/stack.js";
import { load, recordsOf } from "./load.js";
import type { Sized } from "./measure.js";
import { OPTIONS, TABLES } from "./tables.js";

/** Grows when what is stored changes, so that older databases are filled anew. */
const FORM = `3 ${JSON.stringify(OPTIONS)}`;

interface Marker {
  _id: "scale";
  form: string;
}

export interface SizedService extends Sized {
  readonly service: RunningService;
  readonly mongodbUrl: string;
}

/**
 * Starts a data service over `posts` posts, which are loaded unless an earlier run has left them.
 * @param mongodbUrl the server, without a database
 * @param settings over the data service's defaults
 */
export async function openSize(
  mongodbUrl: string,
  posts: number,
  dataDir: string,
  tell: (text: string) => void,
  settings: Readonly<Record<string, string>> = {},
): Promise<SizedService> {
  const [, server = "", options = ""] =
    /^(mongodb(?:\+srv)?:\/\/[^/?]+)\/?[^?]*(\?.*)?$/.exec(mongodbUrl) ?? [];
  const url = `${server}/scale_${posts}${options}`;
  const client = new MongoClient(url, { appName: "portico scale" });
  try {
    const markers = client.db().collection<Marker>("_markers");
    const loaded = (await markers.findOne({ _id: "scale" }))?.form === FORM;
    if (!loaded) await client.db().dropDatabase();
    const start = (): Promise<RunningService> =>
      startService("@portico/data-service/main", {
        APP_URL: "http://localhost:3000",
        DATA_SERVICE_PORT: "0",
        DATA_DIR: dataDir,
        MONGODB_URL: url,
        ADMIN_EMAIL: ADMIN.email,
        ADMIN_PASSWORD: ADMIN.password,
        DEMO: "off",
        NODE_ENV: "test",
        LOG_LEVEL: "error",
        ACCESS_TOKEN_TTL_SECONDS: "3600",
        QUERY_TIMEOUT_MS: "300000",
        ...settings,
      });
    let service = await start();
    if (!loaded) {
      const api = await signIn(service.url, ADMIN);
      for (const table of TABLES) {
        const { status, body } = await api.post("/svc_table", table);
        if (status !== 201) throw new Error(`${table.name}: ${JSON.stringify(body.message)}`);
      }
      // A running service would index what is searchable while the records come in, which takes many times as long.
      await service.stop();
      await load(client.db(), recordsOf(posts), (text) => tell(`${posts} posts: ${text}`));
      await markers.insertOne({ _id: "scale", form: FORM });
      service = await start();
    }
    return { posts, api: await signIn(service.url, ADMIN), service, mongodbUrl: url };
  } finally {
    await client.close();
  }
}
