// Puts the page together: services, session, examples, query box and tables tell each other what changed.
import { showAnswer, showIdle } from "./answer-view.js";
import { byId, copyText } from "./element.js";
import { enableExamples, renderExamples } from "./example-list.js";
import { FIRST_EXAMPLE } from "./examples.js";
import { abandonQuery, enableRunning, fillQuery, startQueryBox } from "./query-box.js";
import { watchServices } from "./service-status.js";
import { startSession } from "./session.js";
import { showTables } from "./table-cards.js";

const SIGNED_IN = "Choose an example, change it as you like, and run it against the live API.";
const SIGNED_OUT = "Sign in with the admin e-mail and the password printed in the terminal to run these.";
const NO_DEMO = "The examples use the demo tables, which this database does not have.";

let user;
/** As it is called where SYSTEM_TABLE_PREFIX is not set. */
let tableOfTables = "svc_table";

renderExamples((example) =>
  fillQuery({ ...example, address: example.address.replace("svc_table", () => tableOfTables) }),
);
startQueryBox(async (method, answer) => {
  if (!answer.reached || answer.status >= 502) await services.look();
  else if (answer.status === 401) {
    await session.check();
    showAnswer(answer);
  } else if (answer.ok && method !== "GET" && method !== "QUERY") await refreshTables();
});

const session = startSession(async (next) => {
  if (user?.id !== next?.id || user === undefined) {
    abandonQuery();
    showIdle(next === null ? "Sign in to run a query." : "The answer will appear here.");
  }
  user = next;
  enableRunning(user !== null);
  enableExamples(user !== null, user === null ? SIGNED_OUT : SIGNED_IN);
  await refreshTables();
});
const services = watchServices(session.check);

/** The tables as the user sees them now; the examples say so when theirs are missing. */
async function refreshTables() {
  const seen = await showTables(user, queryTable);
  if (seen === null) return;
  tableOfTables = seen.tableOfTables ?? tableOfTables;
  if (user?.isRootAdmin === true && !seen.names.includes("posts")) enableExamples(true, NO_DEMO);
}

function queryTable(name) {
  fillQuery({ method: "GET", address: `/api/${name}\n  ?limit=5` });
  byId("query-path").focus();
}

const address = byId("api-address");
address.textContent = `${location.origin}/api`;
byId("copy-address").addEventListener("click", async ({ currentTarget }) => {
  const copied = await copyText(address.textContent);
  if (!copied) getSelection()?.selectAllChildren(address);
  currentTarget.textContent = copied ? "Copied" : "Selected";
  setTimeout(() => {
    byId("copy-address").textContent = "Copy";
  }, 1_500);
});

fillQuery(FIRST_EXAMPLE);
session.check();
