// The gateway's own operations, as the document has them.
import { expect, it } from "@jest/globals";
import { GATEWAY_OPERATIONS } from "./gateway-operations.js";

it("each can be refused in an overload, and by a fault", () => {
  const missing = GATEWAY_OPERATIONS.filter(
    ({ refusals }) => !refusals.includes(503) || !refusals.includes(500),
  );
  expect(missing.map(({ id }) => id)).toEqual([]);
});
