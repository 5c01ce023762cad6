import type { z } from "zod";
import { webhookRoutes } from "../contract/routes/webhook-routes.ts";
import type { webhookBody, webhookView } from "../contract/shapes/webhook-shapes.ts";
import type { HubCaller } from "./hub/hub-caller.ts";

/** Which events are sent where, with the fields of `PUT /webhooks/:name`. */
export type WebhookInput = z.input<typeof webhookBody>;
export type Webhook = z.infer<typeof webhookView>;

/** Addresses that the hub calls when something happens to jobs. Only administrators may use them. */
export class Webhooks {
  readonly #hub: HubCaller;

  constructor(hub: HubCaller) {
    this.#hub = hub;
  }

  /** Creates or changes it, or enables it again. A new one has its `secret`, which is shown only now. */
  async put(name: string, webhook: WebhookInput): Promise<Webhook> {
    return (await this.#hub.call(webhookRoutes.putWebhook, { params: { name }, query: {}, body: webhook }))
      .body;
  }

  /** With how far it has come, and what it could not deliver. */
  async get(name: string): Promise<Webhook> {
    return (await this.#hub.call(webhookRoutes.getWebhook, { params: { name }, query: {} })).body;
  }

  /** All of the tenant, by name, read page by page. */
  async *list(): AsyncGenerator<Webhook> {
    let cursor: string | undefined;
    do {
      const { body, header } = await this.#hub.call(webhookRoutes.listWebhooks, { query: { cursor } });
      yield* body;
      cursor = header("x-next-cursor");
    } while (cursor !== undefined);
  }

  async remove(name: string): Promise<void> {
    await this.#hub.call(webhookRoutes.removeWebhook, { params: { name }, query: {} });
  }

  /** Makes a new `secret`, which is shown only now. For a day, messages are signed with both. */
  async rotate(name: string): Promise<Webhook> {
    return (await this.#hub.call(webhookRoutes.rotateWebhook, { params: { name }, query: {} })).body;
  }

  /** Sends the events of the log again from this one on; enables a webhook that was disabled. */
  async redeliver(name: string, fromSeq: number): Promise<Webhook> {
    const body = { from_seq: fromSeq };
    return (await this.#hub.call(webhookRoutes.redeliverWebhook, { params: { name }, query: {}, body })).body;
  }
}
