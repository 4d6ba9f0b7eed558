import { expect, test } from "vitest";
import { buildAgentEnvironment, type EnvironmentSources } from "../../src/spawn/environment.ts";

const build = (sources: Partial<EnvironmentSources>) =>
  buildAgentEnvironment({
    base: {},
    credentialNames: ["OPENAI_API_KEY"],
    passEnv: [],
    extra: {},
    rendered: {},
    proxies: false,
    marker: "m",
    ...sources,
  });

test.each([
  "BASH_ENV",
  "NODE_OPTIONS",
  "LD_PRELOAD",
  "GITHUB_TOKEN",
  "CLAUDE_CODE_SIMPLE",
  "ENV",
  "https_proxy",
  "PYTHONPATH",
])("%s is not passed on and is told by name", (name) => {
  const { env, dropped } = build({ base: { [name]: "x" } });
  expect(env).not.toHaveProperty(name);
  expect(dropped).toEqual([name]);
});

test.each(["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "OPENAI_API_KEY"])("%s is passed on", (name) => {
  expect(build({ base: { [name]: "x" } }).env[name]).toBe("x");
});

test("proxies are passed on when asked for", () => {
  expect(build({ base: { HTTPS_PROXY: "x", no_proxy: "y" }, proxies: true }).env).toMatchObject({
    HTTPS_PROXY: "x",
    no_proxy: "y",
  });
});

test("what is rendered wins over the caller, and the caller over the base", () => {
  const { env } = build({
    base: { HOME: "base", LANG: "base" },
    extra: { HOME: "extra", LANG: "extra" },
    rendered: { HOME: { value: "rendered", why: "w" } },
  });
  expect(env).toMatchObject({ HOME: "rendered", LANG: "extra" });
});

test("the marker cannot be set by the caller, and nests in an outer run's", () => {
  const { env } = build({ base: { BRIDLE_RUN_MARKER: "outer" }, extra: { BRIDLE_RUN_MARKER: "forged" } });
  expect(env.BRIDLE_RUN_MARKER).toBe("outer:m");
});

test("every variable says why it is there", () => {
  const { env, why } = build({ base: { PATH: "x", MINE: "y" }, passEnv: ["MINE"], extra: { A: "b" } });
  expect(Object.keys(why).sort()).toEqual(Object.keys(env).sort());
});
