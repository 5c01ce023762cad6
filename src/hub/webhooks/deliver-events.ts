import type { LoggedEvent } from "../../core/events.ts";
import { type DeliveryAnswer, judgeDelivery } from "../../core/webhooks/judge-delivery.ts";
import { validSecrets, type Webhook, wantsEvent } from "../../core/webhooks/webhook.ts";
import { FetchError } from "../../runtime/guarded-fetch/fetch-error.ts";
import type { Network } from "../../runtime/guarded-fetch/guarded-lookup.ts";
import { guardedPost } from "../../runtime/guarded-fetch/guarded-post.ts";
import type { StandingOrder } from "../../store/order-store.ts";
import type { HubDeps } from "../deps.ts";
import {
  readWebhook,
  signingKeys,
  webhookEvent,
  webhookOrder,
} from "../use-cases/webhooks/webhook-record.ts";
import { allowedHosts, webhookPurpose } from "./allowed-hosts.ts";
import { webhookMessage } from "./webhook-message.ts";

export type DeliveryDeps = Pick<
  HubDeps,
  "store" | "feed" | "clock" | "keys" | "settings" | "metrics" | "failpoint"
> & {
  leadership: Pick<HubDeps["leadership"], "isLeader">;
  /** How hosts are resolved. */
  network?: Network;
};

const callMs = 10_000;
/** While no event concerns a webhook, its place is written this often, so that it does not fall behind the log's oldest event. */
const idleWriteMs = 600_000;

/** Delivers the events of one webhook, one after the other. */
export class WebhookDelivery {
  readonly #deps: DeliveryDeps;
  readonly #signal: AbortSignal;
  #order: StandingOrder;
  #webhook: Webhook;
  #revision: number;
  #writtenAtMs: number;

  constructor(deps: DeliveryDeps, order: StandingOrder, signal: AbortSignal) {
    this.#deps = deps;
    this.#order = order;
    this.#signal = signal;
    this.#webhook = readWebhook(order);
    this.#revision = order.revision;
    this.#writtenAtMs = deps.clock.monotonicMs();
  }

  /** The newest revision that is this one's own work: a newer row was written by somebody else. */
  get revision(): number {
    return this.#revision;
  }

  /** Resolves when the row was changed by somebody else, or the webhook is disabled. Rejects with the reason of the signal. */
  async run(): Promise<void> {
    const { tenantId, cursor: afterSeq } = this.#order;
    for await (const page of this.#deps.feed.follow({ tenantId, afterSeq }, this.#signal)) {
      if (!(await this.#deliverPage(page))) return;
    }
  }

  async #deliverPage(page: readonly LoggedEvent[]): Promise<boolean> {
    const seqBefore = this.#order.cursor;
    const wanted = page.filter((event) => event.jobId !== null && wantsEvent(this.#webhook.spec, event));
    try {
      for (const event of wanted) if (!(await this.#deliver(event))) return false;
    } finally {
      // Also when this hub stops in the middle: what was accepted is not sent again.
      if (this.#signal.aborted && this.#webhook.seq > seqBefore) await this.#write([]);
    }
    this.#webhook = { ...this.#webhook, seq: Math.max(this.#webhook.seq, page.at(-1)!.seq) };
    const isDue = this.#deps.clock.monotonicMs() - this.#writtenAtMs >= idleWriteMs;
    return wanted.length > 0 || isDue ? this.#write([]) : true;
  }

  /** Tries one event until it is accepted, or given up. False if this hub may not go on. */
  async #deliver(event: LoggedEvent): Promise<boolean> {
    const { clock, metrics, leadership, failpoint } = this.#deps;
    for (;;) {
      const waitMs = (this.#webhook.failing?.next_at ?? 0) - clock.nowMs();
      if (waitMs > 0) await clock.sleep(waitMs, this.#signal);
      // Another hub has the lead, and sends this itself.
      if (!leadership.isLeader) return false;
      await failpoint("webhooks.beforeCall");
      const answer = await this.#call(event);
      await failpoint("webhooks.afterCall");
      const nowMs = clock.nowMs();
      const concerned = { seq: event.seq, jobId: event.jobId! };
      const wasFailing = this.#webhook.failing !== null;
      const { outcome, webhook } = judgeDelivery(this.#webhook, concerned, { answer, nowMs });
      this.#webhook = webhook;
      metrics.webhooks.inc({ outcome });
      if (outcome === "delivered" && !wasFailing) return true;
      if (!(await this.#write(this.#eventsOf(outcome, event, nowMs)))) return false;
      if (outcome !== "later") return outcome !== "disabled";
    }
  }

  async #call(event: LoggedEvent): Promise<DeliveryAnswer> {
    const { clock, keys, settings, network } = this.#deps;
    const nowMs = clock.nowMs();
    const signing = {
      webhookId: this.#webhook.id,
      keys: signingKeys(keys.macKey, this.#webhook, nowMs),
      nowMs,
    };
    const message = webhookMessage(event, signing);
    const guard = { clock, allowedHosts: allowedHosts(settings), ...(network && { network }) };
    const call = { url: this.#webhook.spec.url, purpose: webhookPurpose, timeoutMs: callMs };
    try {
      return {
        kind: "answered",
        ...(await guardedPost(guard, { ...call, ...message, signal: this.#signal })),
      };
    } catch (error) {
      if (!(error instanceof FetchError)) throw error;
      return { kind: "failed", reason: error.message };
    }
  }

  #eventsOf(outcome: string, { seq, jobId }: LoggedEvent, nowMs: number) {
    const { given_up, disabled } = this.#webhook;
    if (outcome === "given_up") {
      const details = { act: "given_up", seq, job_id: jobId, status: given_up.last!.status };
      return [webhookEvent(this.#order, { event: "WEBHOOK_CHANGED", details, nowMs })];
    }
    if (outcome !== "disabled") return [];
    const details = { reason: disabled!.reason, seq };
    return [webhookEvent(this.#order, { event: "WEBHOOK_DISABLED", details, nowMs })];
  }

  /** False if the row has moved: another hub has taken over, or a person has changed it. */
  async #write(events: ReturnType<typeof webhookEvent>[]): Promise<boolean> {
    const { store, keys, clock } = this.#deps;
    const { revision } = this.#order;
    const secrets = validSecrets(this.#webhook, clock.nowMs());
    const order = webhookOrder(keys.macKey, this.#order, { ...this.#webhook, secrets });
    this.#revision = order.revision;
    const put = { order, revisionBefore: revision, events, most: Number.MAX_SAFE_INTEGER };
    if ((await store.putOrder(put)) !== "kept") return false;
    this.#order = order;
    this.#writtenAtMs = clock.monotonicMs();
    return true;
  }
}
