/** A stream that reconnects by itself, resumes where it was, and reports its connection state. No React in here. */
import { streamPath } from "./client";
import type { StreamMessage } from "./messages";

export type StreamState = "connecting" | "live" | "waiting" | "gone" | "refused" | "closed";

export interface Follower {
  /** A message, in order. */
  onMessage(message: StreamMessage): void;
  onState(state: StreamState): void;
}

/** What a test gives instead of the browser's. */
export type Connect = (path: string) => WebSocket;

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;
/** The server sends a ping every 15 seconds; after a little more than two of them, the connection is dead. */
const SILENCE_MS = 35_000;

export class Stream {
  private socket: WebSocket | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private silence: ReturnType<typeof setTimeout> | undefined;
  private failures = 0;
  private since: number | null = null;
  private ended = false;

  constructor(
    private readonly runId: string | null,
    private readonly follower: Follower,
    private readonly connect: Connect = overWebSocket,
  ) {}

  start(): void {
    if (typeof window !== "undefined") window.addEventListener("online", this.comeBack);
    this.open();
  }

  stop(): void {
    this.ended = true;
    if (typeof window !== "undefined") window.removeEventListener("online", this.comeBack);
    this.drop();
    this.follower.onState("closed");
  }

  /** Try again now instead of after the wait. */
  readonly comeBack = (): void => {
    if (this.ended || this.socket !== null) return;
    this.failures = 0;
    this.open();
  };

  private open(): void {
    clearTimeout(this.timer);
    this.follower.onState("connecting");
    const socket = this.connect(streamPath(this.runId, this.since));
    this.socket = socket;
    socket.onmessage = (event: MessageEvent<string>) => this.take(JSON.parse(event.data) as StreamMessage);
    socket.onclose = (event: CloseEvent) => this.closed(event.code);
    this.listen();
  }

  private take(message: StreamMessage): void {
    this.listen();
    switch (message.type) {
      case "hello":
        this.failures = 0;
        this.follower.onState("live");
        break;
      case "snapshot":
        this.since = "position" in message ? message.position : message.seq;
        break;
      case "events":
        this.since = message.position ?? message.seq ?? this.since;
        break;
      case "resync":
        this.since = null;
        break;
      default:
        break;
    }
    this.follower.onMessage(message);
  }

  private closed(code: number): void {
    this.drop();
    if (this.ended) return;
    if (code === 4404) return this.follower.onState("gone");
    if (code === 1008) return this.follower.onState("refused");
    if (code === 4400) this.since = null;
    this.follower.onState("waiting");
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.failures);
    this.failures += 1;
    this.timer = setTimeout(() => this.open(), wait * (0.75 + Math.random() / 2));
  }

  /** Closes a socket that has been silent for too long, even if the browser still calls it open. */
  private listen(): void {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => {
      this.socket?.close();
      this.closed(1006);
    }, SILENCE_MS);
  }

  private drop(): void {
    clearTimeout(this.timer);
    clearTimeout(this.silence);
    if (this.socket === null) return;
    this.socket.onmessage = null;
    this.socket.onclose = null;
    if (this.socket.readyState <= 1) this.socket.close();
    this.socket = null;
  }
}

function overWebSocket(path: string): WebSocket {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return new WebSocket(`${scheme}//${location.host}${path}`);
}
