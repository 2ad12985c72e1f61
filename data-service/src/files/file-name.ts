// A client's name for a file -> the name that is kept: metadata only, never part of a path. Pure.

/** The bytes in UTF-8 that every file system accepts. */
const MAX_BYTES = 255;
/** For each end: 255 bytes may be composed of this many characters. */
const MAX_LOOKED_AT = 4 * MAX_BYTES;
const NAMELESS = "file";
const ENDING = /\.[\w-]{1,16}$/;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const FORBIDDEN = /[\u0000-\u001f\u007f-\u009f<>:"/\\|?*\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Names of devices: to Windows a file of such a name, whatever its ending, is the device. */
const DEVICE = /^(con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³]|conin\$|conout\$)\s*(\.|$)/i;

/**
 * The last part of what may be a path, without control characters, characters that change the direction of text, and those
 * that Windows refuses; no dots or blanks at either end; at most 255 bytes, keeping the extension; never that of a device.
 */
export function safeFileName(given: string): string {
  const last = given.split(/[/\\]/).at(-1) ?? "";
  const clean = trimmed(withinReach(last).toWellFormed().normalize("NFC").replaceAll(FORBIDDEN, "_"));
  return clean === "" ? NAMELESS : noDevice(shortened(clean));
}

/** Of the same file in another format. @param name a safe one */
export function withEnding(name: string, ending: string): string {
  return noDevice(shortened(`${name.replace(ENDING, "")}.${ending}`));
}

/** The endings of common types; the name of another one does without. */
const ENDINGS: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/gif": "gif",
  "image/webp": "webp",
  "image/avif": "avif",
  "image/svg+xml": "svg",
  "video/mp4": "mp4",
  "video/webm": "webm",
  "audio/mpeg": "mp3",
  "audio/ogg": "ogg",
  "audio/wav": "wav",
  "application/pdf": "pdf",
  "application/xml": "xml",
  "application/zip": "zip",
  "text/html": "html",
  "text/plain": "txt",
};

/** For who may have a file and not see its name. */
export function nameWithoutName(id: string, mimetype: string): string {
  const ending = ENDINGS[mimetype.replace(/;.*/, "")];
  return ending === undefined ? id : `${id}.${ending}`;
}

/**
 * Beginning and end of a name that is far too long: normalising a run of combining marks takes the square of its length.
 */
function withinReach(name: string): string {
  return name.length <= 2 * MAX_LOOKED_AT ? name : name.slice(0, MAX_LOOKED_AT) + name.slice(-MAX_LOOKED_AT);
}

/** A loop: a pattern for the end would look at every run of blanks in between. */
function trimmed(name: string): string {
  const start = /^[\s.]*/.exec(name)?.[0].length ?? 0;
  let end = name.length;
  while (end > start && /[\s.]/.test(name.charAt(end - 1))) end -= 1;
  return name.slice(start, end);
}

/** @param name as short as it may be: where it is cut, blanks may go that kept it from being a device's */
function noDevice(name: string): string {
  return DEVICE.test(name) ? shortened(`_${name}`) : name;
}

function shortened(name: string): string {
  if (Buffer.byteLength(name) <= MAX_BYTES) return name;
  const extension = ENDING.exec(name)?.[0] ?? "";
  let left = MAX_BYTES - Buffer.byteLength(extension);
  let stem = "";
  // By code points: half a character would not survive UTF-8.
  for (const character of name.slice(0, name.length - extension.length)) {
    left -= Buffer.byteLength(character);
    if (left < 0) break;
    stem += character;
  }
  // The cut may have exposed blanks and dots.
  return trimmed(stem) + extension;
}
