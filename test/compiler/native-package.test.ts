// The native binary below a folder node_modules, as the packages lay it out.

import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findInPackages } from "../../src/compiler/native-package.ts";

const KEY = `${process.platform}-${process.arch}`;

let modules: string;
beforeEach(async () => {
  modules = await mkdtemp(join(tmpdir(), "bridle-modules-"));
});
afterEach(() => rm(modules, { recursive: true, force: true }));

async function put(path: string): Promise<string> {
  const whole = join(modules, path);
  await mkdir(dirname(whole), { recursive: true });
  await writeFile(whole, "");
  return whole;
}

test("is found for each provider, for whatever C library, the first by name", async () => {
  const codex = await put(`@openai/codex-${KEY}/vendor/some-triple/bin/codex`);
  await put(`@openai/codex-${KEY}/vendor/some-triple/path/rg`);
  await put(`@openai/codex-${KEY}-musl/vendor/other/bin/codex`);
  const claude = await put(`@anthropic-ai/claude-code-${KEY}-musl/claude`);
  await put("@anthropic-ai/claude-code/claude");
  expect(await findInPackages("codex", modules)).toBe(codex);
  expect(await findInPackages("claude", modules)).toBe(claude);
});

test("behind a link counts; a folder, a hidden name and another platform do not", async () => {
  await mkdir(join(modules, `@anthropic-ai/claude-code-${KEY}/claude`), { recursive: true });
  await put(`@openai/codex-${KEY}/vendor/.hidden/bin/codex`);
  await put("@openai/codex-plan9-mips/vendor/x/bin/codex");
  expect(await findInPackages("claude", modules)).toBeUndefined();
  expect(await findInPackages("codex", modules)).toBeUndefined();
  await symlink(await put("store/claude"), join(modules, `@anthropic-ai/claude-code-${KEY}/bin`));
  await rm(join(modules, `@anthropic-ai/claude-code-${KEY}/claude`), { recursive: true });
  await symlink("bin", join(modules, `@anthropic-ai/claude-code-${KEY}/claude`));
  expect(await findInPackages("claude", modules)).toBe(
    join(modules, `@anthropic-ai/claude-code-${KEY}/claude`),
  );
});

test("without such a folder there is none", async () => {
  expect(await findInPackages("codex", join(modules, "none"))).toBeUndefined();
});
