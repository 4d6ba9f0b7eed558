// The frame of a report: one file that asks nobody for anything. The policy in its head forbids scripts, every address and every style but
// the one sheet, by its hash.

import { createHash } from "node:crypto";
import { VERSION } from "../version.ts";
import { html, Markup } from "./markup.ts";
import { STYLE } from "./style.ts";
import { formatTime } from "./words.ts";

/** In the head of each report: only a file that has it is written over without being asked. */
export const GENERATOR = '<meta name="generator" content="bridle report">';

const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");
const POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; img-src data:; base-uri 'none'; form-action 'none'`;

export interface Page {
  readonly title: string;
  /** Below the title. */
  readonly lead: Markup;
  /** Of the sections, by id. */
  readonly contents: readonly { readonly id: string; readonly name: string }[];
  readonly body: readonly Markup[];
}

export function renderPage({ title, lead, contents, body }: Page): string {
  const links = contents.map(({ id, name }) => html`<li><a href="#${id}">${name}</a></li>\n`);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Markup(POLICY)}">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="referrer" content="no-referrer">
${new Markup(GENERATOR)}
<link rel="icon" href="data:,">
<title>${title}</title>
<style>${new Markup(STYLE)}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<h1>${title}</h1>
<p class="lead">${lead}</p>
<nav aria-label="Sections"><ul>
${links}</ul></nav>
</header>
<main id="content" tabindex="-1">
${body}
</main>
<footer>
<p>Made by bridle ${VERSION} at ${formatTime(new Date().toISOString())} from receipts. They hold names, times and verdicts, and the words of denials and failures, redacted; what tools were given and what came of it they do not hold, and it is not here.</p>
</footer>
</body>
</html>
`.text;
}
