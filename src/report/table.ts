// Tables of a report, and long ones in parts that are closed until they are wanted, so that a page of many thousand rows stays usable.

import { html, type Markup, type Part } from "./markup.ts";
import { countOf } from "./words.ts";

export interface Column<Row> {
  readonly name: string;
  /** A number, to the right. */
  readonly isNumber?: boolean;
  /** Of words: not to be squeezed. */
  readonly isWide?: boolean;
  readonly cell: (row: Row) => Part;
}

/** Rows that are shown at once; the others follow in parts of as many. */
export const PART_ROWS = 250;

export interface TableOptions<Row> {
  readonly caption: string;
  /** The heading above says it already: for those who cannot see. */
  readonly isHushed?: boolean;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** What a row is, for the parts: `call`. */
  readonly unit: string;
  /** An id of a row, to be linked to. */
  readonly idOf?: (row: Row, index: number) => string | undefined;
}

/** Each table can be scrolled with the keyboard when it is too wide. */
export function renderTable<Row>(options: TableOptions<Row>): Markup {
  const { rows, unit } = options;
  if (rows.length <= PART_ROWS) return renderPart(options, 0, rows.length);
  const parts: Markup[] = [];
  for (let from = PART_ROWS; from < rows.length; from += PART_ROWS) {
    const to = Math.min(rows.length, from + PART_ROWS);
    parts.push(
      html`<details><summary>${countOf(to - from, unit)}, ${from + 1} to ${to}</summary>${renderPart(options, from, to)}</details>\n`,
    );
  }
  return html`${renderPart(options, 0, PART_ROWS)}\n${parts}`;
}

function renderPart<Row>(
  { caption, isHushed = false, columns, rows, idOf }: TableOptions<Row>,
  from: number,
  to: number,
): Markup {
  const isAll = from === 0 && to === rows.length;
  const name = isAll ? caption : `${caption}, ${from + 1} to ${to} of ${rows.length}`;
  const head = columns.map(
    (column) =>
      html`<th scope="col"${column.isNumber === true ? html` class="n"` : undefined}>${column.name}</th>`,
  );
  const body = rows.slice(from, to).map((row, index) => {
    const id = idOf?.(row, from + index);
    return html`<tr${id === undefined ? undefined : html` id="${id}"`}>${columns.map((column, at) => renderCell(column, row, at))}</tr>\n`;
  });
  return html`<div class="scroll" role="region" aria-label="${name}" tabindex="0"><table><caption${isHushed && isAll ? html` class="hush"` : undefined}>${name}</caption>
<thead><tr>${head}</tr></thead>
<tbody>
${body}</tbody></table></div>`;
}

function renderCell<Row>({ cell, isNumber, isWide }: Column<Row>, row: Row, at: number): Markup {
  if (at === 0)
    return html`<th scope="row"${isNumber === true ? html` class="n"` : undefined}>${cell(row)}</th>`;
  const kind = isNumber === true ? html` class="n"` : isWide === true ? html` class="wide"` : undefined;
  return html`<td${kind}>${cell(row)}</td>`;
}
