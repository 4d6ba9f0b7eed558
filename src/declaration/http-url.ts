// Which addresses an http hook may have, and how one is shown. Pure. Must never show a credential: not a password, not a query's value.

/** Why an address cannot be used; undefined when it can. It never quotes the address. */
export function urlProblem(text: string): string | undefined {
  const url = parseUrl(text);
  if (url === undefined) return "must be an absolute URL, as in https://guard.example/pre-tool-use";
  if (url.protocol !== "http:" && url.protocol !== "https:")
    return `must begin with https://, or with http:// and a loopback address, not with ${url.protocol}`;
  if (url.username !== "" || url.password !== "")
    return "must hold no user and no password: put them into headers, as env:NAME";
  if (url.hash !== "" || text.includes("#")) return "must have no fragment: a server is never sent one";
  if (url.protocol === "http:" && !isLoopback(url.hostname))
    return "must begin with https://: over plain http only localhost, 127.0.0.0/8 and ::1 are asked";
  return undefined;
}

/** As `new URL` writes the host: an address is in its plain form there, however it was spelt. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

/** Scheme, host, path and the names of the query; for everything that is written or shown. */
export function showUrl(text: string): string {
  const url = parseUrl(text);
  if (url === undefined) return "an address that cannot be read";
  const names = url.search
    .slice(1)
    .split("&")
    .filter((part) => part !== "")
    .map((part) => (part.includes("=") ? `${part.slice(0, part.indexOf("="))}=…` : "…"));
  return `${url.origin === "null" ? url.protocol : url.origin}${url.pathname}${names.length === 0 ? "" : `?${names.join("&")}`}`;
}

/** Values of a query whose names say that they are secret are the caller's to redact: `[name, value]`, decoded. */
export function queryOf(text: string): [string, string][] {
  return [...(parseUrl(text)?.searchParams ?? [])];
}

function parseUrl(text: string): URL | undefined {
  // `new URL` also takes what stands around the address, and backslashes, for its own.
  if (/[\s\\]/.test(text) || !/^[a-z][a-z0-9+.-]*:\/\/[^/]/i.test(text)) return undefined;
  return URL.canParse(text) ? new URL(text) : undefined;
}
