// A query -> the curl command that asks the same. The cookies stay here: the command uses `$TOKEN` instead.

export function curlCommand({ method, origin, path, parameters, body }) {
  const hasBody = body !== undefined;
  const asForm = parameters.length > 0 && method === "GET";
  const lines = [`curl -sS ${asForm ? "-G " : ""}${asForm || method === "GET" ? "" : `-X ${method} `}`];
  const address =
    asForm || parameters.length === 0
      ? path
      : `${path}?${parameters.map((pair) => pair.map(encodeURIComponent).join("=")).join("&")}`;
  lines[0] += quoted(origin + address);
  lines.push(`-H "Authorization: Bearer $TOKEN"`);
  if (hasBody) lines.push(`-H 'Content-Type: application/json'`);
  if (asForm)
    lines.push(...parameters.map(([name, value]) => `--data-urlencode ${quoted(`${name}=${value}`)}`));
  if (hasBody) lines.push(`--data-binary ${quoted(body)}`);
  return lines.join(" \\\n  ");
}

function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
