// docs/COMPAT.md from proofs: which version of which CLI holds which case. Pure.

import type { Proof, ProvenCase } from "./proof.ts";

const CELLS: Readonly<Record<ProvenCase["verdict"], string>> = {
  holds: "yes",
  refused: "refused",
  fails: "**no**",
  unclear: "unclear",
};

/** The whole file. Proofs of one provider and platform become the columns of one table. */
export function renderCompat(proofs: readonly Proof[]): string {
  const providers = [...new Set(proofs.map(({ provider }) => provider))].sort();
  const lines = [
    "# What each version enforces",
    "",
    "Generated from the proofs in `proofs/` by `npm run proofs`; a test keeps the two equal. Nothing here is written by hand.",
    "",
    "`yes`: seen to hold. `refused`: Bridle refuses the run, so nothing happens: loudly absent. **no**: seen not to hold.",
    "`gap`: seen not to hold, known, and not required; the notes below each table say what Bridle does about it.",
    "",
    ...providers.flatMap((provider) => renderProvider(proofs.filter((proof) => proof.provider === provider))),
  ];
  return `${lines.join("\n").trimEnd()}\n`;
}

function renderProvider(proofs: readonly Proof[]): string[] {
  const sorted = [...proofs].sort((a, b) => compareVersions(a.version, b.version));
  const [first] = sorted;
  if (first === undefined) return [];
  const heads = sorted.map(({ version, platform }) => `${version} ${platform}`);
  const rows = rowsOf(sorted);
  const notes = rows.flatMap(({ item }) =>
    item.because === undefined ? [] : [`- \`${item.id}\` (${item.column}): ${item.because}`],
  );
  return [
    `## ${first.provider}`,
    "",
    ...sorted.map(summarise),
    "",
    `| Case | Shows | Rule | ${heads.join(" | ")} |`,
    `|---|---|---|${heads.map(() => "---|").join("")}`,
    ...rows.map(
      ({ item, cells }) =>
        `| \`${item.id}\`${item.column === first.provider ? "" : ` (${item.column.slice(first.provider.length + 1)})`}${item.core ? " ●" : ""} | ${escapeCell(item.title)} | ${item.rule.join(", ")} | ${cells.join(" | ")} |`,
    ),
    "",
    "● belongs to the core: what a blocking hook relies on.",
    "",
    ...(notes.length > 0 ? [...new Set(notes), ""] : []),
  ];
}

function rowsOf(proofs: readonly Proof[]): { item: ProvenCase; cells: string[] }[] {
  const keyOf = ({ id, column }: ProvenCase) => `${id} ${column}`;
  const items = new Map(proofs.flatMap(({ cases }) => cases).map((item) => [keyOf(item), item]));
  return [...items].map(([key, item]) => ({
    item,
    cells: proofs.map(({ cases }) => {
      const found = cases.find((it) => keyOf(it) === key);
      if (found === undefined) return "-";
      return found.verdict === "fails" && !found.required ? "gap" : CELLS[found.verdict];
    }),
  }));
}

function summarise({ provider, version, platform, cases, binary, network }: Proof): string {
  const required = cases.filter((item) => item.required);
  const holding = required.filter(({ verdict }) => verdict === "holds").length;
  return `- ${provider} ${version} on ${platform} (sha256 \`${binary.sha256.slice(0, 16)}…\`, network ${network}): ${holding} of ${required.length} required cases hold.`;
}

/** Newest first. */
function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split(/[.+-]/).map(Number)) as [number[], number[]];
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const difference = (right[index] ?? 0) - (left[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function escapeCell(text: string): string {
  return text.replaceAll("|", "\\|");
}
