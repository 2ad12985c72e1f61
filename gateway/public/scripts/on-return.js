// When a page is seen again, somebody else may be signed in: tabs share their cookies, and Back shows a page as it was left.

/**
 * Calls `look()` when the page comes to the front, by its tab or by its window, and when the browser shows it as it was left
 * (Back, Forward). `look()` shows what has changed, and rejects when it can't tell: such a page is then loaded anew.
 */
export function onReturn(look) {
  const lookOnly = () => look().catch(() => {});
  addEventListener("focus", lookOnly);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && lookOnly());
  addEventListener("pageshow", ({ persisted }) => persisted && look().catch(() => location.reload()));
}
