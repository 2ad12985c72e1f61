// Makes requests and answers that have Express's prototypes from the start.
import { IncomingMessage, ServerResponse } from "node:http";
import type { Express } from "express";

export interface ExpressMessages {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
}

/**
 * Express replaces the prototype of every request and answer. From then on V8 no longer knows their shape, and all that
 * Node.js does with them costs several times as much (decision 023). Objects of these classes already have that prototype, so
 * Express changes nothing.
 * @returns the classes from which `createServer` makes requests and answers
 */
export function expressMessages(app: Express): ExpressMessages {
  class AppRequest extends IncomingMessage {}
  class AppResponse<Request extends IncomingMessage> extends ServerResponse<Request> {}
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  Object.assign(app, { request: AppRequest.prototype, response: AppResponse.prototype });
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse };
}
