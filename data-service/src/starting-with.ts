// Text with a head that comes no sooner than what follows it: what fails before that can be refused still.

/** @returns the text, of which the first piece begins with the head; the head alone if there is no text */
export async function* startingWith(head: string, text: AsyncIterable<string>): AsyncGenerator<string> {
  let before = head;
  for await (const each of text) {
    yield before + each;
    before = "";
  }
  if (before !== "") yield before;
}
