import { formatBytes } from "../../core/text/format-bytes.ts";
import { systemClock } from "../../runtime/clock/clock.ts";
import type { CliContext } from "../context.ts";
import { neutraliseLine } from "./terminal.ts";
import { cutText, padText } from "./text-width.ts";

/** An act that ends sooner needs no bar. */
const quietMs = 300;
const drawMs = 100;
/** How often a file or a log, which keep every line, get one. */
const lineMs = 30_000;
const barChars = 20;
const columnsWhenUnknown = 80;

type Bar = { what: string; total: number; unit?: "bytes" | "rows" | "jobs" };

/**
 * Shows how far a file, or something else that can be counted, has come: one line on the terminal, which changes, or a
 * line every half minute if stderr is not a terminal.
 */
export class ProgressBar {
  readonly #context: CliContext;
  readonly #what: string;
  readonly #total: number;
  readonly #format: (amount: number) => string;
  #startedMs: number | undefined;
  #drawnMs: number | undefined;

  constructor(context: CliContext, { what, total, unit = "bytes" }: Bar) {
    this.#context = context;
    this.#what = neutraliseLine(what);
    this.#total = total;
    this.#format = unit === "bytes" ? formatBytes : (amount) => `${Math.round(amount)} ${unit}`;
  }

  show(amount: number): void {
    const { stderr } = this.#context;
    const nowMs = systemClock.monotonicMs();
    this.#startedMs ??= nowMs;
    const sinceMs = nowMs - this.#startedMs;
    const stepMs = stderr.isTTY ? drawMs : lineMs;
    if (sinceMs < quietMs || nowMs - (this.#drawnMs ?? this.#startedMs) < stepMs) return;
    this.#drawnMs = nowMs;
    const part = this.#total === 0 ? 1 : Math.min(1, amount / this.#total);
    const percent = `${Math.floor(part * 100)} %`.padStart(5);
    const rate = `${this.#format((amount / sinceMs) * 1000)}/s`;
    const facts = `${percent}  ${this.#format(amount)} of ${this.#format(this.#total)}  ${rate}`;
    stderr.write(stderr.isTTY ? this.#bar(part, facts) : `${this.#what}  ${facts}\n`);
  }

  #bar(part: number, facts: string): string {
    const full = Math.round(part * barChars);
    const bar = `  [${"#".repeat(full)}${".".repeat(barChars - full)}] ${facts}`;
    const room = Math.max(10, (this.#context.stderr.columns || columnsWhenUnknown) - bar.length - 1);
    return `\r\x1b[K${padText(cutText(this.#what, room), Math.min(room, this.#what.length))}${bar}`;
  }

  /** Removes the line. */
  end(): void {
    if (this.#drawnMs !== undefined && this.#context.stderr.isTTY) this.#context.stderr.write("\r\x1b[K");
    this.#drawnMs = undefined;
  }
}
