import { WritError } from "../../core/errors.ts";

/** A hub that serves a database. */
export type HubRow = {
  id: string;
  /** Its machine and its home. */
  name: string;
  url: string;
  version: string;
  startedAt: number;
  isLeader: boolean;
};

export type HubIntroduction = Pick<HubRow, "name" | "url" | "version">;

export type HubBeat = {
  /** Rises whenever the lead is taken; null if another hub has it. */
  term: number | null;
  /** No caller could be served before this hub took the lead: there was no other hub, or no database. */
  wasSilent: boolean;
  /** Every hub that serves now, oldest first. */
  hubs: HubRow[];
  /** As `HubSeat.readClock`, but null too if the answer took so long that it says little. */
  aheadMs: number | null;
};

/**
 * A hub's place among those that use the same database. One of them leads: it does what only one may do. A hub that
 * dies loses the lead at once; one that stays silent loses it after `silentMs`. Why: ADR 0083.
 */
export type HubSeat = {
  /** How often a hub that waits for the lead should ask for it. */
  readonly askMs: number;
  /** How long the lead lasts after a beat was sent. */
  readonly silentMs: number;
  /** The hub lives: takes the lead if no hub has it. Throws if the database does not answer; then the hub does not lead. */
  beat(): Promise<HubBeat>;
  /**
   * How far the database's clock is ahead of the monotonic one of this process: all hubs measure with that clock. Null if the
   * database has none of its own.
   */
  readClock(): Promise<number | null>;
  /** From the next beat on the hub serves, and others may count on it. */
  introduce(hub: HubIntroduction): void;
  /** It serves no longer, but may still lead. */
  withdraw(): Promise<void>;
  /** Called when the seat is lost between two beats. */
  onLost(listener: () => void): void;
  /** Gives up the lead and the seat. */
  leave(): Promise<void>;
};

/** The seat at a database that only one hub can use. */
export function onlySeat(release: () => void): HubSeat {
  let hubs: HubRow[] = [];
  let isLeft = false;
  return {
    askMs: 60_000,
    silentMs: Number.POSITIVE_INFINITY,
    beat: async () => ({ term: 1, wasSilent: true, hubs, aheadMs: null }),
    readClock: async () => null,
    introduce: (hub) => {
      hubs = [{ ...hub, id: "only", startedAt: Date.now(), isLeader: true }];
    },
    withdraw: async () => {
      hubs = [];
    },
    onLost: () => {},
    leave: async () => {
      if (!isLeft) release();
      isLeft = true;
    },
  };
}

/** The refusal of an act that only the hub that leads may do. The act was not done, or the hub that leads now did it. */
export function leadLost(): WritError {
  const message = "another hub leads now, and does this; nothing was changed";
  return new WritError("STATE_CONFLICT", message, { lead_lost: true });
}

export function isLeadLost(error: unknown): boolean {
  return error instanceof WritError && error.details?.["lead_lost"] === true;
}
