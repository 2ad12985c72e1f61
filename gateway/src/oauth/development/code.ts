// The development provider's codes: who was chosen on its page, sealed, so that only the page can make one.
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";

/** What somebody chose to be. */
export interface Person {
  readonly email: string;
  readonly name: string;
  readonly emailVerified: boolean;
}

interface Sealed extends Person {
  readonly codeChallenge: string;
  readonly expiresAt: number;
}

/** Nothing is stored, so page and callback may be served by different gateways. */
export interface DevelopmentCodes {
  write(person: Person, codeChallenge: string, now: Date): string;
  /** Undefined for everything else, and after a minute. */
  read(code: string, now: Date): Sealed | undefined;
}

const LIFETIME_MS = 60_000;
/** Not base64: such codes would begin like a token, which no address may carry, and a scan for tokens would find them. */
const CODING = "hex";

export function makeDevelopmentCodes(serviceSecret: string): DevelopmentCodes {
  const key = Buffer.from(hkdfSync("sha256", serviceSecret, "", "portico development provider 1", 32));
  const mac = (text: string): Buffer => createHmac("sha256", key).update(text).digest();
  return {
    write(person, codeChallenge, now) {
      const sealed: Sealed = { ...person, codeChallenge, expiresAt: now.getTime() + LIFETIME_MS };
      const text = Buffer.from(JSON.stringify(sealed)).toString(CODING);
      return `${text}.${mac(text).toString(CODING)}`;
    },
    read(code, now) {
      const [text = "", seal = ""] = code.split(".");
      const given = Buffer.from(seal, CODING);
      if (given.length !== 32 || !timingSafeEqual(given, mac(text))) return undefined;
      // Ours, byte for byte: only now is it worth parsing.
      const sealed: Sealed = JSON.parse(Buffer.from(text, CODING).toString("utf8"));
      return sealed.expiresAt > now.getTime() ? sealed : undefined;
    },
  };
}
