import { cutMark } from "../core/text/cut-text.ts";
import { Decimal, type JsonValue } from "../core/text/json-value.ts";
import { Masker, maskText } from "../sandbox/plain/masker.ts";
import { canonicalize } from "../signing/canonical.ts";
import { parseJson } from "../signing/parse-json.ts";
import type { RunOutcome } from "./runner.ts";

/** Masks the report of an attempt apart from its output: the result, and the reason of a failure. Why: ADR 0034. */
export function maskOutcome(outcome: RunOutcome, masks: readonly string[]): RunOutcome {
  if (masks.length === 0) return outcome;
  if (outcome.kind === "succeeded") return { ...outcome, resultJson: maskJson(outcome.resultJson, masks) };
  const masked = { ...outcome, reason: maskMessage(outcome.reason, masks) };
  if (masked.kind === "released") return masked;
  const { ownCode, partialResultJson } = masked;
  return {
    ...masked,
    ...(ownCode === undefined ? {} : { ownCode: maskText(ownCode, masks) }),
    ...(partialResultJson === undefined ? {} : { partialResultJson: maskJson(partialResultJson, masks) }),
  };
}

/** Masks a sentence of the worker's own, in which it may have cut off what it quotes: also the beginning of a secret. */
export function maskMessage(text: string, masks: readonly string[]): string {
  if (masks.length === 0) return text;
  const pieces = maskText(text, masks).split(cutMark);
  const last = pieces.pop()!;
  const cut = pieces.map((piece) => {
    const masker = new Masker(masks);
    return Buffer.concat([masker.push(Buffer.from(piece)), masker.endMasked()]).toString();
  });
  return [...cut, last].join(cutMark);
}

/**
 * Text without a secret stays as it was written. Strings are compared after decoding, because JSON has many spellings.
 */
function maskJson(json: string, masks: readonly string[]): string {
  const value = parseJson(json);
  const before = canonicalize(value);
  const after = canonicalize(maskValue(value, masks));
  return after === before ? json : after;
}

function maskValue(value: JsonValue, masks: readonly string[]): JsonValue {
  if (typeof value === "string") return maskText(value, masks);
  if (typeof value === "number" || value instanceof Decimal) {
    const text = canonicalize(value);
    const masked = maskText(text, masks);
    return masked === text ? value : masked;
  }
  if (Array.isArray(value)) return value.map((member) => maskValue(member, masks));
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).map(([key, member]) => [
    maskText(key, masks),
    maskValue(member, masks),
  ]);
  return Object.fromEntries(entries);
}
