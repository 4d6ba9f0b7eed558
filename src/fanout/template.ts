// Prompts with `{{field}}` in them. Pure. A field that is not there is told, never left out.

const FIELD = /\{\{\s*([A-Za-z_][\w.-]*)\s*\}\}/g;

/** The fields that a template uses, once each. */
export function namesIn(template: string): string[] {
  return [...new Set([...template.matchAll(FIELD)].map(([, name = ""]) => name))];
}

export interface FilledTemplate {
  readonly text: string;
  /** Fields that have no value that can stand in a text; `value` is what they have. */
  readonly missing: readonly { readonly name: string; readonly value: unknown }[];
}

/** What a value holds is not looked into again. */
export function fillTemplate(template: string, fields: Readonly<Record<string, unknown>>): FilledTemplate {
  const missing = namesIn(template)
    .map((name) => ({ name, value: Object.hasOwn(fields, name) ? fields[name] : undefined }))
    .filter(({ value }) => !["string", "number", "boolean"].includes(typeof value));
  const text = template.replaceAll(FIELD, (_whole, name: string) => String(fields[name]));
  return { text, missing };
}
