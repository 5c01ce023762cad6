import type { z } from "zod";
import { hookRoutes } from "../contract/routes/hook-routes.ts";
import type { hookBody, hookView } from "../contract/shapes/hook-shapes.ts";
import type { HubCaller } from "./hub/hub-caller.ts";

/** The job that a call makes, with the fields of `PUT /hooks/:name`. */
export type HookInput = z.input<typeof hookBody>;
export type Hook = z.infer<typeof hookView>;

/** Addresses of the hub that other programs call, with a signature, so that it makes a job. */
export class Hooks {
  readonly #hub: HubCaller;

  constructor(hub: HubCaller) {
    this.#hub = hub;
  }

  /** Creates or changes it. A new one has its `secret`, which is shown only now. */
  async put(name: string, hook: HookInput): Promise<Hook> {
    return (await this.#hub.call(hookRoutes.putHook, { params: { name }, query: {}, body: hook })).body;
  }

  async get(name: string): Promise<Hook> {
    return (await this.#hub.call(hookRoutes.getHook, { params: { name }, query: {} })).body;
  }

  /** All that the caller may see, by tenant and name, read page by page. */
  async *list(): AsyncGenerator<Hook> {
    let cursor: string | undefined;
    do {
      const { body, header } = await this.#hub.call(hookRoutes.listHooks, { query: { cursor } });
      yield* body;
      cursor = header("x-next-cursor");
    } while (cursor !== undefined);
  }

  async remove(name: string): Promise<void> {
    await this.#hub.call(hookRoutes.removeHook, { params: { name }, query: {} });
  }
}
