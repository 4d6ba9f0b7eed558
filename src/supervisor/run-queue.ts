// Starts what waits, so many at a time: the highest priority first, within one priority the first come. One that waits may leave. Must
// never start one that has left, and never more than there are places.

interface Waiting {
  readonly id: string;
  readonly priority: number;
  readonly work: () => Promise<void>;
}

export class RunQueue {
  readonly #places: number;
  #waiting: readonly Waiting[] = [];
  #pending = 0;
  #isPaused = false;
  #onIdle: (() => void)[] = [];

  /** @param places how many are under way at a time. */
  constructor(places: number) {
    this.#places = places;
  }

  /** How many wait. */
  get size(): number {
    return this.#waiting.length;
  }

  /** How many have a place. */
  get pending(): number {
    return this.#pending;
  }

  /** Starts it at once where a place is free. The place is held until `work` settles; it must not reject. */
  add(work: Waiting["work"], { id, priority }: Omit<Waiting, "work">): void {
    const at = this.#waiting.findIndex((other) => other.priority < priority);
    this.#waiting = this.#waiting.toSpliced(at === -1 ? this.#waiting.length : at, 0, { id, priority, work });
    this.#look();
  }

  /** Does nothing for one that has a place, or is not known. */
  remove(id: string): void {
    this.#waiting = this.#waiting.filter((it) => it.id !== id);
    this.#look();
  }

  /** Nothing is started from here. */
  pause(): void {
    this.#isPaused = true;
  }

  start(): void {
    this.#isPaused = false;
    this.#look();
  }

  /** Resolves when nothing waits and nothing has a place. */
  onIdle(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  get #isIdle(): boolean {
    return this.#pending === 0 && this.#waiting.length === 0;
  }

  #look(): void {
    while (!this.#isPaused && this.#pending < this.#places) {
      const [next, ...rest] = this.#waiting;
      if (next === undefined) break;
      this.#waiting = rest;
      this.#pending += 1;
      void next.work().finally(() => {
        this.#pending -= 1;
        this.#look();
      });
    }
    if (!this.#isIdle) return;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }
}
