// What one entry of a declaration may hold. Validation and the JSON Schema for editors are both made from it.

import { z } from "zod";
import { EVENT_NAMES } from "../profile/events.ts";

/** Longest timeout accepted, in seconds. */
export const TIMEOUT_MAX_SECONDS = 3600;

/** A value of `env` that begins so names a variable of the supervisor, read when a run starts. */
export const ENV_REFERENCE = "env:";

const envName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be a variable name");
const envValue = z
  .string()
  .regex(
    /^(?!env:)|^env:[A-Za-z_][A-Za-z0-9_]*$/,
    "env: must be followed by the name of a variable, as in env:NAME",
  )
  .refine((value) => !value.includes("\0"), "must not hold a NUL")
  .describe("The value; env:NAME reads the variable NAME of the supervisor when a run starts.");

/** What a self-test may expect. */
export const EXPECTATIONS = ["deny", "allow", "rewrite", "context"] as const;

const selfTest = z.strictObject({
  event: z.enum(EVENT_NAMES).optional().describe("The entry's own event, which is the default."),
  input: z
    .record(z.string(), z.unknown())
    .describe(
      "Laid over a whole envelope of the event, for example { tool_input: { command: git push -f } }.",
    ),
  expect: z
    .enum(EXPECTATIONS)
    .describe(
      "allow: it lets the action go on. context: it adds text. A guard that fails meets none of them.",
    ),
});

const policy = {
  timeout: z
    .number()
    .positive()
    .max(TIMEOUT_MAX_SECONDS)
    .optional()
    .describe("Seconds, above 0, at most 3600. Default 60."),
  on_failure: z
    .enum(["closed", "open"])
    .optional()
    .describe("What a failing guard means on a gate. Default closed: the call is denied."),
  grants: z
    .boolean()
    .optional()
    .describe("Lets an allow of this entry grant what the agent's own rules would withhold. Default false."),
  selftest: z
    .array(selfTest)
    .min(1)
    .optional()
    .describe("What this guard must answer: run by bridle test, and by compile with selftest: require."),
};

const argvWord = z
  .string()
  .regex(/\S/, "must not be blank")
  .refine((word) => !word.includes("\0"), "must not hold a NUL");

export const commandEntry = z.strictObject({
  type: z.literal("command"),
  command: z
    .array(argvWord)
    .min(1)
    .describe(
      "Program and arguments, one word each; no shell. {project_dir}, {home}, {plugin_root} and {run_dir} are replaced.",
    ),
  env: z.record(envName, envValue).optional().describe("Variables for this command."),
  source: z
    .string()
    .regex(/^imported:(?:claude|codex)$/, "must be imported:claude or imported:codex")
    .optional()
    .describe(
      "Written by bridle import. Such an entry runs only when it is trusted; removing this field adopts it.",
    ),
  ...policy,
});

export const functionEntry = z.strictObject({
  type: z.literal("function"),
  handler: z.custom((value) => typeof value === "function", "must be a function"),
  name: z.string().optional(),
  ...policy,
});
