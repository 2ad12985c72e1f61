// Everything outside the API: the built-in start page, or the single-page app of STATIC_DIR.
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import express, { type Request, type RequestHandler, type Response, Router } from "express";
import { APP_PAGE_HEADERS } from "../http/security-headers.js";
import { contentTag } from "./content-tag.js";
import { hasHashedName } from "./hashed-name.js";
import { withoutTimes } from "./without-times.js";

const START_PAGE_DIR = fileURLToPath(new URL("../../public", import.meta.url));

/** Paths that are never a page of the app, whatever the app's router thinks. */
const RESERVED = /^\/(api|assets|\.well-known)(\/|$)/;

/** The handlers, in order. @param appDir STATIC_DIR; the start page when undefined */
export function staticSite(appDir: string | undefined): readonly RequestHandler[] {
  if (appDir === undefined) return [withoutTimes, pages(START_PAGE_DIR), files(START_PAGE_DIR)];
  return [appPolicy, withoutTimes, wellKnown(appDir), pages(appDir), files(appDir), historyFallback(appDir)];
}

/** RFC 8615: what others may ask of every site. It is the only public name with a dot; all others stay hidden. */
function wellKnown(appDir: string): RequestHandler {
  return Router({ caseSensitive: true }).use("/.well-known", files(join(appDir, ".well-known")));
}

const appPolicy: RequestHandler = (request, response, next) => {
  if (!RESERVED.test(request.path)) response.set(APP_PAGE_HEADERS);
  next();
};

/**
 * Pages, and what else of one name says which files are those of a build: a service worker, a manifest, settings. They change
 * with each build.
 */
function pages(directory: string): RequestHandler {
  return async (request, response, next) => {
    const name = pageName(request);
    const tag = name === undefined ? undefined : await contentTag(join(directory, name));
    if (name === undefined || tag === undefined) return next();
    sendPage(response, directory, name, tag);
  };
}

const NAMES_FILES = /\.(?:html|[cm]?js|css|json|webmanifest)$/;

/** @returns undefined for what is no such file, and for hidden names */
function pageName({ method, path }: Request): string | undefined {
  const name = decodeURIComponent(path).replace(/\/$/, "/index.html");
  const isPage =
    (method === "GET" || method === "HEAD") &&
    NAMES_FILES.test(name) &&
    !hasHashedName(name.slice(1)) &&
    !name.includes("/.");
  return isPage ? name : undefined;
}

function sendPage(response: Response, root: string, name: string, tag: string): void {
  response
    .set({ "Cache-Control": "no-cache", ETag: tag })
    .sendFile(name, { root, cacheControl: false, lastModified: false });
}

/**
 * Everything is revalidated by ETag, except what carries its version in its name. Not by time: a file of an older build is
 * another one, too.
 */
function files(directory: string): RequestHandler {
  const setHeaders = (response: Response, path: string): void => {
    const isVersioned = hasHashedName(relative(directory, path));
    response.set("Cache-Control", isVersioned ? "public, max-age=31536000, immutable" : "no-cache");
  };
  return express.static(directory, { redirect: false, lastModified: false, setHeaders });
}

/** An address inside the app that is opened directly gets the app itself. */
function historyFallback(appDir: string): RequestHandler {
  return async (request, response, next) => {
    const tag = isNavigation(request) ? await contentTag(join(appDir, "index.html")) : undefined;
    if (tag === undefined) return next();
    sendPage(response.vary("Accept"), appDir, "index.html", tag);
  };
}

/**
 * A page load asks for `text/html`; curl, monitors and link checkers accept anything. So do a page's own requests for scripts
 * and images, and a missing one must stay a 404: browsers say that it is no document, and its name has a dot.
 */
export function isNavigation({ method, path, headers }: Request): boolean {
  const { accept = "*/*", "sec-fetch-dest": dest = "document" } = headers;
  const isRead = method === "GET" || method === "HEAD";
  const takesAny = accept.includes("*/*") && dest === "document" && !/\.[^/]*$/.test(path);
  return isRead && !RESERVED.test(path) && (accept.includes("text/html") || takesAny);
}
