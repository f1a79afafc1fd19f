/**
 * Scrolls a list so that one of its parts is in sight.
 *
 * `scrollIntoView` would also move to where the Tab key goes on from: a user who opens a page by keyboard would begin in
 * its middle, past the head of the page and everything in it.
 */
export function bringInSight(part: Element | null | undefined, list: Element | null): void {
  if (part === null || part === undefined || list === null) return;
  const [inner, outer] = [part.getBoundingClientRect(), list.getBoundingClientRect()];
  list.scrollLeft += beyond(inner.left - outer.left, inner.right - outer.right);
  list.scrollTop += beyond(inner.top - outer.top, inner.bottom - outer.bottom);
}

/** By how much a part sticks out: before the beginning (negative) or past the end. */
function beyond(start: number, end: number): number {
  if (start < 0) return start;
  return end > 0 ? Math.min(start, end) : 0;
}
