// Text into HTML. Everything that is put into a template is escaped unless it is markup already: what a model, a guard or a file name says can
// neither become an element nor hide what it is.

/** Made by `html` alone. */
export class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Part = Markup | string | number | undefined | readonly Part[];

/**
 * Control characters, marks of direction and width, tags and lone surrogates: what a reader would not see, or would see in another order. Line
 * breaks and tabs too; a value is shown on one line.
 */
const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu;

/** With each unseen character as its number: `\u202e`. */
export function showUnseen(text: string): string {
  return text.replace(UNSEEN, (character) => {
    const code = character.codePointAt(0) as number;
    return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** For the text of an element and for an attribute in quotes. */
export function escapeText(text: string): string {
  return showUnseen(text).replace(/[&<>"']/g, (character) => ENTITIES[character] as string);
}

/** A template of HTML or SVG. Nothing of `undefined`. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  let text = strings[0] as string;
  for (const [index, part] of parts.entries()) text += toText(part) + (strings[index + 1] as string);
  return new Markup(text);
}

function toText(part: Part): string {
  if (part === undefined) return "";
  if (part instanceof Markup) return part.text;
  if (typeof part === "number") return String(part);
  return typeof part === "string" ? escapeText(part) : part.map(toText).join("");
}
