// CSV as RFC 4180 has it: a head, commas, quotes that double, CRLF or LF. Strict: what is not that is told with its line, never guessed.

export interface CsvRow {
  /** Line in which it begins, from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

export class CsvInvalid extends Error {
  override readonly name = "CsvInvalid";
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

/**
 * Every row, the head too; empty lines are none.
 *
 * @throws CsvInvalid at the first place that is no CSV.
 */
export function parseCsv(text: string): CsvRow[] {
  const rows: CsvRow[] = [];
  let at = text.startsWith("\uFEFF") ? 1 : 0;
  let line = 1;
  while (at < text.length) {
    const began = line;
    const cells: string[] = [];
    for (;;) {
      const cell = text[at] === '"' ? readQuoted(text, at, line) : readPlain(text, at, line);
      cells.push(cell.value);
      at = cell.end;
      line = cell.line;
      if (text[at] !== ",") break;
      at += 1;
    }
    if (text[at] === "\r") at += 1;
    if (at < text.length) {
      at += 1; // the newline
      line += 1;
    }
    if (cells.length > 1 || cells[0] !== "") rows.push({ line: began, cells });
  }
  return rows;
}

interface Cell {
  readonly value: string;
  /** Index of the comma, the line's end or the text's behind it. */
  readonly end: number;
  readonly line: number;
}

function readPlain(text: string, start: number, line: number): Cell {
  let end = start;
  while (end < text.length && text[end] !== "," && text[end] !== "\n" && text[end] !== "\r") {
    if (text[end] === '"')
      throw new CsvInvalid(line, "a quote stands in a cell that does not begin with one");
    end += 1;
  }
  refuseLoneReturn(text, end, line);
  return { value: text.slice(start, end), end, line };
}

function readQuoted(text: string, start: number, startLine: number): Cell {
  let value = "";
  let line = startLine;
  for (let at = start + 1; ; at += 1) {
    const char = text[at];
    if (char === undefined) throw new CsvInvalid(startLine, "a quote is not closed");
    if (char === '"' && text[at + 1] === '"') at += 1;
    else if (char === '"') {
      const end = at + 1;
      if (end < text.length && text[end] !== "," && text[end] !== "\n" && text[end] !== "\r")
        throw new CsvInvalid(line, `${JSON.stringify(text[end])} stands behind a closing quote`);
      refuseLoneReturn(text, end, line);
      return { value, end, line };
    }
    if (char === "\n") line += 1;
    value += char;
  }
}

function refuseLoneReturn(text: string, at: number, line: number): void {
  if (text[at] === "\r" && text[at + 1] !== "\n")
    throw new CsvInvalid(line, "a carriage return without a newline behind it");
}
