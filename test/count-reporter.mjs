// Prints the counts alone on the very last line, for machines that read them.

export default class CountReporter {
  /** A file that can't even run counts as one failed test. */
  onRunComplete(_contexts, results) {
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const line = `\n${results.numPassedTests} passed, ${failed} failed\n`;
    // Jest's own summary comes after the reporters.
    process.once("exit", () => process.stdout.write(line));
  }
}
