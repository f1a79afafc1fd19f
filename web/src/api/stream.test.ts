import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { StreamMessage } from "./messages";
import { Stream, type StreamState } from "./stream";

/** As much of a WebSocket as a stream touches. */
class FakeSocket {
  readyState = 1;
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;

  constructor(readonly path: string) {}

  say(message: Partial<StreamMessage> & { type: string }): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }

  end(code: number): void {
    this.readyState = 3;
    this.onclose?.({ code });
  }

  close(): void {
    this.readyState = 3;
  }
}

let sockets: FakeSocket[];
let states: StreamState[];
let heard: string[];
let stream: Stream;

beforeEach(() => {
  vi.useFakeTimers();
  sockets = [];
  states = [];
  heard = [];
  const follower = {
    onMessage: (message: StreamMessage) => heard.push(message.type),
    onState: (state: StreamState) => states.push(state),
  };
  stream = new Stream("r", follower, (path) => {
    const socket = new FakeSocket(path);
    sockets.push(socket);
    return socket as unknown as WebSocket;
  });
  stream.start();
});

afterEach(() => {
  stream.stop();
  vi.useRealTimers();
});

const last = () => sockets.at(-1)!;

describe("a stream", () => {
  it("begins without a place, and is live after the hello", () => {
    expect(last().path).toBe("/ws?runId=r");
    last().say({ type: "hello" });
    expect(states).toEqual(["connecting", "live"]);
  });

  it("comes back where it was, after a longer wait each time", () => {
    last().say({ type: "hello" });
    last().say({ type: "snapshot", seq: 4, runId: "r", streaming: [] });
    last().say({ type: "events", seq: 9, events: [] });
    last().end(1001);
    expect(states.at(-1)).toBe("waiting");
    vi.advanceTimersByTime(400);
    expect(last().path).toBe("/ws?runId=r&since=9");
    last().end(1006);
    vi.advanceTimersByTime(300);
    expect(sockets).toHaveLength(2);
    vi.advanceTimersByTime(400);
    expect(sockets).toHaveLength(3);
  });

  it("never waits longer than a few seconds", () => {
    for (let count = 0; count < 12; count += 1) {
      last().end(1006);
      vi.advanceTimersByTime(13_000);
    }
    expect(sockets).toHaveLength(13);
  });

  it("begins anew when it is told to", () => {
    last().say({ type: "events", seq: 9, events: [] });
    last().say({ type: "resync", runId: "r", reason: "ahead" });
    last().end(1006);
    vi.advanceTimersByTime(400);
    expect(last().path).toBe("/ws?runId=r");
  });

  it("does not come back to a run that is not there, or where it may not", () => {
    last().end(4404);
    vi.advanceTimersByTime(60_000);
    expect([sockets.length, states.at(-1)]).toEqual([1, "gone"]);
    stream.comeBack();
    last().end(1008);
    vi.advanceTimersByTime(60_000);
    expect([sockets.length, states.at(-1)]).toEqual([2, "refused"]);
  });

  it("takes a silence for the end of the connection", () => {
    last().say({ type: "hello" });
    vi.advanceTimersByTime(30_000);
    last().say({ type: "ping" });
    vi.advanceTimersByTime(30_000);
    expect(sockets).toHaveLength(1);
    vi.advanceTimersByTime(6_000);
    expect(sockets).toHaveLength(2);
  });

  it("says nothing more after it was stopped", () => {
    const socket = last();
    stream.stop();
    socket.say({ type: "hello" });
    vi.advanceTimersByTime(60_000);
    expect([sockets.length, heard, states.at(-1)]).toEqual([1, [], "closed"]);
  });
});
