// Which requests refresh the session, and which borrow an access token.
import { expect, it } from "@jest/globals";
import type { RouteKind } from "../http/media-type.js";
import { type Renewal, renewalFor } from "./renewal.js";

it.each<[RouteKind, Renewal]>([
  ["json", "refresh"],
  ["upload", "borrow"],
  ["import", "borrow"],
])("for a body of the kind %s it is to %s", (body, renewal) => {
  expect(renewalFor(body)).toBe(renewal);
});
