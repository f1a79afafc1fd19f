/** Counts how often each card is drawn, for the test that says when it may be; nothing where nobody counts. */

declare global {
  interface Window {
    /** Set by a test before the page loads. */
    skeloRenders?: Map<string, number>;
  }
}

export function countRender(key: string): void {
  const counts = window.skeloRenders;
  counts?.set(key, (counts.get(key) ?? 0) + 1);
}
