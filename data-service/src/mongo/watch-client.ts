// What metrics and traces learn from the driver's own events: its connections, and its commands without their values.
import { Counter, Gauge, Histogram, LATENCY_BUCKETS, type Registry } from "@portico/shared/metrics";
import { traceStatement } from "@portico/shared/tracing";
import type { CommandStartedEvent, MongoClient } from "mongodb";

/** The pool of connections (CMAP events). Call it before the client connects. */
export function measurePool(client: MongoClient, registry: Registry): void {
  const registers = [registry];
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `portico_mongodb_${name}`, help, registers });
  const open = gauge("connections_open", "Connections of the pool.");
  const inUse = gauge("connections_in_use", "Connections that a command is using.");
  const waiting = gauge("connections_waiting", "Commands that wait for a connection.");
  const failed = new Counter({
    name: "portico_mongodb_checkouts_failed_total",
    help: "Commands that got no connection.",
    registers,
  });
  const wait = new Histogram({
    name: "portico_mongodb_checkout_seconds",
    help: "How long commands waited for a connection.",
    buckets: LATENCY_BUCKETS,
    registers,
  });
  client.on("connectionCreated", () => open.inc());
  client.on("connectionClosed", () => open.dec());
  client.on("connectionCheckOutStarted", () => waiting.inc());
  client.on("connectionCheckOutFailed", ({ reason }) => {
    waiting.dec();
    // Our patch of the driver tells of those as well that were not wanted any more (data-service/patches).
    if (reason !== "aborted") failed.inc();
  });
  client.on("connectionCheckedOut", ({ durationMS }) => {
    waiting.dec();
    inUse.inc();
    wait.observe(durationMS / 1000);
  });
  client.on("connectionCheckedIn", () => inUse.dec());
}

/**
 * A span for each command of a request, under the names of OpenTelemetry's database conventions; the client must be
 * made with `monitorCommands`.
 */
export function traceCommands(client: MongoClient): void {
  const running = new Map<number, (failed: boolean) => void>();
  const end = (requestId: number, failed: boolean): void => {
    running.get(requestId)?.(failed);
    running.delete(requestId);
  };
  client.on("commandStarted", (event) => {
    const ended = traceStatement(nameOf(event), attributesOf(event));
    if (ended !== undefined) running.set(event.requestId, ended);
  });
  client.on("commandSucceeded", ({ requestId }) => end(requestId, false));
  client.on("commandFailed", ({ requestId }) => end(requestId, true));
}

function nameOf(event: CommandStartedEvent): string {
  const collection = collectionOf(event);
  return collection === undefined ? event.commandName : `${event.commandName} ${collection}`;
}

function attributesOf(event: CommandStartedEvent): Record<string, string> {
  const collection = collectionOf(event);
  return {
    "db.system.name": "mongodb",
    "db.operation.name": event.commandName,
    "db.namespace": event.databaseName,
    ...(collection === undefined ? {} : { "db.collection.name": collection }),
  };
}

/** `{find: "posts", …}` names its collection under the command's name, `{getMore: 1n, collection: "posts"}` does not. */
function collectionOf({ command, commandName }: CommandStartedEvent): string | undefined {
  const named: unknown = commandName === "getMore" ? command.collection : command[commandName];
  return typeof named === "string" ? named : undefined;
}
