/** The addresses of the pages, made in one place. */

const part = encodeURIComponent;
/** Keys and files may have slashes, which stay readable in an address. */
const parts = (text: string) => text.split("/").map(part).join("/");

export const paths = {
  runs: () => "/",
  run: (id: string) => `/runs/${part(id)}`,
  node: (id: string, key: string) => `/runs/${part(id)}/nodes/${parts(key)}`,
  event: (id: string, seq: number) => `/runs/${part(id)}?tab=events&event=${seq}`,
  approvals: () => "/approvals",
  approval: (id: string) => `/approvals/${part(id)}`,
  start: () => "/start",
  startOf: (workflow: string) => `/start/${parts(workflow)}`,
  compare: (a: string, b: string) => `/compare/${part(a)}/${part(b)}`,
} as const;
