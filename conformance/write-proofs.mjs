// Proves the pinned CLIs with the whole matrix and writes what came out: proofs/*.json and docs/COMPAT.md. `--compat`: the page alone,
// from the proofs that are there.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseProof, proveProvider } from "../dist/index.js";
import { renderCompat } from "../dist/prove/compat.js";

const root = join(import.meta.dirname, "..");
const proofs = join(root, "proofs");
const packages = join(import.meta.dirname, "node_modules");
const key = `${process.platform}-${process.arch}`;
const claude = join("@anthropic-ai", `claude-code-${key}`, "claude");
const triples = { "linux-x64": "x86_64-unknown-linux-musl", "linux-arm64": "aarch64-unknown-linux-musl" };
const BINARIES = [
  ["claude", join(packages, claude)],
  ["claude", join(packages, "claude-2-1-197", "node_modules", claude)],
  ["codex", join(packages, "@openai", `codex-${key}`, "vendor", triples[key], "bin", "codex")],
];

if (!process.argv.includes("--compat")) {
  mkdirSync(proofs, { recursive: true });
  const proofDir = join(tmpdir(), `bridle-proofs-${process.pid}`);
  for (const [provider, binary] of BINARIES) {
    const { proof } = await proveProvider({ provider, binary, set: "all", proofDir });
    const name = `${provider}-${proof.version}-${proof.platform}.json`;
    writeFileSync(join(proofs, name), `${JSON.stringify(proof, null, 1)}\n`);
    const broken = proof.cases.filter(({ required, verdict }) => required && verdict !== "holds");
    console.log(
      `${name}: ${proof.cases.length} cases in ${Math.round(proof.durationMs / 1000)} s, ${broken.length} required ones do not hold`,
    );
    for (const { id, column, verdict, observed } of broken)
      console.log(`  ${verdict} ${id} (${column}): ${observed}`);
  }
  rmSync(proofDir, { recursive: true, force: true });
}
const all = readdirSync(proofs)
  .filter((name) => name.endsWith(".json"))
  .map((name) => parseProof(readFileSync(join(proofs, name), "utf8")));
const unreadable = all.filter((proof) => typeof proof === "string");
if (unreadable.length > 0) throw new Error(unreadable.join("; "));
writeFileSync(join(root, "docs", "COMPAT.md"), renderCompat(all));
