/** A value that changes, and tells those who follow it. */

export interface Readable<T> {
  get(): T;
  /** Called after each change; the answer ends it. */
  subscribe(listener: () => void): () => void;
}

export class Cell<T> implements Readable<T> {
  private readonly listeners = new Set<() => void>();

  constructor(private value: T) {}

  readonly get = (): T => this.value;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Takes the new value; the same one again tells nobody. */
  set(value: T): void {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const listener of [...this.listeners]) listener();
  }
}
