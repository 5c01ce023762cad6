import { type AgentOptions, Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { WritError } from "../core/errors.ts";
import { ConnectionFailure } from "./http-exchange.ts";
import { parseHubAddress } from "./hub-address.ts";

export type HubPoolOptions = {
  /** One or more hubs that serve the same queue; the first one that answers is kept. */
  baseUrls: readonly string[];
  /** PEM of the authority that signed the hub's certificate. */
  ca?: string | undefined;
  allowInsecure?: boolean | undefined;
  agentOptions?: AgentOptions;
};

/** One hub and the connections to it. */
export type PooledHub = {
  url: URL;
  agent: HttpAgent;
  /** A stream holds its connection for hours; in the shared pool it would starve the short calls. */
  streamAgent: HttpAgent;
};

// Enough for every slot of a large worker, and far below the descriptor limit of a process.
const socketsMax = 256;

/** The hubs that a client may call. It stays with the one that answered last. */
export class HubPool {
  readonly #hubs: PooledHub[];
  #current = 0;

  constructor(options: HubPoolOptions) {
    const { baseUrls } = options;
    if (baseUrls.length === 0) throw new WritError("CONFIG_INVALID", "at least one hub address is needed");
    this.#hubs = baseUrls.map((address) => openHub(address, options));
  }

  /** Tries each hub once, beginning with the one that answered last. */
  async try<T>(attempt: (hub: PooledHub) => Promise<T>): Promise<T> {
    const failures: string[] = [];
    // One extra turn, because a kept connection that was closed in the meantime says nothing about its hub.
    let staleLeft = 1;
    for (let tried = 0, index = this.#current; tried < this.#hubs.length; ) {
      const hub = this.#hubs[index]!;
      try {
        const answer = await attempt(hub);
        this.#current = index;
        return answer;
      } catch (error) {
        if (!(error instanceof ConnectionFailure)) throw error;
        failures.push(`${hub.url.origin}: ${error.message}`);
        if (error.wasStale && staleLeft-- > 0) continue;
        index = (index + 1) % this.#hubs.length;
        tried++;
      }
    }
    throw new WritError("HUB_UNREACHABLE", `no hub can be reached (${failures.join("; ")})`, {
      urls: this.#hubs.map(({ url }) => url.origin),
    });
  }

  close(): void {
    for (const { agent, streamAgent } of this.#hubs) {
      agent.destroy();
      streamAgent.destroy();
    }
  }
}

function openHub(address: string, { allowInsecure = false, ca, agentOptions }: HubPoolOptions): PooledHub {
  const url = parseHubAddress(address, { allowInsecure });
  const isTls = url.protocol === "https:";
  const Agent = isTls ? HttpsAgent : HttpAgent;
  const trust = isTls ? { ca, minVersion: "TLSv1.3" as const } : {};
  return {
    url,
    agent: new Agent({
      keepAlive: true,
      maxSockets: socketsMax,
      scheduling: "lifo",
      ...trust,
      ...agentOptions,
    }),
    streamAgent: new Agent({
      keepAlive: false,
      ...trust,
      ...agentOptions,
      maxSockets: Number.POSITIVE_INFINITY,
    }),
  };
}
