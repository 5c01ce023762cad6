import type { HubDeps } from "../deps.ts";
import { noteRateLimit } from "../use-cases/access/note-rate-limit.ts";

/** Records and logs that an address has too many connections to a port: once a minute, however often it tries. */
export function noteAddressLimit(deps: HubDeps, endpoint: "gRPC" | "HTTP"): (address: string) => void {
  return (address) => {
    const origin = { userId: null, ipAddress: address, userAgent: null, endpoint, method: "connect" };
    noteRateLimit(deps, { limit: "connections", subject: `${endpoint} ${address}`, origin })
      .then((isFirst) => {
        if (!isFirst) return;
        const advice = "WRIT_CONNECTIONS_PER_ADDRESS allows no more; name a proxy in WRIT_TRUSTED_PROXIES";
        deps.logger.warn({ address, advice }, `${endpoint}: an address has too many connections`);
      })
      .catch((error) => deps.failures.error(error, "a refused connection could not be recorded"));
  };
}
