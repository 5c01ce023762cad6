import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import type { HealthView } from "../../../contract/routes/probe-routes.ts";
import { systemClock } from "../../../runtime/clock/clock.ts";
import { connectionTo } from "../../../runtime/http/open-connection.ts";
import { callWhole } from "../../../runtime/http/open-request.ts";
import { isWorkerRunning } from "../../../worker/doctor.ts";
import { findHome } from "../../connection/connection-settings.ts";
import type { CliContext } from "../../context.ts";
import { print } from "../../terminal/print.ts";
import { workerHome } from "../up/worker-config.ts";

const roles = ["hub", "worker"] as const;
type Role = (typeof roles)[number];
type Health = { healthy: boolean; status: string } & Pick<HealthView, "database" | "hubs" | "leader">;

/** Longer than a hub that works ever takes, and shorter than those who ask are patient. */
const answerMsMax = 10_000;
const responseBytesMax = 64 * 1024;

/** Exits with 0 or 1: what asks for health in a container knows no other codes. Why: ADR 0077. */
export function define(command: Command, context: CliContext): void {
  command.argument("[role]", "hub or worker", parseRole, "hub").action(async (role: Role) => {
    const home = role === "hub" ? findHome(context, command) : workerHome(context, command);
    const health = role === "hub" ? await healthOfHub(home) : healthOfWorker(home);
    print(context, command, { role, home, ...health }, ({ status }) => `${role} in ${home}: ${status}\n`);
    if (!health.healthy) context.exitCode = 1;
  });
}

function parseRole(text: string): Role {
  const role = roles.find((each) => each === text);
  if (role === undefined) throw new InvalidArgumentError(`It must be ${roles.join(" or ")}.`);
  return role;
}

/** A worker that has lost its hub is healthy: it keeps its jobs, and a restart would end them. */
function healthOfWorker(home: string): Health {
  const healthy = isWorkerRunning(home);
  return { healthy, status: healthy ? "running" : "not running" };
}

async function healthOfHub(home: string): Promise<Health> {
  // Without this file no hub runs in the home.
  const file = await readFile(join(home, "hub.json"), "utf8").catch(() => null);
  if (file === null) return { healthy: false, status: "not running" };
  try {
    const { url, local_url = url } = JSON.parse(file) as { url: string; local_url?: string };
    return await ask(new URL("/healthz", local_url));
  } catch (error) {
    return { healthy: false, status: `does not answer: ${(error as Error).message}` };
  }
}

/** No credential is sent, so it does not matter for which name the certificate was made. */
async function ask(url: URL): Promise<Health> {
  const clock = systemClock;
  const { host, pathname: path } = url;
  const headers = { connection: "close" };
  const call = { method: "GET", host, path, headers, clock, timeoutMs: answerMsMax, responseBytesMax };
  const connection = connectionTo(url, { clock, tls: { rejectUnauthorized: false } });
  const { status, body } = await callWhole(call, connection);
  const health = JSON.parse(body.toString()) as HealthView;
  return { healthy: status === 200, status: statusOf(health), ...fleetOf(health) };
}

/** With SQLite there is one hub, and nothing to add. */
function statusOf({ status, reason, database, hubs = 1, leader }: HealthView): string {
  if (reason !== undefined) return `${status}: ${reason}`;
  if (database !== "postgresql") return status;
  const others = hubs > 1 ? `, one of ${hubs} hubs` : ", the only hub";
  return `${status} (PostgreSQL${others}${leader === true && hubs > 1 ? "; this one leads" : ""})`;
}

function fleetOf({ database, hubs, leader }: HealthView): Pick<HealthView, "database" | "hubs" | "leader"> {
  return { ...(database && { database }), ...(hubs !== undefined && { hubs, leader }) };
}
