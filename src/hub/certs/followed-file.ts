import { readFileSync, statSync } from "node:fs";

/**
 * The content of a small file, read again when it has changed. Checking the file's times costs microseconds, so every
 * call checks, and a change by another program takes effect at the next call. A missing file counts as empty; one that
 * cannot be read is an error.
 */
export class FollowedFile<T> {
  readonly #path: string;
  readonly #parse: (text: string | null) => T;
  #seen: string | undefined;
  #content: T | undefined;

  constructor(path: string, parse: (text: string | null) => T) {
    this.#path = path;
    this.#parse = parse;
  }

  read(): T {
    const stat = statSync(this.#path, { bigint: true, throwIfNoEntry: false });
    const seen = stat === undefined ? "" : `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;
    if (seen !== this.#seen) {
      this.#content = this.#parse(stat === undefined ? null : readFileSync(this.#path, "utf8"));
      this.#seen = seen;
    }
    return this.#content!;
  }
}
