// What a CLI sends, as small as it can be, and the parts of an answer a test looks at.

import type { JsonObject } from "../../src/json.ts";

export function post(url: string, body: unknown, init: RequestInit = {}): Promise<Response> {
  return fetch(url, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
    ...init,
  });
}

/** The JSON of every `data:` line of an event stream. */
export function readEvents(stream: string): JsonObject[] {
  return stream
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => JSON.parse(line.slice(6)) as JsonObject);
}
