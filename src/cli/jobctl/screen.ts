import type { ReadStream } from "node:tty";
import type { CliContext } from "../context.ts";

const ENTER = "\x1b[?1049h\x1b[?25l";
const LEAVE = "\x1b[?25h\x1b[?1049l";
const COLUMNS_WHEN_UNKNOWN = 80;
const ROWS_WHEN_UNKNOWN = 24;
const CTRL_C = "\x03";

/**
 * The terminal's second screen, for as long as it is open; what was there before comes back at the end. The lines
 * that it draws are harmless already: whoever makes them has seen to that.
 */
export class Screen {
  readonly #context: CliContext;
  readonly #leaving = new AbortController();
  #shown = "";
  #onResize = (): void => {};
  readonly #onKey = (key: Buffer | string): void => {
    if (/^(?:q|Q)$/.test(key.toString()) || key.toString().includes(CTRL_C)) this.#leaving.abort();
  };

  constructor(context: CliContext) {
    this.#context = context;
  }

  /** Aborted when the person has pressed q or Ctrl-C. */
  get left(): AbortSignal {
    return this.#leaving.signal;
  }

  open(onResize: () => void): void {
    const { stdout } = this.#context;
    stdout.write(ENTER);
    this.#onResize = () => {
      this.#shown = "";
      onResize();
    };
    stdout.on("resize", this.#onResize);
    this.#listen(true);
  }

  /** Writes the lines over the old ones; nothing at all when they are the same. */
  draw(lines: readonly string[]): void {
    const { stdout } = this.#context;
    // A terminal that was not told its size says zero.
    const columns = stdout.columns || COLUMNS_WHEN_UNKNOWN;
    const rows = stdout.rows || ROWS_WHEN_UNKNOWN;
    const fitting = lines.slice(0, Math.max(1, rows - 1)).map((line) => cut(line, columns));
    const text = `\x1b[H${fitting.map((line) => `${line}\x1b[K\n`).join("")}\x1b[J`;
    if (text === this.#shown) return;
    this.#shown = text;
    stdout.write(text);
  }

  close(): void {
    this.#listen(false);
    this.#context.stdout.off("resize", this.#onResize);
    this.#context.stdout.write(LEAVE);
  }

  /** In raw mode keys come at once and unseen, and Ctrl-C is a key like any other. */
  #listen(isOn: boolean): void {
    const stdin = this.#context.stdin as Partial<ReadStream>;
    if (stdin.isTTY !== true) return;
    stdin.setRawMode?.(isOn);
    if (isOn) stdin.on?.("data", this.#onKey).resume();
    else stdin.off?.("data", this.#onKey).pause();
  }
}

// A letter, or a colour: colours take no room on the screen.
const PIECE = /\x1b\[[0-9;]*m|./gu;

/** What fits into one line of the terminal. A colour that was begun is also ended. */
export function cut(line: string, columns: number): string {
  let width = 0;
  let kept = "";
  for (const [piece] of line.matchAll(PIECE)) {
    const isColour = piece.startsWith("\x1b");
    if (!isColour && ++width > columns) return `${kept}\x1b[0m`;
    kept += piece;
  }
  return kept;
}
