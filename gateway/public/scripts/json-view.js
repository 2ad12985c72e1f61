// JSON text -> coloured nodes.

/** Colouring makes a node per token, so very long answers stay plain. */
const COLOURED_CHARACTERS = 80_000;
const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b/g;

export function jsonNodes(text) {
  const nodes = document.createDocumentFragment();
  if (text.length > COLOURED_CHARACTERS) {
    nodes.append(text);
    return nodes;
  }
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [whole, quoted, colon, number] = match;
    const kind =
      quoted === undefined
        ? number === undefined
          ? "word"
          : "number"
        : colon === undefined
          ? "text"
          : "key";
    nodes.append(text.slice(end, match.index));
    const token = document.createElement("span");
    token.className = `json-${kind}`;
    token.textContent = quoted ?? whole;
    nodes.append(token, colon ?? "");
    end = match.index + whole.length;
  }
  nodes.append(text.slice(end));
  return nodes;
}
