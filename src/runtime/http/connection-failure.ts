type Circumstances = {
  /** A kept connection that the other side closed just as it was used again; not an error of the server. */
  wasStale: boolean;
  /** The request may have arrived: there was a connection for it. */
  wasSent: boolean;
  /** The error of the socket, if there was one. */
  cause?: Error | undefined;
};

/** An error below HTTP. Its message is the system's code, such as ECONNREFUSED, if there is one. */
export class ConnectionFailure extends Error {
  readonly wasStale: boolean;
  readonly wasSent: boolean;

  constructor(reason: string, { wasStale, wasSent, cause }: Circumstances) {
    super(reason, { cause });
    this.name = "ConnectionFailure";
    this.wasStale = wasStale;
    this.wasSent = wasSent;
  }
}

/** The server accepts connections and no longer says anything. */
export const frozen = "has stopped answering";

export function brokenOff(reason: string): ConnectionFailure {
  return new ConnectionFailure(reason, { wasStale: false, wasSent: true });
}
