import type { OutboxMessage } from "../../store/response-store.ts";

/** A way to send messages to a person or a program. `send` rejects with a SendError if it fails. */
export type Channel = {
  name: "telegram" | "smtp" | "webhook";
  send(message: OutboxMessage, signal: AbortSignal): Promise<void>;
};

const sendMsMax = 30_000;

/** Null if the message was sent. */
export async function trySend(
  channel: Channel,
  message: OutboxMessage,
  stopping: AbortSignal,
): Promise<SendError | null> {
  try {
    await channel.send(message, AbortSignal.any([stopping, AbortSignal.timeout(sendMsMax)]));
    return null;
  } catch (error) {
    return withoutAddress(channel.name, error);
  }
}

/** Its message contains no address and no secret, because it is logged. */
export class SendError extends Error {
  /** How long the receiver asked the hub to wait. */
  readonly retryAfterMs: number | null;

  constructor(message: string, retryAfterMs: number | null = null) {
    super(message);
    this.name = "SendError";
    this.retryAfterMs = retryAfterMs;
  }
}

/** The code of a failed connection is enough; the whole error may contain the address, and with it a secret. */
export function withoutAddress(channel: string, error: unknown): SendError {
  if (error instanceof SendError) return error;
  const code = codeOf(error) ?? codeOf((error as Error | undefined)?.cause);
  const name = error instanceof Error ? error.name : "Error";
  return new SendError(`${channel} cannot be reached (${code ?? name})`);
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && "code" in error ? String(error.code) : null;
}
