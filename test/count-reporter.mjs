// Prints the counts alone on the very last line, for machines that read them, and ends with 1 unless the run has come to
// its end without a failure: a run that waits for what never comes would end by itself, with 0.

export default class CountReporter {
  #line = "The run did not come to its end.";
  #isFine = false;

  onRunStart() {
    // Jest's own summary comes after the reporters.
    process.once("exit", () => {
      process.stdout.write(`\n${this.#line}\n`);
      if (!this.#isFine) process.exitCode ||= 1;
    });
  }

  /** A file that can't even run counts as one failed test. */
  onRunComplete(_contexts, results) {
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    this.#line = `${results.numPassedTests} passed, ${failed} failed`;
    this.#isFine = failed === 0;
  }
}
