// The gateway's calls in its own name: begin a flow, take it, sign in, redeem, borrow an access token. Each carries an
// assertion of its own.
import { AppError } from "@portico/shared/app-error";
import type { Assertions } from "@portico/shared/assertion";
import type { Clock } from "@portico/shared/clock";
import {
  type Flow,
  INTERNAL_PATHS,
  type Redeem,
  type RedeemAnswer,
  readFlow,
  readLendAccessTokenAnswer,
  readRedeemAnswer,
  readSignInAnswer,
  type SignIn,
  type SignInAnswer,
  type StartFlow,
  type TakeFlow,
} from "@portico/shared/internal-api";
import { recordOf } from "@portico/shared/json";
import { type Answer, type Caller, type CallSettings, postJson, refusalOf, senseless } from "./call.js";

/**
 * Every method throws AppError: the data service's refusal, or BAD_GATEWAY when it can not be reached or does not believe
 * the gateway, UNAUTHORIZED where that is because their clocks differ; QUERY_TIMEOUT when it does not answer in time.
 */
export interface IdentityClient {
  startFlow(flow: StartFlow, caller: Caller): Promise<void>;
  /** Undefined when there is no such flow for this browser; then nothing was taken. */
  takeFlow(wish: TakeFlow, caller: Caller): Promise<Flow | undefined>;
  signIn(signIn: SignIn, caller: Caller): Promise<SignInAnswer>;
  redeem(wish: Redeem, caller: Caller): Promise<RedeemAnswer>;
  /** An access token obtained without rotating the refresh token; undefined where a refresh would be refused. */
  borrowAccessToken(refreshToken: string, caller: Caller): Promise<string | undefined>;
}

interface IdentityClientSettings extends CallSettings {
  readonly assertions: Pick<Assertions, "sign">;
  readonly clock: Clock;
}

export function makeIdentityClient(settings: IdentityClientSettings): IdentityClient {
  const post = async (path: string, body: unknown, caller: Caller): Promise<Answer> => {
    const assertion = await settings.assertions.sign({ method: "POST", path }, settings.clock.now());
    const headers = { Authorization: `Bearer ${assertion}` };
    const answer = await postJson(settings, path, body, caller, headers);
    if (answer.status === 200) return answer;
    const refusal = refusalOf(answer);
    throw refusal.code === "UNAUTHORIZED" ? notBelieved(answer, settings.clock.now()) : refusal;
  };
  return {
    async startFlow(flow, caller) {
      const answer = await post(INTERNAL_PATHS.startFlow, flow, caller);
      // There is nothing to read, but something in between that answered for the data service has stored no flow.
      if (typeof answer.body !== "object" || answer.body === null) throw senseless(answer);
    },
    async takeFlow(wish, caller) {
      const answer = await post(INTERNAL_PATHS.takeFlow, wish, caller);
      const { flow } = recordOf(answer.body);
      return flow === null ? undefined : required(readFlow(flow), answer);
    },
    async signIn(signIn, caller) {
      const answer = await post(INTERNAL_PATHS.signIn, signIn, caller);
      return required(readSignInAnswer(answer.body), answer);
    },
    async redeem(wish, caller) {
      const answer = await post(INTERNAL_PATHS.redeem, wish, caller);
      return required(readRedeemAnswer(answer.body), answer);
    },
    async borrowAccessToken(refreshToken, caller) {
      const answer = await post(INTERNAL_PATHS.lendAccessToken, { refreshToken }, caller);
      return required(readLendAccessTokenAnswer(answer.body), answer).accessToken ?? undefined;
    },
  };
}

/** Clocks that differ by more can't both be right about what was signed a moment ago. */
const MOST_APART_MS = 30_000;

/**
 * The data service has not accepted the assertion. That says nothing of the client, and where the secrets differ apps must not
 * take it for "signed out". Of a client's tokens the data service has codes of their own. Clocks that differ are a 401
 * (security row R24): they make tokens unusable as well.
 */
function notBelieved({ date }: Answer, now: Date): AppError {
  const apartMs = Math.abs(Date.parse(date ?? "") - now.getTime());
  if (apartMs > MOST_APART_MS)
    return new AppError("UNAUTHORIZED", "The clocks of the gateway and the data service differ too much.");
  return new AppError("BAD_GATEWAY", {
    message: "The data service refuses the gateway's own calls.",
    cause: new Error("The gateway and the data service have different SERVICE_SECRETs."),
  });
}

function required<Value>(value: Value | undefined, answer: Answer): Value {
  if (value === undefined) throw senseless(answer);
  return value;
}
