// What metrics and traces learn of the gateway's calls to the data service: how long they took, how they ended.
import { Histogram, LATENCY_BUCKETS, type Registry, statusClass } from "@portico/shared/metrics";
import { traceCall } from "@portico/shared/tracing";

/** The status of the answer; `failed` when there was none; `cut off` when the client's side ended the call. */
export type CallOutcome = number | "failed" | "cut off";

/** `forward` hands a client's request on; `own` are the gateway's calls for sessions, sign-in and readiness. */
const CALL_KINDS = ["forward", "own"] as const;

export type CallKind = (typeof CALL_KINDS)[number];

/** The label values for how a call ended. All series begin at zero; see `countBy` in shared/metrics. */
const RESULTS = ["2xx", "3xx", "4xx", "5xx", "failed", "cut off"];

export interface WatchedCall {
  /** To send with the call. */
  readonly headers: Readonly<Record<string, string>>;
  /** Called once: when the head of the answer is there, or when there will be none. */
  end(outcome: CallOutcome): void;
}

export type WatchCall = (kind: CallKind, method: string) => WatchedCall;

/** @param registry none where metrics are off */
export function makeWatchCall(registry: Registry | undefined): WatchCall {
  const duration = registry && makeDuration(registry);
  return (kind, method) => {
    const call = traceCall(`data-service ${kind}`, method);
    const stop = duration?.startTimer({ call: kind });
    return {
      headers: call.headers,
      end(outcome) {
        const answered = typeof outcome === "number";
        stop?.({ result: answered ? statusClass(outcome) : outcome });
        call.end(answered ? outcome : undefined, answered ? outcome >= 500 : outcome === "failed");
      },
    };
  };
}

function makeDuration(registry: Registry) {
  const duration = new Histogram({
    name: "portico_upstream_request_duration_seconds",
    help: "Calls to the data service until the head of the answer, by how they ended.",
    labelNames: ["call", "result"],
    buckets: LATENCY_BUCKETS,
    registers: [registry],
  });
  for (const call of CALL_KINDS) for (const result of RESULTS) duration.zero({ call, result });
  return duration;
}

/** A `fetch` whose calls are measured and traced. */
export function watchedFetch(watch: WatchCall): typeof fetch {
  return async (input, init = {}) => {
    const call = watch("own", init.method ?? "GET");
    try {
      const headers = new Headers(init.headers);
      for (const [name, value] of Object.entries(call.headers)) headers.set(name, value);
      const response = await fetch(input, { ...init, headers });
      call.end(response.status);
      return response;
    } catch (error) {
      call.end("failed");
      throw error;
    }
  };
}
