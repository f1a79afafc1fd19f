/** A value that changes and notifies its subscribers. */

export interface Observable<T> {
  get(): T;
  /** Called after each change; the answer ends it. */
  readonly subscribe: (listener: () => void) => () => void;
}

export class Cell<T> implements Observable<T> {
  private readonly listeners = new Set<() => void>();

  constructor(private value: T) {}

  readonly get = (): T => this.value;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Sets the value. Setting the same value again notifies no subscriber. */
  set(value: T): void {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const listener of [...this.listeners]) listener();
  }
}
