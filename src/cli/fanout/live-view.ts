// Redraws lines in place at the foot of a terminal. One write a picture, and none when nothing has changed, so that it does not flicker.

export interface Terminal {
  write(text: string): unknown;
  readonly columns?: number;
  readonly rows?: number;
}

export interface LiveView {
  /** Draws over the last picture. */
  show(lines: readonly string[]): void;
  /** Puts lines above the picture, for good. */
  print(lines: readonly string[]): void;
  /** Takes the picture away. */
  clear(): void;
}

/** Of one. */
const COLOUR = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, "g");
const ERASE_BELOW = "\x1b[J";
const ERASE_REST = "\x1b[K";

export function createLiveView(terminal: Terminal): LiveView {
  let drawn: readonly string[] = [];
  let columns = terminal.columns;
  /** To the first line of the picture. A terminal that was made narrower shows a line of it as several. */
  const home = () => {
    const width = Math.max(1, terminal.columns ?? Number.POSITIVE_INFINITY);
    const height = drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / width)), 0);
    return height === 0 ? "\r" : `\r\x1b[${height}A`;
  };
  const picture = (lines: readonly string[]) => lines.map((line) => `${line}${ERASE_REST}\n`).join("");
  return {
    show(lines) {
      const isResized = columns !== terminal.columns;
      columns = terminal.columns;
      if (!isResized && lines.length === drawn.length && lines.every((line, at) => line === drawn[at]))
        return;
      terminal.write(`${home()}${isResized ? ERASE_BELOW : ""}${picture(lines)}${ERASE_BELOW}`);
      drawn = lines;
    },
    print(lines) {
      if (lines.length === 0) return;
      terminal.write(`${home()}${picture(lines)}${picture(drawn)}${ERASE_BELOW}`);
    },
    clear() {
      if (drawn.length > 0) terminal.write(`${home()}${ERASE_BELOW}`);
      drawn = [];
    },
  };
}

function widthOf(line: string): number {
  return line.replaceAll(COLOUR, "").length;
}
