// Reads a declaration from a YAML or JSON file under `hooks_external:`. Other keys of the file are not ours.

import { readFile } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { parseDocument } from "yaml";
import { AgentHooksRefused, type Issue } from "../errors.ts";
import { isJsonObject } from "../json.ts";
import { isEventName, SEAMLESS_EVENTS } from "../profile/events.ts";
import type { HookDeclaration } from "./types.ts";
import { validateDeclaration } from "./validate.ts";

export interface LoadedDeclaration {
  readonly declaration: HookDeclaration;
  /** Absolute path of the file: shown in every issue. */
  readonly source: string;
  /** Relative argv words are resolved against it: the file's folder, or that folder's parent when it is `.lionagi`. */
  readonly projectRoot: string;
}

/**
 * Loads a declaration file. Throws `AgentHooksRefused` (`declaration_invalid` and the codes of its entries) with every problem.
 * Function handlers cannot come from a file.
 */
export async function loadDeclaration(file: string): Promise<LoadedDeclaration> {
  const source = resolve(file);
  const refuse = (message: string, hint: string): never => {
    throw new AgentHooksRefused([{ code: "declaration_invalid", path: source, message, hint }]);
  };
  let text: string;
  try {
    text = await readFile(source, "utf8");
  } catch (error) {
    return refuse(`cannot be read: ${(error as Error).message}`, "");
  }
  const document = parseDocument(text.replace(/^\uFEFF/, ""), {
    uniqueKeys: true,
    maxAliasCount: 100,
  } as object);
  if (document.errors.length > 0) {
    throw new AgentHooksRefused(
      document.errors.map((error): Issue => {
        const line = error.linePos?.[0].line;
        const path = line === undefined ? source : `${source}:${line}`;
        return {
          code: "declaration_invalid",
          path,
          message: error.message.split("\n")[0] ?? error.code,
          hint: "",
        };
      }),
    );
  }
  const root: unknown = toPlain(document, refuse);
  if (!isJsonObject(root) || !Object.hasOwn(root, "hooks_external")) {
    return refuse("has no hooks_external key", "put the events under hooks_external:");
  }
  const strays = Object.keys(root).filter(
    (key) => key === "hooks" || isEventName(key) || SEAMLESS_EVENTS.includes(key),
  );
  if (strays.length > 0)
    return refuse(
      `${strays.join(", ")} stands beside hooks_external and would not be read`,
      "indent it below hooks_external:",
    );
  const { declaration, issues } = validateDeclaration(root.hooks_external, source);
  if (issues.length > 0) throw new AgentHooksRefused(issues);
  const folder = dirname(source);
  return { declaration, source, projectRoot: basename(folder) === ".lionagi" ? dirname(folder) : folder };
}

function toPlain(
  document: ReturnType<typeof parseDocument>,
  refuse: (message: string, hint: string) => never,
): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    return refuse((error as Error).message, "fewer aliases");
  }
}
