// The JSON Schema of a settings file, for editors. It says the same as validation where a schema can; compile has the last word.

import { z } from "zod";
import { capabilityOf, EVENT_NAMES } from "../profile/events.ts";
import { entrySchemas } from "./schema.ts";

/** Other keys of a settings file are not ours: they are let through. */
export function settingsJsonSchema(): Record<string, unknown> {
  const { command, http } = entrySchemas();
  const group = z.strictObject({
    matcher: z
      .string()
      .optional()
      .describe(
        "Omitted, empty or *: everything. A name, a list a|b, kind:shell, or a regular expression (RE2).",
      ),
    where: z
      .record(z.string(), z.json())
      .optional()
      .describe(
        "Beside the matcher: what the envelope must hold. A part of it, with tests $eq, $in, $exists and $contains. See docs/PROFILE.md, Where.",
      ),
    hooks: z
      .array(z.discriminatedUnion("type", [command, http]))
      .min(1)
      .describe("Run in this order; the first denial ends the chain."),
  });
  const events = Object.fromEntries(
    EVENT_NAMES.map((name) => {
      const { subject, role } = capabilityOf(name);
      const about = `${role}; ${subject === undefined ? "no matcher" : `matched against ${subject}`}`;
      return [name, z.array(group).min(1).optional().describe(about)];
    }),
  );
  const settings = z.looseObject({
    hooks_external: z.strictObject(events).optional().describe("Hooks by event. See docs/SETTINGS.md."),
  });
  const { $schema, ...body } = z.toJSONSchema(settings, { target: "draft-7", io: "input" });
  return { $schema, title: "hooks_external in .lionagi/settings.yaml and .lionagi/hooks/*.yaml", ...body };
}
