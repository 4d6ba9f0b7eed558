// Reads the matrix: every YAML file of conformance/matrix/, checked, with the digest that proofs are bound to.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import type { Provider } from "../../profile/events.ts";
import { MATRIX_FOLDER, matrixDigest } from "./digest.ts";
import {
  CALLBACK_COLUMN,
  COLUMN_NAMES,
  type ColumnName,
  caseSchema,
  type MatrixCase,
  type MatrixCaseSource,
} from "./schema.ts";

export interface Matrix {
  /** In the order of the files and within them. One entry a case and column. */
  readonly cases: readonly MatrixCase[];
  readonly digest: string;
  readonly folder: string;
}

/** Throws an Error that names file, case and problem. */
export async function loadMatrix(folder = MATRIX_FOLDER): Promise<Matrix> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".yaml")).sort();
  const sources: MatrixCaseSource[] = [];
  for (const name of names) {
    const content = await readFile(join(folder, name), "utf8");
    for (const source of parseCases(content, name)) {
      if (sources.some(({ id }) => id === source.id))
        throw new Error(`${name}: case ${source.id} exists twice`);
      sources.push(source);
    }
  }
  const cases = sources.flatMap((source) => columnsFor(source).map((column) => forColumn(source, column)));
  checkReferences(cases);
  return { cases, digest: await matrixDigest(folder), folder };
}

/** What claude does through Bridle it must do however it asks. */
function columnsFor({ columns, on, via = "bridle" }: MatrixCaseSource): ColumnName[] {
  const isThroughBridle = (on?.claude?.via ?? via) === "bridle";
  return columns.flatMap((column) =>
    column === "claude" && isThroughBridle ? [column, CALLBACK_COLUMN] : [column],
  );
}

export function columnsOf(provider: Provider): ColumnName[] {
  return COLUMN_NAMES.filter((column) => column.startsWith(provider));
}

function parseCases(content: string, name: string): MatrixCaseSource[] {
  const list: unknown = parse(content, { merge: true, maxAliasCount: 1000 });
  if (!Array.isArray(list)) throw new Error(`${name}: expected a list of cases`);
  return list.map((item, index) => {
    const { data, error } = caseSchema.safeParse(item);
    if (data !== undefined) return data;
    const which = typeof item?.id === "string" ? item.id : `case ${index}`;
    const problems = error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
    throw new Error(`${name}: ${which}: ${problems.join("; ")}`);
  });
}

function forColumn({ on, columns: _columns, ...source }: MatrixCaseSource, column: ColumnName): MatrixCase {
  const ofClaude = column === CALLBACK_COLUMN ? on?.claude : undefined;
  const merged = { ...source, ...ofClaude, ...on?.[column] };
  const { expect = {}, via = "bridle", required = true } = merged;
  if (via === "handler" && merged.shim === undefined)
    throw new Error(`case ${source.id}: via handler needs a shim`);
  if (via === "callback" && (merged.answers === undefined || column !== CALLBACK_COLUMN))
    throw new Error(`case ${source.id}: via callback needs answers, and the column ${CALLBACK_COLUMN} alone`);
  if (!required && merged.because === undefined)
    throw new Error(`case ${source.id}: not required on ${column} needs a because`);
  return { ...merged, column, expect, via, required };
}

function checkReferences(cases: readonly MatrixCase[]): void {
  for (const { id, downgrade, column } of cases) {
    for (const other of downgrade?.proven_by ?? []) {
      if (!cases.some((it) => it.id === other && it.column === column))
        throw new Error(`case ${id}: proven_by names ${other}, which has no column ${column}`);
    }
  }
}
