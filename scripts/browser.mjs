// Finds the Chromium that the browser tests drive, or installs it where that is ours to do.
import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const PLACES = [
  "/usr/bin/chromium",
  "/usr/bin/google-chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];
const APT = "/usr/bin/apt-get";

/**
 * The variables the browser tests need. On a build machine there must be a browser; elsewhere the tests are left out
 * without one, which is said and never silent.
 */
export function requireBrowser() {
  if (process.env.PORTICO_BROWSER === "off") {
    console.error("PORTICO_BROWSER=off: the browser tests are left out.");
    return {};
  }
  const path = findBrowser() ?? (mayInstall() ? installBrowser() : undefined);
  if (path !== undefined) return { CHROMIUM_PATH: path };
  const remedy = "install it (Debian: apt-get install chromium) or set CHROMIUM_PATH";
  if (process.env.CI === "true") {
    console.error(`No Chromium found, so the browser tests will fail: ${remedy}.`);
    return {};
  }
  console.error(`No Chromium found, so the browser tests are LEFT OUT; to run them ${remedy}.`);
  return { PORTICO_BROWSER: "off" };
}

function findBrowser() {
  const given = process.env.CHROMIUM_PATH;
  if (given) return given;
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const candidates = [...folders.flatMap((folder) => NAMES.map((name) => join(folder, name))), ...PLACES];
  return candidates.find(isExecutable);
}

/** Only a build machine that is ours to change: CI, root, Debian's package manager. */
function mayInstall() {
  return process.env.CI === "true" && process.getuid?.() === 0 && isExecutable(APT);
}

function installBrowser() {
  console.error("Installing Chromium for the browser tests …");
  apt("update");
  apt("install", "-y", "--no-install-recommends", "chromium");
  return findBrowser();
}

function apt(...args) {
  // Installing runs programs of the system folders, which a bare PATH may lack.
  const path = `${process.env.PATH}${delimiter}/usr/sbin:/usr/bin:/sbin:/bin`;
  const env = { ...process.env, PATH: path, DEBIAN_FRONTEND: "noninteractive" };
  spawnSync(APT, args, { stdio: ["ignore", 2, 2], env });
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
