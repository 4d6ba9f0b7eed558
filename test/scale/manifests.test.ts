// The manifests of docs/SCALE.md, held against systemd itself where it is there, and against the schemas of Kubernetes; what they start is
// held against the command line.

import { execFile, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import * as apps from "kubernetes-models/apps/v1";
import * as networking from "kubernetes-models/networking.k8s.io/v1";
import * as core from "kubernetes-models/v1";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { addWorkerCommand } from "../../src/cli/worker.ts";
import { validateDeclaration } from "../../src/declaration/validate.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const EXAMPLES = join(ROOT, "examples");
const UNIT = join(EXAMPLES, "systemd", "bridle-worker.service");
const KUBERNETES = join(EXAMPLES, "kubernetes");

type Model = new (data: never) => { validate(): void };
const MODELS: Readonly<Record<string, Model>> = {
  "v1 ConfigMap": core.ConfigMap as unknown as Model,
  "v1 Service": core.Service as unknown as Model,
  "apps/v1 StatefulSet": apps.StatefulSet as unknown as Model,
  "networking.k8s.io/v1 NetworkPolicy": networking.NetworkPolicy as unknown as Model,
};

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
}

const manifests = readdirSync(KUBERNETES).flatMap((file) =>
  parseAllDocuments(readFileSync(join(KUBERNETES, file), "utf8"), { strict: true, uniqueKeys: true }).map(
    (document, index) => ({
      at: `${file}[${index}]`,
      errors: document.errors,
      manifest: document.toJS() as Manifest,
    }),
  ),
);

/** What the compiler says of manifests that are written as literals of their types. */
async function checkTypes(file: string, all: readonly Manifest[]): Promise<string> {
  const lines = all.map(({ apiVersion, kind }, index) => {
    const name = `I${kind}`;
    const type = `import("kubernetes-models/${apiVersion}").${name}`;
    return `export const manifest${index}: ${type} = ${JSON.stringify(all[index])};`;
  });
  await writeFile(file, `${lines.join("\n")}\n`);
  const compiler = join(ROOT, "node_modules", "typescript", "bin", "tsc");
  const options = [
    "--ignoreConfig",
    "--noEmit",
    "--strict",
    "--skipLibCheck",
    "--module",
    "nodenext",
    "--target",
    "es2023",
  ];
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [compiler, ...options, file],
      { maxBuffer: 2 ** 24 },
      (_error, stdout, stderr) => resolve(stdout + stderr),
    );
  });
}

/** Throws for an option that the command does not have, and for a value that it does not take. */
function parseWorkerLine(line: string): void {
  const words = line
    .slice(line.indexOf("bridle worker ") + "bridle ".length)
    .trim()
    .split(/\s+/);
  const program = new Command().exitOverride().configureOutput({ writeErr: () => {} });
  addWorkerCommand(program);
  const worker = program.commands[0]?.exitOverride().configureOutput({ writeErr: () => {} });
  const { unknown, operands } = worker?.parseOptions(words.slice(1)) ?? { unknown: words, operands: [] };
  if (unknown.length > 0 || operands.length > 0)
    throw new Error(`not known: ${[...unknown, ...operands].join(" ")}`);
}

describe("systemd", () => {
  const verify = (unit: string) => spawnSync("systemd-analyze", ["verify", unit], { encoding: "utf8" });
  const hasSystemd = spawnSync("systemd-analyze", ["--version"]).error === undefined;

  test.runIf(hasSystemd)("finds nothing wrong with the unit", () => {
    const { status, stderr } = verify(UNIT);
    expect([status, stderr]).toEqual([0, ""]);
  });

  test("a worker that refuses to start is not started again", () => {
    expect(readFileSync(UNIT, "utf8")).toMatch(/^RestartPreventExitStatus=64 78$/m);
  });

  test("the unit starts the worker with options that it has", () => {
    const line = /^ExecStart=(.*)$/m.exec(readFileSync(UNIT, "utf8"))?.[1] ?? "";
    expect(line).toContain("bridle worker ");
    expect(() => parseWorkerLine(line)).not.toThrow();
    expect(() => parseWorkerLine(`${line} --no-such-option`)).toThrow("--no-such-option");
  });
});

describe("kubernetes", () => {
  test.each(manifests)("$at has the shape that its kind has", ({ errors, manifest }) => {
    expect(errors).toEqual([]);
    const Model = MODELS[`${manifest.apiVersion} ${manifest.kind}`];
    if (Model === undefined) throw new Error(`unknown kind: ${manifest.apiVersion} ${manifest.kind}`);
    expect(() => new Model(manifest as never).validate()).not.toThrow();
  });

  test("no field is one that its kind does not have", async () => {
    // Schemas let unknown fields pass; the types of the same package do not.
    const folder = await mkdtemp(join(ROOT, ".bridle-tmp", "manifests-"));
    try {
      const typed = manifests.map(({ manifest }) => manifest);
      expect(await checkTypes(join(folder, "right.ts"), typed)).toBe("");
      const wrong = JSON.parse(
        JSON.stringify(typed).replaceAll("terminationGracePeriodSeconds", "gracePeriod"),
      );
      expect(await checkTypes(join(folder, "wrong.ts"), wrong)).toMatch(
        /gracePeriod.*does not exist in type 'IPodSpec'/,
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  test("a value of another type is seen", () => {
    const set = manifests.find(({ manifest }) => manifest.kind === "StatefulSet")?.manifest as never;
    const { spec, ...rest } = set as { spec: { replicas: unknown } };
    expect(() =>
      new apps.StatefulSet({ ...rest, spec: { ...spec, replicas: "three" } } as never).validate(),
    ).toThrow("replicas");
  });

  test("selectors choose the pods of their template", () => {
    for (const { at, manifest } of manifests) {
      if (manifest.kind !== "StatefulSet") continue;
      const { selector, template } = (manifest as unknown as { spec: apps.StatefulSet["spec"] })
        .spec as never as {
        selector: { matchLabels: object };
        template: { metadata: { labels: object } };
      };
      expect([at, template.metadata.labels]).toEqual([at, expect.objectContaining(selector.matchLabels)]);
    }
  });

  test("the worker is started with options that it has, under a declaration that is one", () => {
    const text = readFileSync(join(KUBERNETES, "worker.yaml"), "utf8");
    const [set] = manifests.flatMap(({ manifest }) =>
      manifest.kind === "StatefulSet" && manifest.metadata.name === "bridle-worker" ? [manifest] : [],
    );
    const { containers } = (
      set as never as { spec: { template: { spec: { containers: { command: string[] }[] } } } }
    ).spec.template.spec;
    expect(() => parseWorkerLine(containers[0]?.command[2] ?? "")).not.toThrow();
    // A failure of it must be seen.
    expect(text).toMatch(/bridle recover --assume-dead &&\n\s+exec bridle worker /);
    const hooks =
      manifests.find(({ manifest }) => manifest.kind === "ConfigMap")?.manifest.data?.["hooks.yaml"] ?? "";
    const declared = parseAllDocuments(hooks)[0]?.toJS() as { hooks_external: unknown };
    expect(validateDeclaration(declared.hooks_external).issues).toEqual([]);
  });
});
