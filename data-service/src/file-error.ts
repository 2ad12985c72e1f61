// What went wrong with a file.

export function isFileError(error: unknown): error is NodeJS.ErrnoException {
  // Not `instanceof Error`: a test runner's sandbox has an Error of its own.
  return typeof error === "object" && error !== null && "syscall" in error;
}

/** For a file that was listed just before: another process that has the database open may have removed it since. */
export function unlessGone(error: unknown): void {
  if (!isFileError(error) || error.code !== "ENOENT") throw error;
}
