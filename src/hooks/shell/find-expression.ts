// Which files an expression of `find` leaves alone: a test narrows what stands behind it in the same branch, and no other branch. Pure.

export interface FindExpression {
  readonly roots: readonly string[];
  /** Files are removed that no test has picked. */
  readonly removesUntested: boolean;
  readonly removes: boolean;
  /** Whatever it prints, a test has picked. */
  readonly printsTested: boolean;
  /** Each command behind `-exec` and its like, with whether a test has picked the files. */
  readonly execs: readonly { readonly words: readonly string[]; readonly isTested: boolean }[];
}

const ONE_VALUE =
  /^-(?:i?name|i?path|i?wholename|i?regex|i?lname|newer\w*|anewer|cnewer|[acm]time|[acm]min|size|user|group|uid|gid|inum|links|samefile|perm|type|xtype|fstype|used|maxdepth|mindepth|regextype|printf|fprint0?|fls|context|files0-from)$/;
const PRINTS = /^-(?:print0?|printf|ls|fls|fprint0?|fprintf)$/;

/** Groups in groups that are followed. */
const DEPTH_MAX = 100;

/** `isRemover`: of the words of a command, whether it removes what it is given. */
export function readFind(
  args: readonly string[],
  isRemover: (words: readonly string[]) => boolean,
): FindExpression {
  const first = args.findIndex((arg) => /^(?:-(?![HLPDO])|[(!,]$)/.test(arg));
  const end = first === -1 ? args.length : first;
  const roots = args.slice(0, end).filter((arg) => !arg.startsWith("-"));
  const words = args.slice(end);
  const seen = { removes: false, removesUntested: false, prints: false, printsUntested: false };
  const execs: { words: readonly string[]; isTested: boolean }[] = [];
  let at = 0;

  const remove = (isTested: boolean) => {
    seen.removes = true;
    if (!isTested) seen.removesUntested = true;
  };

  /** Up to a `)` or the end. True when every branch tests. */
  const readAlternatives = (isTestedBefore: boolean, depth: number): boolean => {
    if (depth > DEPTH_MAX) {
      remove(false); // nobody writes so: the worst is taken
      at = words.length;
      return false;
    }
    let isEvery = true;
    for (;;) {
      if (!readBranch(isTestedBefore, depth)) isEvery = false;
      const mark = words[at];
      if (mark === "-o" || mark === "-or") at += 1;
      else if (mark === ",") {
        at += 1;
        isEvery = true; // what the last list says is what counts for the group
      } else return isEvery || isTestedBefore;
    }
  };

  /** Up to `-o`, `,`, `)` or the end. */
  const readBranch = (isTestedBefore: boolean, depth: number): boolean => {
    let isTested = isTestedBefore;
    let isNegated = false;
    for (let word = words[at]; word !== undefined; word = words[at]) {
      if (word === ")" || word === "," || word === "-o" || word === "-or") break;
      at += 1;
      if (word === "-a" || word === "-and") continue;
      if (word === "!" || word === "-not") {
        isNegated = !isNegated;
        continue;
      }
      if (word === "(") {
        const isGroupTested = readAlternatives(isTested, depth + 1);
        if (words[at] === ")") at += 1;
        if (isGroupTested && !isNegated) isTested = true;
      } else if (word === "-delete") remove(isTested);
      else if (/^-(?:exec|ok)(?:dir)?$/.test(word)) {
        const start = at;
        while (at < words.length && words[at] !== ";" && words[at] !== "+") at += 1;
        const command = words.slice(start, at);
        at += 1;
        execs.push({ words: command, isTested });
        if (isRemover(command)) remove(isTested);
      } else {
        if (PRINTS.test(word)) {
          seen.prints = true;
          if (!isTested) seen.printsUntested = true;
        }
        const value = ONE_VALUE.test(word) ? (words[at++] ?? "") : "";
        if (!isNegated && narrows(word, value)) isTested = true;
      }
      isNegated = false;
    }
    return isTested;
  };

  let isTested = true;
  while (at < words.length) {
    if (words[at] === ")") at += 1;
    else isTested = readAlternatives(false, 0) && isTested;
  }
  if (words.length === 0) isTested = false;
  return {
    roots: roots.length === 0 ? ["."] : roots,
    removes: seen.removes,
    removesUntested: seen.removesUntested,
    printsTested: seen.prints ? !seen.printsUntested : isTested,
    execs,
  };
}

/** A test that leaves most files alone. */
function narrows(test: string, value: string): boolean {
  if (test === "-empty" || test === "-inum" || test === "-samefile") return true;
  if (/^-[acm](?:time|min)$/.test(test)) return /[1-9]/.test(value);
  if (test === "-size") return /^[+-]?[1-9]/.test(value);
  return /^-i?(?:name|path|wholename|regex|lname)$/.test(test) && !/^[.*?/\ue000\ue001]*$/.test(value);
}
