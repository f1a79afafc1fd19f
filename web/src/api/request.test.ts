import { afterEach, describe, expect, it, vi } from "vitest";
import { RequestError } from "./errors";
import { request } from "./request";

function answering(status: number, type: string, body: unknown): void {
  vi.stubGlobal("fetch", () =>
    Promise.resolve(new Response(JSON.stringify(body), { status, headers: { "content-type": type } })),
  );
}

afterEach(() => vi.unstubAllGlobals());

describe("a request", () => {
  it("gives what was answered", async () => {
    answering(202, "application/json", { messageId: "m" });
    expect(await request("GET", "/api/x")).toEqual({ messageId: "m" });
  });

  it("tells of an order that is still to be done, which is not the answer", async () => {
    const problem = { type: "t", title: "Accepted", status: 202, detail: "it stays posted", code: "COMMAND_WAITING" };
    answering(202, "application/problem+json", problem);
    const refused = await request("GET", "/api/x").catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(RequestError);
    expect((refused as RequestError).problem).toEqual(problem);
  });
});
