import { protocol } from "../sandbox/launcher/launcher-protocol.ts";
import { Masker } from "../sandbox/plain/masker.ts";
import { maskMessage, maskOutcome } from "./mask-outcome.ts";
import { RunFailure, type RunOutcome } from "./runner.ts";
import { secretForms } from "./secret-forms.ts";

/**
 * The secrets of one attempt. A part of the worker adds a secret here before it passes it to the job; then every report
 * to the hub about the attempt is masked, from every part of the worker. Only the output of a process is masked
 * elsewhere, where it is written. Why: ADR 0034.
 */
export class AttemptSecrets {
  #masks: readonly string[] = [];

  /** The texts to mask for these values, which are given by name. From now on they are masked in all reports. */
  add(secrets: Readonly<Record<string, string>>): readonly string[] {
    const masks = secretForms(Object.values(secrets));
    if (masks.length === 0) return masks;
    const bytes = masks.reduce((sum, mask) => sum + Buffer.byteLength(mask), 0);
    if (bytes > protocol.MASK_BYTES_MAX) {
      const reason = `the secrets ${Object.keys(secrets).join(", ")} are too long to be masked in the output`;
      throw new RunFailure("INVALID_JOB", undefined, reason);
    }
    this.#masks = [...new Set([...this.#masks, ...masks])];
    return masks;
  }

  get isEmpty(): boolean {
    return this.#masks.length === 0;
  }

  maskOutcome(outcome: RunOutcome): RunOutcome {
    return maskOutcome(outcome, this.#masks);
  }

  maskMessage(text: string): string {
    return maskMessage(text, this.#masks);
  }

  /** For text that arrives in pieces. */
  newMasker(): Masker {
    return new Masker(this.#masks);
  }
}
