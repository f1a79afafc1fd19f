/** Errors of requests: the server's problem document, or that the server gave no answer. */
import type { Problem } from "./types";

export class RequestError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.name = "RequestError";
    this.problem = problem;
  }

  get code(): string {
    return this.problem.code;
  }

  get status(): number {
    return this.problem.status;
  }
}

/** The problem in an error of any kind, so that a page can show it. */
export function problemOf(error: unknown): Problem {
  if (error instanceof RequestError) return error.problem;
  const detail = error instanceof Error ? error.message : String(error);
  return { type: "about:blank", title: "Something went wrong", status: 0, code: "CLIENT", detail };
}

export function unreachable(): RequestError {
  return new RequestError({
    type: "about:blank",
    title: "The server does not answer",
    status: 0,
    code: "UNREACHABLE",
    detail: "No answer came from the server.",
    hint: "Is `skelo serve` still running? The page goes on by itself once it answers again.",
  });
}

/** Reads a refusal's body; a proxy in between may have written one that is no problem document. */
export async function errorFrom(response: Response): Promise<RequestError> {
  const body: unknown = await response.json().catch(() => null);
  if (isProblem(body)) return new RequestError(body);
  return new RequestError({
    type: "about:blank",
    title: response.statusText || "The request was refused",
    status: response.status,
    code: "REFUSED",
    detail: `The server answered with ${response.status}.`,
  });
}

function isProblem(body: unknown): body is Problem {
  return typeof body === "object" && body !== null && "code" in body && "detail" in body && "status" in body;
}
