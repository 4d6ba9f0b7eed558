// Where the pinned CLIs are: the native binary of this platform's package, never the npm wrapper, never PATH.

import { accessSync, constants } from "node:fs";
import { join, relative } from "node:path";
import type { Provider } from "../src/profile/events.ts";

interface Platform {
  readonly platform: NodeJS.Platform;
  readonly arch: string;
  readonly musl: boolean;
}

const CODEX_TRIPLES: Readonly<Record<string, string>> = {
  "linux-x64": "x86_64-unknown-linux-musl",
  "linux-arm64": "aarch64-unknown-linux-musl",
  "darwin-x64": "x86_64-apple-darwin",
  "darwin-arm64": "aarch64-apple-darwin",
};

/** Path of the pinned native binary below `conformance/node_modules`. Undefined: the vendor has none for the platform. */
export function nativeBinaryPath(provider: Provider, { platform, arch, musl }: Platform): string | undefined {
  const key = `${platform}-${arch}`;
  const triple = CODEX_TRIPLES[key];
  if (triple === undefined) return undefined;
  // codex ships one static musl build for every Linux; claude ships one package per libc.
  return provider === "codex"
    ? join("@openai", `codex-${key}`, "vendor", triple, "bin", "codex")
    : join("@anthropic-ai", `claude-code-${key}${platform === "linux" && musl ? "-musl" : ""}`, "claude");
}

/** Absolute path of claude 2.1.197, which npm on Node 20 installs by itself and which ignores `onFailure`. */
export function resolveOlderClaude(): string {
  const newer = resolveNativeBinary("claude");
  const packages = join(import.meta.dirname, "node_modules");
  return join(packages, "claude-2-1-197", "node_modules", relative(packages, newer));
}

/** Absolute path of the pinned native binary. Throws an Error that names the command to run when it is not installed. */
export function resolveNativeBinary(provider: Provider): string {
  const platform = { platform: process.platform, arch: process.arch, musl: isMusl() };
  const inPackages = nativeBinaryPath(provider, platform);
  if (inPackages === undefined) {
    throw new Error(`${provider}: no pinned native binary for ${platform.platform} ${platform.arch}.`);
  }
  const path = join(import.meta.dirname, "node_modules", inPackages);
  try {
    accessSync(path, constants.X_OK);
  } catch (cause) {
    throw new Error(`${provider}: ${path} is missing. Run \`npm ci --prefix conformance\` first.`, { cause });
  }
  return path;
}

function isMusl(): boolean {
  if (process.platform !== "linux") return false;
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return report.header?.glibcVersionRuntime === undefined;
}
