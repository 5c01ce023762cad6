import type { MessagePort } from "node:worker_threads";
import { Database } from "../database/database.ts";
import { storeUnavailable } from "../database/sqlite-error.ts";
import { drainPort } from "./drain-port.ts";
import { loadFailpoint } from "./failpoint.ts";
import { commitGroup } from "./group-commit.ts";
import type { GroupContext, GroupDriver } from "./group-driver.ts";
import type { FromThread, Request, ThreadSettings, ToThread } from "./wire.ts";

/**
 * Answers the calls that come through a port, one group after the other, until it is told to close.
 * Why: ADR 0003.
 */
export async function serve<C extends GroupContext>(
  driver: GroupDriver<C>,
  port: MessagePort,
  settings: ThreadSettings,
): Promise<void> {
  const post = (message: FromThread): void => port.postMessage(message);
  let database: Database<C>;
  try {
    database = new Database(driver, settings, await loadFailpoint(settings.failpointModule));
  } catch (error) {
    refuseToOpen(port, error);
    return;
  }
  post({ kind: "opened", file: database.file });
  const rest = new Rest(() => void commitGroup(database, [{ id: 0, act: "flushIndex", input: null }]));
  port.on("message", (message: ToThread) => {
    // Everything that arrives while one group is being committed becomes part of the next one.
    const { requests, isClosing } = drainPort(port, message);
    answerAll(database, requests, post);
    if (database.isUnsettled()) rest.begin();
    if (!isClosing) return;
    rest.end();
    database.close();
    post({ kind: "closed" });
    port.close();
  });
}

/** Tells the other side why there is no database. */
function refuseToOpen(port: MessagePort, error: unknown): void {
  const { code, message, details } = storeUnavailable(error);
  const failed: FromThread = { kind: "failed", error: { code, message, details } };
  port.postMessage(failed);
  port.close();
}

const restMs = 250;

/** Writes what a driver keeps back, a moment after the first of it. */
class Rest {
  readonly #act: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(act: () => void) {
    this.#act = act;
  }

  begin(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#act();
    }, restMs).unref();
  }

  /** Whatever is left is written now. */
  end(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#act();
  }
}

/** The proxy limits how many calls can wait, and so how long this list can be. */
function answerAll<C extends GroupContext>(
  database: Database<C>,
  requests: Request[],
  post: (message: FromThread) => void,
): void {
  let next = 0;
  while (next < requests.length) {
    const { batch, taken } = commitGroup(database, next === 0 ? requests : requests.slice(next));
    next += taken;
    post({ kind: "batch", ...batch });
  }
}
