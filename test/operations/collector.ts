// A collector for OpenTelemetry traces (OTLP over HTTP, JSON) on loopback.
import { once } from "node:events";
import { createServer } from "node:http";

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly service: string;
  readonly attributes: Readonly<Record<string, string | number>>;
}

export interface Collector {
  readonly url: string;
  spans(): readonly ReceivedSpan[];
  /** What is said of each process that has sent spans; once a request. */
  resources(): readonly Readonly<Record<string, string | number>>[];
  /** Everything that arrived, as it was written. */
  text(): string;
  close(): Promise<void>;
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number | string };
}

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<ReceivedSpan, "attributes" | "service"> & {
        readonly attributes: readonly Attribute[];
      })[];
    }[];
  }[];
}

export async function startCollector(): Promise<Collector> {
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.url === "/v1/traces") bodies.push(Buffer.concat(chunks).toString());
    response.writeHead(200, { "Content-Type": "application/json" }).end("{}");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    spans: () => bodies.flatMap((body) => spansOf(JSON.parse(body))),
    resources: () =>
      bodies.flatMap((body) => {
        const { resourceSpans }: Export = JSON.parse(body);
        return resourceSpans.map(({ resource }) => recordOf(resource.attributes));
      }),
    text: () => bodies.join("\n"),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function spansOf({ resourceSpans }: Export): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(recordOf(resource.attributes)["service.name"]);
    return scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({ ...span, service, attributes: recordOf(span.attributes) })),
    );
  });
}

function recordOf(attributes: readonly Attribute[]): Record<string, string | number> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]),
  );
}
