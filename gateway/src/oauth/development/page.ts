// The development provider's page: one form to choose whom to be. No script, nothing from elsewhere.
import type { Provider } from "@portico/shared/oauth";

const TITLES: Readonly<Record<Provider, string>> = {
  google: "Google",
  facebook: "Facebook",
  github: "GitHub",
};

/** @param fields hidden ones, which come back with the form */
export function developmentPage(provider: Provider, fields: Readonly<Record<string, string>>): string {
  const title = TITLES[provider];
  const hidden = Object.entries(fields).map(
    ([name, value]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`,
  );
  const verified =
    provider === "facebook"
      ? "<p>Facebook does not say whether an address is verified, so it counts as unverified.</p>"
      : '<label class="check"><input type="checkbox" name="verified" checked> The provider has verified this address</label>';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Development sign-in (not ${title})</title>
<link rel="stylesheet" href="/api/auth/dev/style.css">
</head>
<body>
<main>
<p class="mark">Development sign-in: this is not ${title}</p>
<h1>Whom shall ${title} say you are?</h1>
<p>This page stands in for ${title} on this machine while no client id is set. It asks for no password, and production refuses to start with it.</p>
<form method="post">
${hidden.join("\n")}
<label>E-mail <input name="email" type="email" value="ann@example.com" maxlength="254"></label>
<label>Name <input name="name" value="Ann Example" maxlength="200"></label>
${verified}
<div class="actions">
<button name="answer" value="allow">Continue</button>
<button name="answer" value="deny" class="quiet" formnovalidate>Say no</button>
</div>
</form>
</main>
</body>
</html>
`;
}

export const DEVELOPMENT_STYLE = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; }
main { max-width: 30rem; margin: 3rem auto; padding: 0 1rem; }
.mark { border: 2px dashed currentColor; padding: .5rem .75rem; font-weight: 600; }
h1 { font-size: 1.4rem; }
label { display: block; margin: 1rem 0; }
label input:not([type="checkbox"]) { display: block; width: 100%; box-sizing: border-box; font: inherit; padding: .4rem .5rem; }
.actions { display: flex; gap: .75rem; }
button { font: inherit; padding: .5rem 1rem; }
`;

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
