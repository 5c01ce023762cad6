import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach } from "vitest";
import { parseDocument } from "yaml";
import type { HubProcess } from "../support/hub-process.ts";
import { WorkerProcess } from "../support/worker-process.ts";
import { model } from "./delegate-stage.ts";

type AgentWorker = { agent: object; execution?: object; env?: Record<string, string> };

/** Starts workers in processes of their own, each with one coding agent; they are removed after each test. */
export function agentWorkers(hub: HubProcess) {
  const workers: WorkerProcess[] = [];
  afterEach(async () => {
    for (const worker of workers.splice(0)) await worker.remove();
  });
  return async (id: string, { agent, execution = {}, env = {} }: AgentWorker): Promise<WorkerProcess> => {
    const worker = new WorkerProcess(hub, id, env);
    workers.push(worker);
    await worker.enrol();
    const file = join(worker.home, "agents.yaml");
    const document = parseDocument(readFileSync(file, "utf8"));
    document.set("capabilities", [model]);
    document.setIn(["execution", "agents"], [{ name: id, ...agent }]);
    document.setIn(["security", "allowed_path_prefixes"], ["src/"]);
    for (const [key, value] of Object.entries(execution)) document.setIn(["execution", key], value);
    writeFileSync(file, document.toString());
    worker.start();
    return worker;
  };
}
