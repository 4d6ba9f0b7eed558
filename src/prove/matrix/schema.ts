// The shape of a matrix case: what a guard does, what the model asks for, what the world must look like afterwards. Cases are YAML
// files in conformance/matrix/; nothing here knows how they are run.

import { z } from "zod";
import { EVENT_NAMES } from "../../profile/events.ts";
import { CALLBACK_COLUMN, COLUMN_NAMES, type ColumnName } from "./columns.ts";

export { CALLBACK_COLUMN, COLUMN_NAMES, type ColumnName };

const text = z.string();
const texts = z.array(text);
const json = z.json();
const jsonObject = z.record(text, json);
const eventName = z.enum(EVENT_NAMES as [string, ...string[]]);

const id = text.optional();
const simpleTool = z.union([
  z.strictObject({ shell: text, id }),
  z.strictObject({ write: text, content: text.optional(), id }),
  z.strictObject({ patch: text, id }),
  z.strictObject({ raw: text, input: z.union([jsonObject, text]), id }),
  /** Calls the tool `touch` of the matrix's own MCP server. */
  z.strictObject({ mcp_touch: text, id }),
]);
const fault = z.union([
  z.strictObject({ kind: z.literal("hang"), afterStart: z.boolean().optional() }),
  z.strictObject({ kind: z.literal("tool-loop"), turns: z.number().int().positive().optional() }),
  z.strictObject({ kind: z.literal("status"), status: z.number().int(), times: z.number().int().optional() }),
]);
const simpleStep = z.strictObject({
  text: text.optional(),
  tools: z.array(simpleTool).optional(),
  fault: fault.optional(),
});
const tool = z.union([
  simpleTool,
  z.strictObject({ agent: text.optional(), steps: z.array(simpleStep), id }),
]);
const step = z.strictObject({
  text: text.optional(),
  tools: z.array(tool).optional(),
  fault: fault.optional(),
});

const hook = z
  .strictObject({
    matcher: text.optional(),
    /** A `sh` script. `$1` is the folder for notes. */
    sh: text.optional(),
    /** Prints this object and exits 0. */
    answer: json.optional(),
    /** The command as it stands, instead of a script. */
    argv: texts.optional(),
    /** The script lies in the project, where the agent can reach it. */
    in_project: z.boolean().optional(),
    /** Seconds. */
    timeout: z.number().positive().optional(),
    on_failure: z.enum(["closed", "open"]).optional(),
    grants: z.boolean().optional(),
  })
  .refine(
    ({ sh, answer, argv }) => [sh, answer, argv].filter((value) => value !== undefined).length === 1,
    "needs exactly one of sh, answer, argv",
  );

const plant = z
  .strictObject({
    path: text,
    text: text.optional(),
    json: json.optional(),
    folder: z.literal(true).optional(),
    mode: text.regex(/^0[0-7]{3}$/).optional(),
  })
  .refine(
    (it) => [it.text, it.json, it.folder].filter((value) => value !== undefined).length === 1,
    "needs exactly one of text, json, folder",
  );

/** What must be observed. Paths are relative to the project. */
const expectation = z.strictObject({
  present: texts.optional(),
  absent: texts.optional(),
  /** Text the model must have been told, or must not. */
  told: texts.optional(),
  untold: texts.optional(),
  /** Text anywhere in what the model's server was sent: instructions and tool descriptions too. */
  sent: texts.optional(),
  unsent: texts.optional(),
  /** Tools the model must have been offered, or must not. A `*` at the end stands for any ending. */
  offered: texts.optional(),
  unoffered: texts.optional(),
  /** Files in the notes folder with text they must hold; an empty list: the file exists. */
  notes: z.record(text, texts).optional(),
  /** Files in the notes folder that must not exist. */
  unnoted: texts.optional(),
  /** Lines of a file in the notes folder. */
  lines: z.record(text, z.number().int()).optional(),
  /**
   * Envelopes recorded one a line in a notes file: each fits the profile's schema; those listed occur, in this order. `~words` is a
   * part of a text, `%absent%` a field that must not be there.
   */
  envelopes: z.record(text, z.array(jsonObject)).optional(),
  outcome: text.optional(),
  /** Regular expression the reason of the outcome must match. */
  reason: text.optional(),
  /** Code of a refusal: nothing may have run. */
  refused: text.optional(),
  denied: z.number().int().optional(),
  failed: z.number().int().optional(),
  model_calls: z.number().int().optional(),
  /** Parts of `code: message` of a warning in the result. */
  warnings: texts.optional(),
  /** Parts of the receipt file. */
  receipt: texts.optional(),
});
export type Expectation = z.infer<typeof expectation>;

