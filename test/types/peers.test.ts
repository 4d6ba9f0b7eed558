// What a program that needs none of it does not have to install: optional peers are loaded behind their subpath alone.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

const LOADED_BY: Readonly<Record<string, string | undefined>> = {
  // The client is the caller's.
  "@modelcontextprotocol/sdk": undefined,
  "@opentelemetry/api": "trace/load-api.ts",
  "@secretlint/core": "hooks/secret-scan.ts",
  "@secretlint/secretlint-rule-preset-recommend": "hooks/secret-scan.ts",
  ajv: "host/json-schema-check.ts",
  "ajv-formats": "host/json-schema-check.ts",
  "better-sqlite3": "store/load-driver.ts",
  bullmq: "bullmq/load-bullmq.ts",
};

const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((file) => /\.m?ts$/.test(file))
  .map((file) => ({ file, text: readFileSync(join(root, "src", file), "utf8") }));

test("every optional peer is known here, and is no dependency", () => {
  expect(Object.keys(manifest.peerDependencies).toSorted()).toEqual(Object.keys(LOADED_BY).toSorted());
  for (const name of Object.keys(LOADED_BY)) {
    expect(manifest.peerDependenciesMeta[name]).toEqual({ optional: true });
    expect(manifest.dependencies).not.toHaveProperty([name]);
  }
});

test.each(Object.entries(LOADED_BY))(
  "%s is loaded by the file behind its subpath alone, and only when it is called",
  (name, owner) => {
    const named = new RegExp(`["']${name}["'/]`);
    expect(sources.filter(({ text }) => named.test(text)).map(({ file }) => file)).toEqual(
      owner === undefined ? [] : [owner],
    );
    const atOnce = new RegExp(`^(?:import|export) (?!type )[^;]*?from ["']${name}["'/]`, "m");
    expect(sources.filter(({ text }) => atOnce.test(text))).toEqual([]);
  },
);
