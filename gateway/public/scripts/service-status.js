// The lamps at the top: asks `/readyz` now and again and says how the services are.
import { call } from "./api.js";
import { byId } from "./element.js";

const READY_EVERY = 30_000;
const NOT_READY_EVERY = 4_000;

const masthead = document.querySelector(".masthead");
const headline = byId("headline");
const lead = byId("lead");

const STATES = {
  ready: {
    gateway: ["ready", "ready"],
    api: ["ready", "ready"],
    headline: "Your API is up",
    lead: "Tables, relations, queries and sign-in, over plain HTTP.",
  },
  waiting: {
    gateway: ["ready", "running"],
    api: ["down", "not ready"],
    headline: "The data service is not ready",
    lead: "The gateway is running and keeps asking. The terminal may say why.",
  },
  down: {
    gateway: ["down", "unreachable"],
    api: ["unknown", "unknown"],
    headline: "Nobody answers",
    lead: "The gateway cannot be reached. Is npm start still running in the terminal?",
  },
};

/** `onReady()` is called each time the services have become ready after they were not. */
export function watchServices(onReady) {
  let state = null;
  let timer;

  async function look() {
    clearTimeout(timer);
    const answer = await call("GET", "/readyz");
    const next = !answer.reached ? "down" : answer.ok ? "ready" : "waiting";
    if (next !== state) {
      const recovered = state !== null && next === "ready";
      state = next;
      show(next);
      if (recovered) onReady();
    }
    timer = setTimeout(look, state === "ready" ? READY_EVERY : NOT_READY_EVERY);
  }

  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") look();
    else clearTimeout(timer);
  });
  look();
  return { look };
}

function show(name) {
  const state = STATES[name];
  masthead.dataset.state = name;
  headline.textContent = state.headline;
  lead.textContent = state.lead;
  showService(byId("service-gateway"), state.gateway);
  showService(byId("service-api"), state.api);
}

function showService(item, [lamp, word]) {
  item.dataset.state = lamp;
  item.querySelector(".service-word").textContent = word;
}
