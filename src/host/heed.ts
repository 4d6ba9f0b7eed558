// Hears a function inside of the gate. Must never take silence that it did not mean for consent.

import { isJsonObject, type JsonObject } from "../json.ts";
import { messageOf } from "../message-of.ts";

/** A function inside the gate that throws, or answers with something else, did not clear the call. */
export async function heed<Answer extends { deny: string } | { input: JsonObject }>(
  ask: () => Answer | undefined | Promise<Answer | undefined>,
): Promise<Answer | { deny: string } | undefined> {
  try {
    const answer: unknown = await ask();
    if (answer === undefined) return undefined;
    if (isJsonObject(answer) && typeof answer.deny === "string")
      return { deny: answer.deny.trim() === "" ? "a check said no and gave no reason" : answer.deny };
    if (isJsonObject(answer) && !("deny" in answer) && isJsonObject(answer.input)) return answer as Answer;
    return {
      deny: `a check answered neither with deny nor with input: ${JSON.stringify(answer)?.slice(0, 120)}`,
    };
  } catch (error) {
    return { deny: `a check failed: ${messageOf(error)}` };
  }
}
