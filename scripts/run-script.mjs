// How a script ends: with its exit code, or with one sentence about why it could not go on.

/** A reason not to go on that is told in one sentence. */
export class SetupError extends Error {
  exitCode = 1;
}

/** A command line that makes no sense, with what is wrong about it. */
export class WrongCall extends SetupError {
  exitCode = 2;
}

/**
 * Runs a script's body; a SetupError becomes one line and its exit code.
 * @param {() => Promise<number>} body
 * @param {number | undefined} failure the exit code instead
 */
export async function runScript(body, failure = undefined) {
  try {
    process.exitCode = await body();
  } catch (error) {
    const isTold = error instanceof SetupError;
    if (!isTold && failure === undefined) throw error;
    console.error(isTold ? error.message : error);
    process.exitCode = failure ?? error.exitCode;
  }
}
