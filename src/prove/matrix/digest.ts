// The digest of a matrix, without reading what it says.

import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The matrix this build ships. */
export const MATRIX_FOLDER = fileURLToPath(new URL("../../../conformance/matrix/", import.meta.url));

/** sha256 over name and content of every file of the folder: another matrix, another proof. */
export async function matrixDigest(folder = MATRIX_FOLDER): Promise<string> {
  const hash = createHash("sha256");
  for (const name of (await readdir(folder)).sort()) {
    const content = await readFile(join(folder, name));
    hash.update(`${name}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}
