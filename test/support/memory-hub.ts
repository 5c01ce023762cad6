import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HubDeps } from "../../src/hub/deps.ts";
import { applyQuotas, ensureAdminToken, prepareHome } from "../../src/hub/home/first-start.ts";
import { createApp } from "../../src/hub/http/app.ts";
import { OpenBodies } from "../../src/hub/http/bodies/open-bodies.ts";
import { createListener } from "../../src/hub/http/listener.ts";
import { OpenStreams } from "../../src/hub/http/streams/open-streams.ts";
import { OpenWires } from "../../src/hub/http/wire/open-wires.ts";
import { openDeps } from "../../src/hub/open-deps.ts";
import { loadHubSettings } from "../../src/hub/settings/settings.ts";
import type { Clock } from "../../src/runtime/clock/clock.ts";
import type { Failpoint } from "../../src/runtime/failpoint.ts";
import { type Logger, silentLogger } from "../../src/runtime/log/logger.ts";
import { startAll, stopAll } from "../../src/runtime/service.ts";
import type { Store } from "../../src/store/store.ts";
import { databaseEnv } from "./home-database.ts";
import { type TestHub, testHub } from "./hub.ts";
import { MemoryAgent } from "./memory-agent.ts";

export type MemoryHub = TestHub & {
  /** Hears of each call as Node gives it to the app. */
  onRequest(listener: (incoming: IncomingMessage, outgoing: ServerResponse) => void): void;
  /** For what another hub on the same database does. */
  store: Store;
  /** For a service that a test runs by its own clock. */
  deps: HubDeps;
};

/**
 * The hub's HTTP app with its real use cases and its real database, in memory as far as the machine can do that. It has
 * no port, no certificates and none of the services that act by themselves: nothing expires, is sealed or is removed.
 */
export async function startMemoryHub(
  env: Record<string, string> = {},
  { logger = silentLogger, clock, failpoint }: { logger?: Logger; clock?: Clock; failpoint?: Failpoint } = {},
): Promise<MemoryHub> {
  const home = mkdtempSync(join(memoryDir(), "writ-http-"));
  await prepareHome(home);
  const settings = await loadHubSettings({ home, flags: {}, env: { ...(await databaseEnv(home)), ...env } });
  const deps = await openDeps({ home, version: "0.0.0-test", settings, logger, clock, failpoint });
  await applyQuotas(deps, settings.quotas);
  await ensureAdminToken(deps, { secret: settings.adminToken, osUser: "root" });
  const streams = new OpenStreams(deps.clock, (error) => {
    throw error;
  });
  const bodies = new OpenBodies(deps.clock, (error) => {
    throw error;
  });
  const httpDeps = { ...deps, streams, bodies };
  const app = createApp(httpDeps);
  const wires = new OpenWires(httpDeps, app);
  const services = [deps.feed, deps.receipts, bodies, wires, streams, deps.dispatcher];
  await startAll(services);
  const shouldUpgradeCallback = (incoming: IncomingMessage): boolean => wires.isAsked(incoming);
  const server = createServer({ shouldUpgradeCallback }, createListener(httpDeps, app));
  server.on("upgrade", (incoming, socket, early) => void wires.upgrade(incoming, socket, early));
  const hub = testHub({
    url: "http://127.0.0.1:3000",
    port: 3000,
    home,
    admin: readFileSync(join(home, "admin.token"), "utf8").trim(),
    agent: new MemoryAgent(server),
    async stop() {
      await stopAll(services);
      await deps.objects.close();
      await deps.outputs.appended.close();
      await deps.store.close();
    },
  });
  return { ...hub, store: deps.store, deps, onRequest: (listener) => void server.on("request", listener) };
}

/** A disk would take most of the time of these tests, and what they test is not whether it keeps anything. */
function memoryDir(): string {
  return existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
}
