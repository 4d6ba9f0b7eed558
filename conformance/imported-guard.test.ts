// From somebody's `.claude/settings.json` to a real codex that runs under it: imported, refused until it is trusted, then denying.

import { mkdirSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { approve, importFiles, loadSettings, pendingCommands } from "../src/index.ts";
import { CODEX, makeSite, runGuarded, touch } from "./support/harness.ts";

it("an imported guard refuses the run until it is trusted, and then denies what it is there for", async () => {
  const site = makeSite();
  const [shell = "", ...words] = site.guard("case $(cat) in *forbidden*) echo no >&2; exit 2 ;; esac");
  mkdirSync(site.at(".claude"));
  mkdirSync(site.at(".git"));
  const command = [shell, `"$CLAUDE_PROJECT_DIR"/${words[0]}`, words[1]].join(" ");
  const hooks = { PreToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command }] }] };
  writeFileSync(site.at(".claude/settings.json"), JSON.stringify({ hooks }));
  const imported = await importFiles({ provider: "claude", cwd: site.project, home: site.home, write: true });
  expect(imported.counts).toMatchObject({ imported: 1, rejected: 0 });

  const run = async () => {
    const { declaration, origins } = await loadSettings({ cwd: site.project, home: site.home });
    return runGuarded({
      column: CODEX,
      site,
      declaration: () => declaration,
      script: () => [{ tools: [touch(site, "fine.txt")] }, { tools: [touch(site, "forbidden.txt")] }],
      compile: { prove: "off", origins, trust: { home: site.home } },
    });
  };
  const untrusted = await run();
  expect(untrusted.refusal?.issues).toMatchObject([{ code: "command_untrusted" }]);
  expect(untrusted.server.modelCalls).toBe(0);
  await approve(await pendingCommands(await loadSettings({ cwd: site.project, home: site.home })), {
    home: site.home,
  });
  const { result } = await run();
  expect(result).toMatchObject({ outcome: "success", hooks: { denied: 1 } });
  expect([site.has("fine.txt"), site.has("forbidden.txt")]).toEqual([true, false]);
});
