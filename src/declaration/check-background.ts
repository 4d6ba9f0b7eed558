// What an entry that runs in the background cannot be asked to do: nothing waits for it, so it cannot decide. Pure.

import type { Issue } from "../errors.ts";
import type { HookEntry, SelfTest } from "./types.ts";

const DECIDES: readonly SelfTest["expect"][] = ["deny", "rewrite"];

/** `at`: the entry. Issues: `declaration_invalid`. */
export function checkBackground(
  { async: isBackground, grants, on_failure: onFailure, selftest = [] }: HookEntry,
  at: string,
): Issue[] {
  if (isBackground !== true) return [];
  const issues: Issue[] = [];
  const refuse = (field: string, message: string, hint: string) =>
    issues.push({ code: "declaration_invalid", path: `${at}.${field}`, message, hint });
  if (grants === true)
    refuse("grants", "nothing waits for an async hook, so it cannot grant", "remove grants, or async");
  if (onFailure === "closed")
    refuse(
      "on_failure",
      "nothing waits for an async hook, so its failure cannot deny",
      "remove on_failure, or async",
    );
  for (const [index, { expect }] of selftest.entries())
    if (DECIDES.includes(expect))
      refuse(
        `selftest[${index}].expect`,
        `"${expect}" cannot be the answer of an async hook: nothing waits for it`,
        "expect allow or context, or remove async",
      );
  return issues;
}
