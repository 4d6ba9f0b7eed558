import { expect, it } from "vitest";
import { loopbackProvider } from "../../src/prove/provider-env.ts";

it("claude is pointed at the server by environment alone", () => {
  const { env, providerConfig } = loopbackProvider("claude", "http://127.0.0.1:8080/");
  expect(env).toMatchObject({ ANTHROPIC_BASE_URL: "http://127.0.0.1:8080" });
  expect(env.ANTHROPIC_API_KEY).toMatch(/^dummy/);
  expect(providerConfig).toEqual({});
});

it("codex is pointed at the server by a provider table that names its key", () => {
  const { env, providerConfig } = loopbackProvider("codex", "http://127.0.0.1:8080");
  expect(providerConfig).toMatchObject({
    model_provider: "bridle-loopback",
    model_providers: {
      "bridle-loopback": { base_url: "http://127.0.0.1:8080/v1", env_key: "OPENAI_API_KEY" },
    },
  });
  expect(env.OPENAI_API_KEY).toMatch(/^dummy/);
});

it.each(["http://example.com", "http://10.0.0.1:80"])("%s is refused: it is not on loopback", (url) => {
  expect(() => loopbackProvider("codex", url)).toThrow(/loopback/);
});
