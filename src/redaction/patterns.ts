// Shapes of tokens that are secret whatever variable they came from. Each is anchored on a prefix or a structure that ordinary
// text does not have; every pattern is linear on any input.

export const REDACTED = "[redacted]";

export interface SecretPattern {
  readonly name: string;
  readonly pattern: RegExp;
  /** Keeps the groups that are not secret. */
  readonly replacement: string;
}

export const SECRET_PATTERNS: readonly SecretPattern[] = [
  {
    name: "pem",
    pattern:
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|$)/g,
    replacement: REDACTED,
  },
  {
    name: "authorization",
    pattern:
      /(\b(?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token|digest)\s+)?)[^\s"',;]+/gi,
    replacement: `$1${REDACTED}`,
  },
  { name: "bearer", pattern: /(\bbearer\s+)[A-Za-z0-9._~+/=-]{12,}/gi, replacement: `$1${REDACTED}` },
  {
    name: "url-credentials",
    pattern: /(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@"']{1,1000}@/gi,
    replacement: `$1${REDACTED}@`,
  },
  {
    name: "jwt",
    pattern: /\beyJ[A-Za-z0-9_-]{8,1024}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?/g,
    replacement: REDACTED,
  },
  {
    name: "vendor-key",
    pattern:
      /\b(?:sk-(?:ant-|proj-|svcacct-)?[A-Za-z0-9_-]{16,}|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}|gh[opsur]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abeprs]-[A-Za-z0-9-]{10,}|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{20,}|(?:AKIA|ASIA)[A-Z0-9]{16}|dop_v1_[a-f0-9]{40,})/g,
    replacement: REDACTED,
  },
  {
    name: "option-value",
    pattern:
      /((?<![A-Za-z0-9_-])--?(?:[a-z0-9]{1,32}-){0,8}(?:token|secret|password|passwd|api-?key|access-?key|private-?key|auth)(?:=|\s+))(?:"[^"]*"|'[^']*'|[^\s"']+)/gi,
    replacement: `$1${REDACTED}`,
  },
  {
    name: "assignment",
    pattern:
      /((?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIALS?)[A-Z0-9_]{0,64}["']?\s*[=:]\s*)(?:"[^"]*"|'[^']*'|[^\s"',;]+)/g,
    replacement: `$1${REDACTED}`,
  },
];

const SECRET_WORDS =
  /(?:^|_)(?:api_?key|apikey|token|secret|passwd|password|passphrase|credentials?|auth|authorization|private_?key|access_?key|bearer|cookie|session_?key|signing_?key|pat)(?:$|_)/;

/** True for the name of a variable or JSON key whose value is secret: `OPENAI_API_KEY`, `authToken`, `x-api-key`. */
export function isSecretName(name: string): boolean {
  const words = name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, "_").replaceAll(/[-. ]/g, "_");
  return SECRET_WORDS.test(words.toLowerCase());
}

/** Option words whose next argv word is secret. */
export const SECRET_OPTION =
  /^--?(?:[a-z0-9]+-)*(?:token|secret|password|passwd|api-?key|access-?key|private-?key|auth)$/i;
