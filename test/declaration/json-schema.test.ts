import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { settingsJsonSchema } from "../../src/declaration/json-schema.ts";
import { EVENT_NAMES } from "../../src/profile/events.ts";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

test("the published schema is the one that validation is made of (npm run schema)", () => {
  expect(JSON.parse(read("schema/hooks-external.json"))).toEqual(settingsJsonSchema());
});

test("the schema is in the package, under a name that can be imported", () => {
  const { files, exports } = JSON.parse(read("package.json"));
  expect(files).toContain("schema/hooks-external.json");
  expect(exports["./schema/hooks-external.json"]).toBe("./schema/hooks-external.json");
});

test("the schema knows every event and every field, lets other keys be, and no unknown ones below ours", () => {
  const { properties, ...root } = settingsJsonSchema() as {
    properties: {
      hooks_external: {
        properties: Record<
          string,
          { items: { properties: { where: object; hooks: { items: { oneOf: object[] } } } } }
        >;
        additionalProperties: unknown;
      };
    };
    additionalProperties?: unknown;
  };
  const { hooks_external: hooks } = properties;
  expect(Object.keys(hooks.properties)).toEqual(EVENT_NAMES);
  expect(hooks.additionalProperties).toBe(false);
  expect(root.additionalProperties).not.toBe(false);
  const group = hooks.properties.PreToolUse?.items.properties;
  expect(group?.where).toMatchObject({ type: "object" });
  const [command, http, ...others] = group?.hooks.items.oneOf ?? [];
  expect(others).toEqual([]);
  expect(http).toMatchObject({
    required: ["type", "url"],
    additionalProperties: false,
    properties: {
      type: { const: "http" },
      url: { type: "string" },
      headers: { type: "object", propertyNames: { pattern: expect.stringContaining("A-Za-z0-9") } },
      once: { type: "boolean" },
      async: { type: "boolean" },
    },
  });
  expect(http).not.toHaveProperty("properties.source");
  expect(http).not.toHaveProperty("properties.persistent");
  expect(command).toMatchObject({
    required: ["type", "command"],
    additionalProperties: false,
    properties: {
      type: { const: "command" },
      command: { minItems: 1, items: { pattern: "\\S" } },
      timeout: { exclusiveMinimum: 0, maximum: 3600 },
      on_failure: { enum: ["closed", "open"] },
      grants: { type: "boolean" },
      source: { pattern: expect.stringContaining("imported") },
      env: { type: "object" },
      persistent: { type: "boolean" },
      once: { type: "boolean" },
      async: { type: "boolean" },
    },
  });
});
