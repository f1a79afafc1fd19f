/** One request to the server: same origin, JSON in and out, the session's token on changes, refusals as errors. */
import { RequestError, errorFrom, unreachable } from "./errors";
import type { Session } from "./types";

export type Method = "GET" | "POST" | "PATCH" | "DELETE";
export type Query = Record<string, string | number | boolean | null | undefined>;

export interface Options {
  query?: Query;
  body?: unknown;
  signal?: AbortSignal;
  /** Done once, however often it is sent: for everything that must not happen twice. */
  idempotencyKey?: string;
}

let session: Promise<Session> | null = null;

/** Who is asking, known after the first answer. */
export function getSession(): Promise<Session> {
  session ??= send("GET", "/api/session")
    .then((response) => response.json() as Promise<Session>)
    .catch((error: unknown) => {
      session = null;
      throw error;
    });
  return session;
}

export async function request<T>(method: Method, path: string, options: Options = {}): Promise<T> {
  const response = await send(method, path, options);
  return (response.status === 204 ? undefined : await response.json()) as T;
}

/** The answer itself, for bodies that are not JSON. */
export async function send(method: Method, path: string, options: Options = {}): Promise<Response> {
  try {
    return await sendOnce(method, path, options);
  } catch (error) {
    // The user has logged in again in another tab: this tab's session data is outdated.
    if (!(error instanceof RequestError) || error.code !== "CSRF_TOKEN") throw error;
    session = null;
    return sendOnce(method, path, options);
  }
}

/** Whether the session is still one; leads to the login page if it is not. */
export async function checkSession(): Promise<void> {
  session = null;
  await getSession();
}

async function sendOnce(method: Method, path: string, options: Options): Promise<Response> {
  const headers: Record<string, string> = {};
  if (options.body !== undefined) headers["content-type"] = "application/json";
  if (options.idempotencyKey !== undefined) headers["idempotency-key"] = options.idempotencyKey;
  if (method !== "GET") {
    const { csrfToken } = await getSession();
    if (csrfToken !== null) headers["x-csrf-token"] = csrfToken;
  }
  const response = await fetch(withQuery(path, options.query), {
    method,
    headers,
    credentials: "same-origin",
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  }).catch((error: unknown) => {
    throw options.signal?.aborted === true ? error : unreachable();
  });
  if (response.status === 401) askToLogIn();
  // An order that is still to be done (202) is told of as a problem, too: the answer is not what was asked for.
  if (!response.ok || isProblemDocument(response)) throw await errorFrom(response);
  return response;
}

function isProblemDocument(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("application/problem+json") === true;
}

/** Lead to the login page, which leads back to where the person was. */
export function askToLogIn(): void {
  location.assign(withQuery("/login", { next: location.pathname + location.search }));
}

export async function logOut(): Promise<void> {
  await send("POST", "/logout");
  location.assign("/login");
}

export function withQuery(path: string, query: Query = {}): string {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") found.set(name, String(value));
  }
  const text = found.toString();
  return text === "" ? path : `${path}?${text}`;
}
