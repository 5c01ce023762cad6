import type { ReadStream } from "node:tty";
import type { CliContext } from "../../context.ts";
import { letterWidth } from "../../terminal/text-width.ts";

const enterScreen = "\x1b[?1049h\x1b[?25l";
const leaveScreen = "\x1b[?25h\x1b[?1049l";
const columnsWhenUnknown = 80;
const rowsWhenUnknown = 24;
const ctrlC = "\x03";

/**
 * The terminal's alternate screen. Closing it restores what was shown before. Callers make the lines safe for the
 * terminal before they draw them.
 */
export class Screen {
  readonly #context: CliContext;
  readonly #leaving = new AbortController();
  #shown = "";
  #onResize = (): void => {};
  readonly #onKey = (key: Buffer | string): void => {
    if (/^(?:q|Q)$/.test(key.toString()) || key.toString().includes(ctrlC)) this.#leaving.abort();
  };

  constructor(context: CliContext) {
    this.#context = context;
  }

  /** Aborted when q or Ctrl-C is pressed. */
  get left(): AbortSignal {
    return this.#leaving.signal;
  }

  open(onResize: () => void): void {
    const { stdout } = this.#context;
    stdout.write(enterScreen);
    this.#onResize = () => {
      this.#shown = "";
      onResize();
    };
    stdout.on("resize", this.#onResize);
    this.#listen(true);
  }

  /** Replaces the lines on the screen; writes nothing when they are the same. */
  draw(lines: readonly string[]): void {
    const { stdout } = this.#context;
    // A terminal that does not know its size reports zero.
    const columns = stdout.columns || columnsWhenUnknown;
    const rows = stdout.rows || rowsWhenUnknown;
    const fitting = lines.slice(0, Math.max(1, rows - 1)).map((line) => cut(line, columns));
    const text = `\x1b[H${fitting.map((line) => `${line}\x1b[K\n`).join("")}\x1b[J`;
    if (text === this.#shown) return;
    this.#shown = text;
    stdout.write(text);
  }

  close(): void {
    this.#listen(false);
    this.#context.stdout.off("resize", this.#onResize);
    this.#context.stdout.write(leaveScreen);
  }

  /** In raw mode, keys arrive at once and without echo, and Ctrl-C is an ordinary key. */
  #listen(isOn: boolean): void {
    const stdin = this.#context.stdin as Partial<ReadStream>;
    if (stdin.isTTY !== true) return;
    stdin.setRawMode?.(isOn);
    if (isOn) stdin.on?.("data", this.#onKey).resume();
    else stdin.off?.("data", this.#onKey).pause();
  }
}

// A character, or a colour code, which takes no room on the screen.
const anyPiece = /\x1b\[[0-9;]*m|./gu;

/** Cuts a line to the width of the terminal and resets the colour where it cuts. */
export function cut(line: string, columns: number): string {
  let width = 0;
  let kept = "";
  for (const [piece] of line.matchAll(anyPiece)) {
    const isColour = piece.startsWith("\x1b");
    if (!isColour) width += letterWidth(piece);
    if (width > columns) return `${kept}\x1b[0m`;
    kept += piece;
  }
  return kept;
}
