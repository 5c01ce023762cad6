const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * A job id as the hub accepts it: a UUID of version 4 or 7, in lower case only, because a second spelling of an id would be a
 * second place for the same job.
 */
export function isJobId(text: string): boolean {
  return uuidPattern.test(text);
}

/** Where new ids and secrets come from; tests and simulations provide their own. */
export type Ids = {
  jobId(nowMs: number): string;
  /** A secret of 256 random bits, as base64url. */
  secret(): string;
  /** A short public id for a record; not a secret. */
  recordId(): string;
};

/** UUID version 7: 48 bits of milliseconds, then random bits, so that ids made later sort later. */
export function uuidV7(nowMs: number, random: Uint8Array): string {
  const time = nowMs.toString(16).padStart(12, "0");
  const version = hexOfByte[(random[6]! & 0x0f) | 0x70]! + hexOfByte[random[7]!];
  const variant = hexOfByte[(random[8]! & 0x3f) | 0x80]! + hexOfByte[random[9]!];
  let rest = "";
  for (let index = 10; index < 16; index++) rest += hexOfByte[random[index]!];
  return `${time.slice(0, 8)}-${time.slice(8)}-${version}-${variant}-${rest}`;
}

/** The 12 bits after the milliseconds. They start in the lower half, so that a millisecond has room for 2,048 ids and more. */
const counterMax = 0xfff;
const counterStartMax = 0x7ff;
/** A clock that was set back further than this is followed. */
const aheadMsMax = 1_000;

/**
 * Makes ids that sort in the order in which they were made, also within a millisecond, where plain ones sort by chance. The
 * indexes of a store then grow at their end, and jobs that were submitted together are beside each other in them. 62
 * random bits are left. A millisecond with too many ids takes from the next. Why: ADR 0076.
 */
export function orderedUuids(random: () => Uint8Array): (nowMs: number) => string {
  let lastMs = 0;
  let counter = 0;
  return (nowMs) => {
    const bytes = Uint8Array.from(random());
    if (nowMs > lastMs || nowMs < lastMs - aheadMsMax) {
      lastMs = nowMs;
      counter = ((bytes[6]! << 8) | bytes[7]!) & counterStartMax;
    } else if (counter < counterMax) counter++;
    else {
      lastMs++;
      counter = 0;
    }
    bytes[6] = counter >> 8;
    bytes[7] = counter & 0xff;
    return uuidV7(lastMs, bytes);
  };
}

const hexOfByte = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
