/** What can be done with a run: in the head of its page. */
export function RunActions(_: { id: string }) {
  return null;
}
