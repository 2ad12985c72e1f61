// {appUrl}/api/docs: the OpenAPI document as a page, with Swagger UI served from here (docs/decisions/013).
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { notFound } from "@portico/shared/http-context";
import { onlyMethods } from "@portico/shared/only-methods";
import { type RequestHandler, type Response, Router } from "express";
import { contentTag } from "./content-tag.js";
import { withoutTimes } from "./without-times.js";

const OWN_FILES = fileURLToPath(new URL("../../docs-page", import.meta.url));
const START_PAGE_SCRIPTS = fileURLToPath(new URL("../../public/scripts", import.meta.url));
const SWAGGER_UI = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/swagger-ui.css"));

/** All that the page is made of; nothing is loaded from anywhere else. */
const FILES: ReadonlyMap<string, string> = new Map([
  ["docs.js", OWN_FILES],
  ["docs.css", OWN_FILES],
  ["on-return.js", START_PAGE_SCRIPTS],
  ["swagger-ui-bundle.js", SWAGGER_UI],
  ["swagger-ui.css", SWAGGER_UI],
]);

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Swagger UI's arrows are in its style sheet; a picture that was fetched it shows by a blob, a sound by its own address.
  "img-src 'self' data: blob:",
  "media-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Nobody asks for a part of them; and an older version's are other ones, too. */
const SENDING = { cacheControl: false, acceptRanges: false, lastModified: false };

/** Mount it before the proxy. */
export function docsPage(): Router {
  const router = Router({ caseSensitive: true });
  router.route("/api/docs").get(withoutTimes, page).all(onlyMethods("GET", "HEAD"));
  router.route("/api/docs/:file").get(withoutTimes, file).all(onlyMethods("GET", "HEAD"));
  return router;
}

const page: RequestHandler = (request, response) => {
  const [path = ""] = request.originalUrl.split("?");
  // The page's addresses are relative, for apps that forward it under another prefix.
  if (path.endsWith("/")) return void response.status(308).set("Location", "../docs").end();
  response.set("Content-Security-Policy", POLICY);
  return send(response, OWN_FILES, "index.html");
};

const file: RequestHandler = (request, response, next) => {
  const name = String(request.params.file);
  const root = FILES.get(name);
  return root === undefined ? notFound(request, response, next) : send(response, root, name);
};

async function send(response: Response, root: string, name: string): Promise<void> {
  const tag = await contentTag(join(root, name));
  response.set({ "Cache-Control": "no-cache", ...(tag === undefined ? {} : { ETag: tag }) });
  response.sendFile(name, { root, ...SENDING });
}
