/**
 * Why a file did not arrive. `unavailable` may be over the next time, and `expired` with a fresh URL; the others stay as
 * they are: the store refuses, has no such object, has other bytes, or the file was changed while it was sent.
 */
type TransferProblem =
  | "unavailable"
  | "expired"
  | "refused"
  | "missing"
  | "mismatch"
  | "changed"
  | "too-large";

export class TransferFailure extends Error {
  readonly problem: TransferProblem;

  constructor(problem: TransferProblem, message: string) {
    super(message);
    this.name = "TransferFailure";
    this.problem = problem;
  }

  /** Whether another try, with a fresh URL, may succeed. */
  get isPassing(): boolean {
    return this.problem === "unavailable" || this.problem === "expired";
  }
}

/** What a status other than success says about a try. The text is the beginning of the response's body. */
export function statusFailure(status: number, text: string): TransferFailure {
  const said = text.replaceAll(/\s+/g, " ").trim().slice(0, 200);
  const message = `the store answered ${status}${said === "" ? "" : `: ${said}`}`;
  if (status === 404 || status === 410) return new TransferFailure("missing", message);
  // A store says so in its own words; any other refusal would be the same again.
  if ((status === 401 || status === 403) && /expired/i.test(text))
    return new TransferFailure("expired", message);
  // The hub has more or less of an upload than we thought, or what arrived was damaged on the way.
  const isBehind = text.includes('"UPLOAD_OFFSET"') || text.includes('"CHECKSUM_MISMATCH"');
  const isPassing = status >= 500 || status === 408 || status === 429 || isBehind;
  return new TransferFailure(isPassing ? "unavailable" : "refused", message);
}
