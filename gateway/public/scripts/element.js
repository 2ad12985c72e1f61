// Finding and making elements in a line.

export function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`No element #${id}`);
  return found;
}

/** `element("li", { class: "column", "data-name": name }, "text", child)`; a false attribute is left out. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && value !== undefined) made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children);
  return made;
}

/** Puts text on the clipboard; false where the browser does not allow it. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
