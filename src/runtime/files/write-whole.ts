import { writeSync } from "node:fs";

/** Writes all of the bytes, or throws: a disk that has just become full takes a part first, and then refuses the rest. */
export function writeWhole(fd: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
}
