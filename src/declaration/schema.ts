// What one entry of a declaration may hold. Validation and the JSON Schema for editors are both made from it.

import { lateSchema } from "../packages.ts";
import { EVENT_NAMES } from "../profile/events.ts";
import { urlProblem } from "./http-url.ts";

/** Longest timeout accepted, in seconds. */
export const TIMEOUT_MAX_SECONDS = 3600;

/** A value of `env` or `headers` that begins so names a variable of the supervisor, read when the hook runs. */
export const ENV_REFERENCE = "env:";

/** What a self-test may expect. */
export const EXPECTATIONS = ["deny", "allow", "rewrite", "context"] as const;

/** Bridle sets these, or they belong to the connection. */
const OWN_HEADERS = [
  "host",
  "content-length",
  "content-type",
  "transfer-encoding",
  "connection",
  "accept-encoding",
];

/** One for each type of an entry. */
export const entrySchemas = lateSchema((z) => {
  const envName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be a variable name");
  const envValue = z
    .string()
    .regex(
      /^(?!env:)|^env:[A-Za-z_][A-Za-z0-9_]*$/,
      "env: must be followed by the name of a variable, as in env:NAME",
    )
    .refine((value) => !value.includes("\0"), "must not hold a NUL")
    .describe("The value; env:NAME reads the variable NAME of the supervisor when a run starts.");

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
      .describe(
        "Lets an allow of this entry grant what the agent's own rules would withhold. Default false.",
      ),
    once: z
      .boolean()
      .optional()
      .describe("Runs the first time it is wanted in a run, and never again in that run. Default false."),
    async: z
      .boolean()
      .optional()
      .describe(
        "Runs in the background: nothing waits for it, it decides nothing, and its context comes with a later event. Default false.",
      ),
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

  const commandEntry = z.strictObject({
    type: z.literal("command"),
    command: z
      .array(argvWord)
      .min(1)
      .describe(
        "Program and arguments, one word each; no shell. {project_dir}, {home}, {plugin_root} and {run_dir} are replaced.",
      ),
    env: z.record(envName, envValue).optional().describe("Variables for this command."),
    persistent: z
      .boolean()
      .optional()
      .describe(
        "Started once a run and asked in JSON lines over its stdin and stdout: see docs/PERSISTENT.md. Default false.",
      ),
    source: z
      .string()
      .regex(/^imported:(?:claude|codex)$/, "must be imported:claude or imported:codex")
      .optional()
      .describe(
        "Written by bridle import. Such an entry runs only when it is trusted; removing this field adopts it.",
      ),
    ...policy,
  });

  const functionEntry = z.strictObject({
    type: z.literal("function"),
    handler: z.custom((value) => typeof value === "function", "must be a function"),
    name: z.string().optional(),
    ...policy,
  });

  const headerName = z
    .string()
    .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, "must be the name of an HTTP header")
    .refine((name) => !OWN_HEADERS.includes(name.toLowerCase()), `must be none of ${OWN_HEADERS.join(", ")}`);
  const headerValue = z
    .string()
    .regex(
      /^(?!env:)|^env:[A-Za-z_][A-Za-z0-9_]*$/,
      "env: must be followed by the name of a variable, as in env:NAME",
    )
    .refine((value) => !/[\r\n\0]/.test(value), "must not hold a CR, an LF or a NUL")
    .refine(
      (value) => /^[\t\x20-\x7e\x80-\xff\r\n\0]*$/.test(value),
      "holds a character that a header cannot carry",
    )
    .describe("The value; env:NAME reads the variable NAME of the supervisor when the request is made.");

  const httpEntry = z.strictObject({
    type: z.literal("http"),
    url: z
      .string()
      .superRefine((value, context) => {
        const message = urlProblem(value);
        if (message !== undefined) context.addIssue({ code: "custom", message });
      })
      .describe(
        "Asked by POST with the envelope as JSON. https, or http to localhost, 127.0.0.0/8 or ::1; no user, no fragment.",
      ),
    headers: z
      .record(headerName, headerValue)
      .superRefine((headers, context) => {
        const names = Object.keys(headers).map((name) => name.toLowerCase());
        const twice = names.find((name, index) => names.indexOf(name) !== index);
        if (twice !== undefined) context.addIssue({ code: "custom", message: `holds ${twice} twice` });
      })
      .optional()
      .describe("Headers of the request."),
    ...policy,
  });

  return { command: commandEntry, function: functionEntry, http: httpEntry };
});
