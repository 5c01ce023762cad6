import { type BenchHub, startBenchHub } from "../_hub.ts";
import type { StoreName } from "../_options.ts";
import { needPrograms } from "./needs.ts";
import { createDatabase, startPostgres } from "./servers.ts";

/** A hub with the store that a benchmark was asked for; a server that it needs ends with it. */
export async function startStoredHub(store: StoreName): Promise<BenchHub> {
  if (store === "sqlite") return startBenchHub();
  needPrograms(["postgres"]);
  const server = await startPostgres();
  const hub = await startBenchHub({ WRIT_DATABASE_URL: await createDatabase(server) });
  const stop = async () => {
    await hub.stop();
    await server.stop();
  };
  return { ...hub, stop };
}
