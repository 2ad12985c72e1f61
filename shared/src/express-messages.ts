// Makes requests and answers that are Express's own from the start.
import { IncomingMessage, ServerResponse } from "node:http";
import type { Express } from "express";

export interface ExpressMessages {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
}

/**
 * Express gives every request and answer another prototype. To V8 they are objects of an unknown shape from then on, and
 * all that Node.js does with them costs several times as much (decision 023). Made by these classes they have that
 * prototype already, and Express changes nothing.
 * @returns what `createServer` makes requests and answers of
 */
export function expressMessages(app: Express): ExpressMessages {
  class AppRequest extends IncomingMessage {}
  class AppResponse<Request extends IncomingMessage> extends ServerResponse<Request> {}
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  Object.assign(app, { request: AppRequest.prototype, response: AppResponse.prototype });
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse };
}
