// The agent's environment: an allowlist, never the caller's whole environment. Both CLIs read variables that switch hooks off
// (docs/providers/claude.md, environment rows).

import { nestMarker, RUN_MARKER } from "../exec/run-marker.ts";
import type { RenderedEnv } from "../render/provider.ts";

export { guardMarker, nestMarker, RUN_MARKER } from "../exec/run-marker.ts";

const ALWAYS = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "LANG",
  "LANGUAGE",
  "TZ",
  "TERM",
  "COLORTERM",
  "TMPDIR",
  "XDG_CONFIG_HOME",
  "XDG_CACHE_HOME",
  "XDG_DATA_HOME",
  "SSH_AUTH_SOCK",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "NODE_EXTRA_CA_CERTS",
  "CURL_CA_BUNDLE",
  "REQUESTS_CA_BUNDLE",
  "GIT_SSL_CAINFO",
] as const;
const PROXIES = /^(?:https?|all|no)_proxy$/i;
const LOCALE = /^LC_[A-Z]+$/;

export interface EnvironmentSources {
  readonly base: NodeJS.ProcessEnv;
  readonly credentialNames: readonly string[];
  readonly passEnv: readonly string[];
  readonly extra: Readonly<Record<string, string>>;
  readonly rendered: Readonly<Record<string, RenderedEnv>>;
  readonly proxies: boolean;
  readonly marker: string;
}

export interface AgentEnvironment {
  readonly env: Record<string, string>;
  /** Why each variable is there. */
  readonly why: Record<string, string>;
  /** Names that were set and did not pass, sorted. */
  readonly dropped: readonly string[];
}

export function buildAgentEnvironment(sources: EnvironmentSources): AgentEnvironment {
  const { base, credentialNames, passEnv, extra, rendered, proxies, marker } = sources;
  const env: Record<string, string> = {};
  const why: Record<string, string> = {};
  const set = (name: string, value: string, reason: string) => {
    env[name] = value;
    why[name] = reason;
  };
  for (const [name, value] of Object.entries(base)) {
    if (value === undefined) continue;
    const reason = reasonToPass(name, { credentialNames, passEnv, proxies });
    if (reason !== undefined) set(name, value, reason);
  }
  for (const [name, value] of Object.entries(extra)) set(name, value, "named by the caller");
  for (const [name, { value, why: reason }] of Object.entries(rendered)) set(name, value, reason);
  set(RUN_MARKER, nestMarker(base, marker), "finds what is left of the run");
  return {
    env,
    why,
    dropped: Object.keys(base)
      .filter((name) => !Object.hasOwn(env, name))
      .sort(),
  };
}

function reasonToPass(
  name: string,
  { credentialNames, passEnv, proxies }: Pick<EnvironmentSources, "credentialNames" | "passEnv" | "proxies">,
): string | undefined {
  if ((ALWAYS as readonly string[]).includes(name) || LOCALE.test(name)) return "basic environment";
  if (credentialNames.includes(name)) return "the provider's own credential";
  if (passEnv.includes(name)) return "named by the caller";
  if (proxies && PROXIES.test(name)) return "proxies asked for";
  return undefined;
}
