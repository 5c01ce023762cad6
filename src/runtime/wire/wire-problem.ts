/** Why a connection with frames is closed by the side that noticed. The names are part of the protocol. */
export type WireReason =
  | "bad-frame"
  | "frame-too-long"
  | "frame-too-slow"
  | "unknown-request"
  | "too-many-requests"
  | "credit-exceeded"
  | "too-many-pings"
  | "answers-not-read"
  | "silent"
  | "token-refused"
  | "stopping";

/** The other side broke a rule of the protocol, or the connection may not go on. Why: ADR 0126. */
export class WireProblem extends Error {
  readonly reason: WireReason;

  constructor(reason: WireReason, message: string) {
    super(message);
    this.name = "WireProblem";
    this.reason = reason;
  }
}