const control = z.strictObject({
  /** `unguarded`: the same run without its hooks. `bare`: the CLI as a user starts it, without Bridle. */
  how: z.enum(["unguarded", "bare"]).optional(),
  expect: expectation,
});

const varying = {
  /** Part of the core set: what a blocking hook relies on. */
  core: z.boolean().optional(),
  via: z.enum(["bridle", "handler", "callback"]).optional(),
  hooks: z.record(text, z.array(hook)).optional(),
  /** A declaration word for word, beside `hooks`: for what must be refused. */
  declaration: jsonObject.optional(),
  /** `via: handler`: what stands in the shim's place. Its arguments are EVENT, seconds, GATE or OTHER; it admits by exit 90. */
  shim: z.union([text, z.strictObject({ is: z.enum(["missing", "empty", "directory"]) })]).optional(),
  /** `via: callback`: what answers in the channel's place. */
  answers: z
    .enum([
      "admits",
      "denies",
      "never",
      "with-an-error",
      "with-nothing",
      "with-nonsense",
      "ends-the-input",
      "ends-both-pipes",
    ])
    .optional(),
  /** What the user asks, before the script's token. */
  prompt: text.optional(),
  plant: z.array(plant).optional(),
  /** Variables of the environment Bridle is called in. */
  env: z.record(text, text).optional(),
  /** Options of `spawnAgent`; `null` takes away what every run gets. With `via: handler` they are not checked. */
  options: jsonObject.optional(),
  mcp: z.boolean().optional(),
  /** A second run resumes the session of the first one with these steps. */
  resume: z.array(step).optional(),
  resume_prompt: text.optional(),
  steps: z.array(step).optional(),
  expect: expectation.optional(),
  control: control.optional(),
  /** False: what is observed is written down and decides nothing. */
  required: z.boolean().optional(),
  /** Why it is not required here, in words for the table. */
  because: text.optional(),
} as const;

const KINDS = ["blocks", "admits", "rewrites", "feeds-back", "fires", "isolates", "refuses"] as const;

export const caseSchema = z.strictObject({
  id: text.regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/),
  /** One sentence for somebody who has never heard of hooks. */
  title: text.min(1),
  kind: z.enum(KINDS),
  event: z.union([eventName, z.literal("any")]),
  /** Profile section, divergence (`Dv1-5`) or measured fact (`C-12`, `X-9`) it shows. */
  rule: texts.min(1),
  /** First version of a CLI for which it was measured to hold. */
  since: z.partialRecord(z.enum(["claude", "codex"]), text).optional(),
  columns: z.array(z.enum(COLUMN_NAMES)).min(1),
  /** The stricter form to render where this case does not hold, and the cases that must hold for it. */
  downgrade: z
    .strictObject({ to: z.enum(["rewrite-to-deny", "subagents-off"]), proven_by: texts.min(1) })
    .optional(),
  ...varying,
  /** Differences of one provider or column. */
  on: z.partialRecord(z.enum(COLUMN_NAMES), z.strictObject(varying)).optional(),
});

export type MatrixCaseSource = z.infer<typeof caseSchema>;
export type StepSource = z.infer<typeof step>;
export type ToolSource = z.infer<typeof tool>;
export type HookSource = z.infer<typeof hook>;
export type PlantSource = z.infer<typeof plant>;

/** A case for one column, its differences merged in. */
export interface MatrixCase extends Omit<MatrixCaseSource, "on" | "columns" | "expect" | "via" | "required"> {
  readonly column: ColumnName;
  readonly via: "bridle" | "handler" | "callback";
  readonly expect: Expectation;
  readonly required: boolean;
}
