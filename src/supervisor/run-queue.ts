// The order of waiting starts, for p-queue: the highest priority first, within one priority the first come. Unlike p-queue's own order it
// lets one leave.

interface Waiting {
  readonly id: string | undefined;
  readonly priority: number;
  readonly start: () => Promise<unknown>;
}

interface Place {
  readonly id?: string;
  readonly priority?: number;
}

export class RunQueue {
  #waiting: Waiting[] = [];

  get size(): number {
    return this.#waiting.length;
  }

  enqueue(start: Waiting["start"], { id, priority = 0 }: Place = {}): void {
    const at = this.#waiting.findIndex((other) => other.priority < priority);
    this.#waiting.splice(at === -1 ? this.#waiting.length : at, 0, { id, priority, start });
  }

  dequeue(): Waiting["start"] | undefined {
    return this.#waiting.shift()?.start;
  }

  filter({ priority }: Place): Waiting["start"][] {
    return this.#waiting.filter((it) => it.priority === priority).map(({ start }) => start);
  }

  setPriority(id: string, priority: number): void {
    const start = this.#waiting.find((it) => it.id === id)?.start;
    this.remove(id);
    if (start !== undefined) this.enqueue(start, { id, priority });
  }

  remove(id: string): void {
    this.#waiting = this.#waiting.filter((it) => it.id !== id);
  }
}
