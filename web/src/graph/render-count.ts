/** Counts how often each card is drawn. Only the test that limits redraws switches it on. */

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
