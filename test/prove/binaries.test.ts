import { expect, it } from "vitest";
import { nativeBinaryPath } from "../../conformance/binaries.ts";

it.each([
  ["claude", "linux", "x64", false, "@anthropic-ai/claude-code-linux-x64/claude"],
  ["claude", "linux", "arm64", true, "@anthropic-ai/claude-code-linux-arm64-musl/claude"],
  ["claude", "darwin", "arm64", false, "@anthropic-ai/claude-code-darwin-arm64/claude"],
  ["codex", "linux", "x64", true, "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"],
  ["codex", "linux", "arm64", false, "@openai/codex-linux-arm64/vendor/aarch64-unknown-linux-musl/bin/codex"],
  ["codex", "darwin", "x64", false, "@openai/codex-darwin-x64/vendor/x86_64-apple-darwin/bin/codex"],
] as const)("%s on %s %s (musl: %s) is %s", (provider, platform, arch, musl, path) => {
  expect(nativeBinaryPath(provider, { platform, arch, musl })).toBe(path);
});

it("a platform the vendors do not ship for has no binary", () => {
  expect(nativeBinaryPath("claude", { platform: "freebsd", arch: "x64", musl: false })).toBeUndefined();
});
