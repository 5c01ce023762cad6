import type { OutboxMessage } from "../../store/response-store.ts";

/** A way to reach a person or a program outside. `send` rejects with a SendError when it did not work. */
export type Channel = {
  name: "telegram" | "smtp" | "webhook";
  send(message: OutboxMessage, signal: AbortSignal): Promise<void>;
};

/** Its message names no address and no secret: it goes into the log. */
export class SendError extends Error {
  /** The other side asked for this much patience. */
  readonly retryAfterMs: number | null;

  constructor(message: string, retryAfterMs: number | null = null) {
    super(message);
    this.name = "SendError";
    this.retryAfterMs = retryAfterMs;
  }
}

/** The code of a failed connection says enough; the whole error may hold the address, and with it a secret. */
export function withoutAddress(channel: string, error: unknown): SendError {
  if (error instanceof SendError) return error;
  const code = codeOf(error) ?? codeOf((error as Error | undefined)?.cause);
  const name = error instanceof Error ? error.name : "Error";
  return new SendError(`${channel} cannot be reached: ${code ?? name}`);
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && "code" in error ? String(error.code) : null;
}
