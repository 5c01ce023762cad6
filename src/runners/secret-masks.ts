import { protocol } from "../sandbox/launcher-protocol.ts";
import { RunFailure } from "./runner.ts";
import { secretForms } from "./secret-forms.ts";

/** The texts to mask for these secrets, by name. */
export function secretMasks(secrets: Readonly<Record<string, string>>): string[] {
  const masks = secretForms(Object.values(secrets));
  const bytes = masks.reduce((sum, mask) => sum + Buffer.byteLength(mask), 0);
  if (bytes <= protocol.MASK_BYTES_MAX) return masks;
  const reason = `the secrets ${Object.keys(secrets).join(", ")} are too long to be masked in the output`;
  throw new RunFailure("INVALID_JOB", undefined, reason);
}
