import { WritError } from "../../core/errors.ts";

/** Returns null for whatever an untrusted text may cause. */
export function attempt<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    return nullIfRefused(error);
  }
}

export function nullIfRefused(error: unknown): null {
  if (error instanceof WritError || error instanceof TypeError) return null;
  throw error;
}
