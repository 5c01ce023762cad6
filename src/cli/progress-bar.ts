import { formatBytes } from "../core/format-bytes.ts";
import { systemClock } from "../runtime/clock.ts";
import type { CliContext } from "./context.ts";
import { neutraliseLine } from "./terminal.ts";
import { cutText, padText } from "./text-width.ts";

/** What is over sooner needs no bar. */
const quietMs = 300;
const drawMs = 100;
const barChars = 20;
const columnsWhenUnknown = 80;

/** One line on the terminal that shows how far a file has come. Nothing is written when stderr is no terminal. */
export class ProgressBar {
  readonly #context: CliContext;
  readonly #what: string;
  readonly #total: number;
  #startedMs: number | undefined;
  #drawnMs = 0;

  constructor(context: CliContext, { what, total }: { what: string; total: number }) {
    this.#context = context;
    this.#what = neutraliseLine(what);
    this.#total = total;
  }

  show(bytes: number): void {
    const { stderr } = this.#context;
    const nowMs = systemClock.monotonicMs();
    this.#startedMs ??= nowMs;
    const sinceMs = nowMs - this.#startedMs;
    if (!stderr.isTTY || sinceMs < quietMs || nowMs - this.#drawnMs < drawMs) return;
    this.#drawnMs = nowMs;
    const part = this.#total === 0 ? 1 : Math.min(1, bytes / this.#total);
    const full = Math.round(part * barChars);
    const bar = `[${"#".repeat(full)}${".".repeat(barChars - full)}]`;
    const percent = `${Math.floor(part * 100)} %`.padStart(5);
    const rate = `${formatBytes((bytes / sinceMs) * 1000)}/s`;
    const facts = `  ${bar} ${percent}  ${formatBytes(bytes)} of ${formatBytes(this.#total)}  ${rate}`;
    const room = Math.max(10, (stderr.columns || columnsWhenUnknown) - facts.length - 1);
    stderr.write(`\r\x1b[K${padText(cutText(this.#what, room), Math.min(room, this.#what.length))}${facts}`);
  }

  /** Removes the line. */
  end(): void {
    if (this.#drawnMs > 0) this.#context.stderr.write("\r\x1b[K");
    this.#drawnMs = 0;
  }
}
