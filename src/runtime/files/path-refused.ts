/** Why a path from outside is not opened. The first two mean that it may be an attempt to reach other files. */
type Refusal =
  /** It is absolute or contains `..`. */
  | "outside"
  /** It, or a directory on the way, is a symbolic link; or the file has a second name (a hard link). */
  | "link"
  /** Nothing is there, or something on the way is not a directory. */
  | "missing"
  /** It is not a plain file, or not a directory, but a pipe, a device or the other of the two; or it may not be read. */
  | "other-kind"
  /** Its text is not that of a path. */
  | "invalid";

/** A path from outside that leads nowhere, or somewhere that its author may not reach. */
export class PathRefused extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal, message: string) {
    super(message);
    this.name = "PathRefused";
    this.refusal = refusal;
  }

  /** True if only somebody who wants to reach other files, or who is careless with links, writes such a path. */
  get leadsOut(): boolean {
    return this.refusal === "outside" || this.refusal === "link";
  }
}
