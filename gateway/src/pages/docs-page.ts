// {appUrl}/api/docs: the OpenAPI document as a page, with Swagger UI served from here (docs/decisions/013).
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { notFound } from "@portico/shared/http-context";
import { onlyMethods } from "@portico/shared/only-methods";
import { type RequestHandler, Router } from "express";

const OWN_FILES = fileURLToPath(new URL("../../docs-page", import.meta.url));
const SWAGGER_UI = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/swagger-ui.css"));

/** All that the page is made of; nothing is loaded from anywhere else. */
const FILES: ReadonlyMap<string, string> = new Map([
  ["docs.js", OWN_FILES],
  ["docs.css", OWN_FILES],
  ["swagger-ui-bundle.js", SWAGGER_UI],
  ["swagger-ui.css", SWAGGER_UI],
]);

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Swagger UI's arrows are in its style sheet.
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Nobody asks for a part of them. */
const SENDING = { cacheControl: false, acceptRanges: false };

/** Mount it before the proxy. */
export function docsPage(): Router {
  const router = Router({ caseSensitive: true });
  router.route("/api/docs").get(page).all(onlyMethods("GET", "HEAD"));
  router.route("/api/docs/:file").get(file).all(onlyMethods("GET", "HEAD"));
  return router;
}

const page: RequestHandler = (request, response) => {
  const [path = ""] = request.originalUrl.split("?");
  // The page's addresses are relative, for apps that forward it under another prefix.
  if (path.endsWith("/")) return void response.status(308).set("Location", "../docs").end();
  response.set({ "Content-Security-Policy": POLICY, "Cache-Control": "no-cache" });
  response.sendFile("index.html", { root: OWN_FILES, ...SENDING });
};

const file: RequestHandler = (request, response, next) => {
  const name = String(request.params.file);
  const root = FILES.get(name);
  if (root === undefined) return notFound(request, response, next);
  response.set("Cache-Control", "no-cache").sendFile(name, { root, ...SENDING });
};
