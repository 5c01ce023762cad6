import type { Severity } from "../../core/events.ts";
import { KnownTexts } from "../jobs/known-texts.ts";
import type { StoredEvent } from "../log/stored-event.ts";
import { ByteReader } from "./byte-reader.ts";
import type { ByteWriter } from "./byte-writer.ts";
import { idOfHex } from "./job-line.ts";
import type { SharedTexts } from "./shared-texts.ts";

/** An event with the severity that its record shows. */
export type EntryEvent = { stored: StoredEvent; severity: Severity };

const noJob = 0;
const uuid = 1;
const anyText = 2;
const isUuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Appends an event: everything of its record that does not follow from its place. Its number does, and the hash before it. What many
 * events say is in texts that they share. Why: ADR 0105.
 */
export function writeEvent(bytes: ByteWriter, texts: SharedTexts, { stored, severity }: EntryEvent): void {
  const { event, tenantId, ownerId, details, origin, jobId, jobSeq, ts } = stored;
  bytes.varint(texts.numberOf(JSON.stringify([event, severity, tenantId, ownerId])));
  bytes.varint(texts.numberOf(details));
  bytes.varint(origin === null ? 0 : texts.numberOf(origin) + 1);
  bytes.varint(jobSeq === null ? 0 : jobSeq + 1);
  bytes.time(ts);
  const form = jobId === null ? noJob : isUuid.test(jobId) ? uuid : anyText;
  bytes.byte(form);
  if (form === uuid) bytes.hex(jobId!.replaceAll("-", ""));
  // As JSON, in which half of a character stays what it is.
  if (form === anyText) bytes.sizedText(JSON.stringify(jobId));
}

/** The event with this number; null if the entry cannot be read. */
export function readEvent(entry: Buffer, texts: readonly string[], seq: number): EntryEvent | null {
  try {
    const bytes = new ByteReader(entry);
    const { event, severity, tenantId, ownerId } = kinds.of(texts[bytes.varint()] ?? "");
    const details = texts[bytes.varint()];
    const originNumber = bytes.varint();
    const origin = originNumber === 0 ? null : texts[originNumber - 1];
    const jobSeq = bytes.varint();
    const ts = bytes.time();
    const jobId = readId(bytes);
    if (details === undefined || origin === undefined || !bytes.isAtEnd) return null;
    const numbers = { seq, jobSeq: jobSeq === 0 ? null : jobSeq - 1, ts };
    return { stored: { ...numbers, event, tenantId, jobId, ownerId, details, origin }, severity };
  } catch {
    // The bytes are not those of an event.
    return null;
  }
}

function readId(bytes: ByteReader): string | null {
  const form = bytes.byte();
  if (form === noJob) return null;
  return form === uuid ? idOfHex(bytes.hex(16)) : (JSON.parse(bytes.sizedText()) as string);
}

type Kind = Pick<StoredEvent, "event" | "tenantId" | "ownerId"> & { severity: Severity };

const kinds = new KnownTexts((text): Kind => {
  const [event, severity, tenantId, ownerId] = JSON.parse(text) as never[];
  return { event: event!, severity: severity!, tenantId: tenantId!, ownerId: ownerId! };
});
