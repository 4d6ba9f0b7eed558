// Which variables a host replaces in a hook's command, and what they are called here. What is expanded at spawn is expanded as exactly
// one word; this module only writes the names.

import type { Provider } from "../profile/events.ts";

export const PLACEHOLDERS = ["{project_dir}", "{home}", "{plugin_root}", "{run_dir}"] as const;
export type Placeholder = (typeof PLACEHOLDERS)[number];

const PLUGIN_ROOTS: Readonly<Record<Provider, readonly string[]>> = {
  claude: ["CLAUDE_PLUGIN_ROOT"],
  codex: ["CLAUDE_PLUGIN_ROOT", "CODEX_PLUGIN_ROOT", "PLUGIN_ROOT"],
};

/** Variables of other hosts, or of the other agent. Without a host that sets them they are empty, and a path that begins with one is another path. */
const FOREIGN: Readonly<Record<string, string>> = {
  CLAUDE_PROJECT_DIR: "claude",
  CODEX_PLUGIN_ROOT: "codex",
  CODEX_PROJECT_ROOT: "codex",
  CODEX_REPO_ROOT: "codex",
  extensionPath: "Gemini CLI",
  GEMINI_PROJECT_DIR: "Gemini CLI",
  CURSOR_PROJECT_DIR: "Cursor",
  CURSOR_PLUGIN_ROOT: "Cursor",
};

/** What a variable of this host is here; undefined when the host does not set it, or there is nothing here that means the same. */
export function placeholderOf(name: string, provider: Provider): Placeholder | undefined {
  if (PLUGIN_ROOTS[provider].includes(name)) return "{plugin_root}";
  return provider === "claude" && name === "CLAUDE_PROJECT_DIR" ? "{project_dir}" : undefined;
}

/** Why a variable cannot be translated. */
export function describeVariable(name: string, provider: Provider): string {
  if (name === "HOME") return "$HOME is translated only at the head of a word and before a /";
  if (Object.hasOwn(FOREIGN, name) && FOREIGN[name] !== provider)
    return `$${name} belongs to another host (${FOREIGN[name]}); ${provider} does not set it`;
  if (/(?:^|_)PLUGIN_DATA$/.test(name)) return `there is no placeholder that means $${name}`;
  return `unknown variable $${name}; hook input comes on stdin, not in variables`;
}

/** `${NAME}` of this host in a text, also in single quotes: hosts replace that form before any shell sees it. */
const BRACED = /\$\{([A-Za-z_]\w*)\}/g;

export interface Replaced {
  readonly text: string;
  /** What was replaced, as `${CLAUDE_PLUGIN_ROOT} → {plugin_root}`. */
  readonly translations: readonly string[];
}

/** Replaces the host's placeholders in their braced form; any other text stays. */
export function replaceBraced(text: string, provider: Provider): Replaced {
  const translations: string[] = [];
  const replaced = text.replaceAll(BRACED, (whole, name: string) => {
    const placeholder = placeholderOf(name, provider);
    if (placeholder === undefined) return whole;
    translations.push(`host placeholder ${whole} → ${placeholder}`);
    return placeholder;
  });
  return { text: replaced, translations };
}

/** The first of our placeholders that stands literally in a text: expanded at spawn it would no longer be what was written. There is no escape. */
export function literalPlaceholder(text: string): Placeholder | undefined {
  return PLACEHOLDERS.find((placeholder) => text.includes(placeholder));
}
