// The shape of SpawnOptions. A misspelt option would be ignored without a word, and a wrongly typed one would mean something else.

import { z } from "zod";
import type { Issue } from "../errors.ts";
import type { SpawnOptions } from "./options.ts";
import { EVENT_TYPE_NAMES, type EventType } from "./wanted-events.ts";

const text = z.string();
const texts = z.array(text);
const textRecord = z.record(text, text);
const json = z.json();

const stdioServer = z.looseObject({
  command: text.min(1),
  args: texts.optional(),
  env: textRecord.optional(),
});
const remoteServer = z.looseObject({ url: text.min(1), headers: textRecord.optional() });

const schema = z
  .strictObject({
    hooks: z.unknown(),
    provider: z.enum(["claude", "codex"]),
    prompt: text,
    cwd: text,
    model: text,
    permissionMode: text,
    sandbox: text,
    tools: texts,
    allowedTools: texts,
    disallowedTools: texts,
    addDirs: texts,
    mcpServers: z.record(
      text.min(1),
      z.union([stdioServer, remoteServer], "expected { command, args?, env? } or { url, headers? }"),
    ),
    providerConfig: z.record(text, json),
    maxTurns: z.number(),
    resume: text,
    keepSession: z.boolean(),
    allowHookChange: z.boolean(),
    configHome: z.enum(["user", "run"]),
    admit: z
      .strictObject({
        denyRules: z.boolean(),
        instructions: z.enum(["project", "none"]),
        subagents: z.boolean(),
        interactiveShell: z.boolean(),
      })
      .partial(),
    extraArgs: texts,
    passEnv: texts,
    env: textRecord,
    proxies: z.boolean(),
    secrets: texts,
    // Its values have a check of their own, with a code of their own.
    deadlines: z.record(text, z.unknown()),
    events: z.array(z.enum(EVENT_TYPE_NAMES as [EventType, ...EventType[]])),
    maxLineBytes: z.number(),
    containment: z.enum(["auto", "pid-namespace", "sweep"]),
    workspace: z.enum(["exclusive", "shared"]),
    startGate: z.enum(["auto", "off"]),
    shutdown: z.enum(["stop", "off"]),
    signal: z.instanceof(AbortSignal),
    receiptsDir: text,
    receiptSink: z.custom((value) => typeof value === "function", "expected a function"),
    trace: z.custom(
      (value) => typeof (value as { begin?: unknown } | null)?.begin === "function",
      "expected a tracer, as openTelemetry() of agent-bridle/trace makes one",
    ),
    runDirParent: text,
    baseEnv: z.custom((value) => typeof value === "object" && value !== null, "expected an object"),
  })
  .partial() satisfies z.ZodType<{ [Name in keyof SpawnOptions]?: unknown }>;

/** Every option that is unknown or of the wrong type, as `option_invalid`. Values are not shown: they may be secrets. */
export function checkOptionShapes(options: unknown): Issue[] {
  const { error } = schema.safeParse(options);
  return (error?.issues ?? []).flatMap((issue): Issue[] => {
    const path = issue.path.map(String).join(".");
    if (issue.code !== "unrecognized_keys")
      return [
        {
          code: "option_invalid",
          path: path || "options",
          message: issue.message,
          hint: "see docs/SPAWN.md",
        },
      ];
    return issue.keys.map((key) => ({
      code: "option_invalid",
      path: path === "" ? key : `${path}.${key}`,
      message: "is not an option",
      hint: "a misspelt option would be ignored without a word",
    }));
  });
}
