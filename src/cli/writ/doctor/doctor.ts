import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import type { SigningKey, Worker, Writ } from "../../../client/index.ts";
import { hasCode, WritError } from "../../../core/errors.ts";
import { isTrustedState } from "../../../core/key-times.ts";
import { systemClock } from "../../../runtime/clock/clock.ts";
import { listHttpWorkers, probeWorkerHost } from "../../../worker/doctor.ts";
import { withWrit } from "../../connection/connection.ts";
import { findHome } from "../../connection/connection-settings.ts";
import type { CliContext } from "../../context.ts";
import { examineServices } from "../../service/examine-services.ts";
import { wantsJson } from "../../terminal/print.ts";
import { tableWidth } from "../../terminal/table.ts";
import { neutraliseLine, paintFor, safeJson } from "../../terminal/terminal.ts";
import { wrapText } from "../../terminal/text-width.ts";
import { examineCerts } from "./certs-findings.ts";
import { examineConfig, tryAgentOf } from "./examine-config.ts";
import { examineDatabase } from "./examine-database.ts";
import { examineDisk } from "./examine-disk.ts";
import { examineFiles, examineHubs } from "./examine-hubs.ts";
import { examineKeys } from "./examine-keys.ts";
import { examineLeftovers } from "./examine-leftovers.ts";

export type Finding = { check: string; state: "ok" | "warning" | "problem" | "skipped"; says: string };

export function define(command: Command, context: CliContext): void {
  command
    .option(
      "--config <file>",
      "instead, explain what this agents.yaml of a worker means, or what is wrong in it",
    )
    .option(
      "--agent <name>",
      "instead, try this coding agent of the worker's agents.yaml in a cage, with a model on loopback",
    )
    .option(
      "--model <name>",
      "with --agent: the model that its command is given (default: the worker's first)",
    )
    .action(async (flags: DoctorFlags) => {
      const findings = await examine(context, command, flags);
      context.stdout.write(
        wantsJson(command)
          ? findings.map((finding) => `${safeJson(finding)}\n`).join("")
          : showFindings(context, findings),
      );
      if (findings.some(({ state }) => state === "problem")) context.exitCode = 1;
    });
}

type DoctorFlags = { config?: string; agent?: string; model?: string };

async function examine(context: CliContext, command: Command, flags: DoctorFlags): Promise<Finding[]> {
  const { config, agent, model } = flags;
  if (agent !== undefined) return tryAgentOf(context, command, { config, agent, model });
  if (model !== undefined)
    throw new WritError("INVALID_ARGUMENT", "--model: is for a coding agent that is tried; give --agent too");
  return config === undefined
    ? withWrit(context, command, (writ) => examineAll(context, command, writ))
    : examineConfig(context, command, config);
}

async function examineAll(context: CliContext, command: Command, writ: Writ): Promise<Finding[]> {
  const home = findHome(context, command);
  const nowMs = systemClock.nowMs();
  return [
    ...(await examineHost(context, home)),
    ...(await examineHome(home)),
    ...(await examineDisk(home)),
    ...(await examineLeftovers({ home, env: context.env, nowMs })),
    ...(await examineDatabase({ home, env: context.env })),
    ...examineServices(context.userHome),
    ...(await examineCerts({ home, env: context.env, nowMs })),
    ...(await examineHub(writ, nowMs)),
    ...(await examineHttpWorkers(home)),
  ];
}

/** What the host lacks is a warning: a hub can run without it. */
async function examineHost({ nodeVersion, cwd }: CliContext, home: string): Promise<Finding[]> {
  const found = await probeWorkerHost({ workDir: existsSync(home) ? home : cwd, nodeVersion });
  return found.map(({ part, isFine, had, advice }) => ({
    check: part,
    state: isFine ? "ok" : "warning",
    says: advice === null ? had : `${had}; ${advice}`,
  }));
}

const privateFiles = ["admin.token", "writ.sqlite", "keys", "certs", "worker/agents.yaml"] as const;

async function examineHome(home: string): Promise<Finding[]> {
  if (!existsSync(home))
    return [{ check: "home", state: "warning", says: `${home} does not exist; \`writ up\` creates it` }];
  const findings = await Promise.all(["", ...privateFiles].map((name) => examineMode(join(home, name))));
  const open = findings.filter((finding) => finding !== undefined);
  return open.length > 0 ? open : [{ check: "home", state: "ok", says: `${home} is private` }];
}

async function examineMode(path: string): Promise<Finding | undefined> {
  if (!existsSync(path)) return undefined;
  const found = await stat(path);
  if ((found.mode & 0o077) === 0) return undefined;
  const mode = found.isDirectory() ? "700" : "600";
  return {
    check: "home",
    state: "problem",
    says: `other users can access ${path}; run: chmod ${mode} ${path}`,
  };
}

async function examineHub(writ: Writ, nowMs: number): Promise<Finding[]> {
  const { mqtt, unwell } = await examineHealth(writ);
  try {
    const { role, user_id } = await writ.whoAmI();
    const where = (await writ.hubUrls()).length > 1 ? ` at ${await writ.currentHub()}` : "";
    const says = `reachable${where}; you are ${user_id} (${role})`;
    const hub: Finding = { check: "hub", state: "ok", says };
    const keys = await writ.keys();
    return [
      hub,
      ...(await examineKeys(writ, keys, nowMs)),
      ...(await ifAllowed("workers", () => examineWorkers(writ, keys, nowMs))),
      ...(unwell.length > 0 ? unwell : await ifAllowed("database", () => examineHubs(writ))),
      ...(await ifAllowed("files", () => examineFiles(writ))),
      ...(await examineAlerts(writ)),
      ...(await ifAllowed("mqtt", () => examineMqtt(writ, mqtt))),
    ];
  } catch (error) {
    const hub: Finding = { check: "hub", state: "problem", says: (error as Error).message };
    return [...unwell.filter(({ says }) => says !== hub.says), hub];
  }
}

/**
 * What the hub says of its database, if it is not well. It still answers what it can read, so no other question would tell.
 * That it is locked is reported with the alerts.
 */
async function examineHealth(writ: Writ): Promise<{ mqtt?: Mqtt; unwell: Finding[] }> {
  try {
    const { mqtt } = await writ.health();
    return { mqtt, unwell: [] };
  } catch (error) {
    // Any other error is also that of the next question.
    if (!hasCode(error, "STORE_UNAVAILABLE")) return { unwell: [] };
    return { unwell: [{ check: "database", state: "problem", says: (error as Error).message }] };
  }
}

type Mqtt = Awaited<ReturnType<Writ["health"]>>["mqtt"];

/** What the caller may not ask the hub is not checked; that is nothing to repair. */
async function ifAllowed(check: string, examine: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await examine();
  } catch (error) {
    if (!hasCode(error, "PERMISSION_DENIED")) throw error;
    return [{ check, state: "skipped", says: "not checked (needs an administrator)" }];
  }
}

async function examineWorkers(writ: Writ, keys: readonly SigningKey[], nowMs: number): Promise<Finding[]> {
  const workers = await writ.workers();
  const active = workers.filter(({ status }) => status === "active");
  const says = `${active.length} of ${workers.length} active`;
  return [
    { check: "workers", state: active.length > 0 ? "ok" : "warning", says },
    ...withoutKeys(active, keys, nowMs),
  ];
}

const idsShownMax = 10;

/** Workers that the hub cannot sign a job for, as after an emergency rotation. One that has named no keys trusts any. */
function withoutKeys(workers: readonly Worker[], keys: readonly SigningKey[], nowMs: number): Finding[] {
  const usable = keys.filter(
    ({ status, not_after }) => isTrustedState(status) && (not_after === null || not_after > nowMs),
  );
  const lacking = workers.filter(
    ({ key_ids = [] }) => key_ids.length > 0 && !usable.some(({ key_id }) => key_ids.includes(key_id)),
  );
  if (lacking.length === 0) return [];
  const ids = lacking.slice(0, idsShownMax).map(({ id }) => id);
  const more = lacking.length > ids.length ? ` and ${lacking.length - ids.length} more` : "";
  const why = `given no jobs, because they trust none of the hub's keys: ${ids.join(", ")}${more}`;
  const advice = "the worker of `writ up` gets them by itself; for others run: writ workers add ID";
  return [{ check: "workers", state: "problem", says: `${why}; ${advice}` }];
}

/** Whether events reach the broker, if there is one. */
async function examineMqtt(writ: Writ, mqtt: Mqtt): Promise<Finding[]> {
  if (mqtt === undefined) return [];
  const url = (await writ.settings()).find(({ name }) => name === "WRIT_MQTT_URL")?.value;
  const says = {
    connected: `events go to ${url}`,
    away: `${url} cannot be reached; events wait in the database, for WRIT_AUDIT_HOT_DAYS at most`,
    refused: `${url} refuses the hub, or cannot be trusted; logs/hub.log in the hub's home has the cause`,
  } as const;
  const state = ({ connected: "ok", away: "warning", refused: "problem" } as const)[mqtt];
  return [{ check: "mqtt", state, says: says[mqtt] }];
}

async function examineAlerts(writ: Writ): Promise<Finding[]> {
  const { locked, reason, tenants = [], alert_channels: channels } = await writ.lockdown();
  const says = "no channel is configured for alerts; set WRIT_TELEGRAM_*, WRIT_SMTP_URL or WRIT_WEBHOOK_URL";
  const carried: Finding =
    channels.length === 0
      ? { check: "alerts", state: "warning", says }
      : { check: "alerts", state: "ok", says: `are sent by ${channels.join(", ")}` };
  const ofTenants = tenants.map((one): Finding => {
    const advice = `once that is resolved, run: writ lockdown --lift --tenant ${one.tenant_id}`;
    return {
      check: "lockdown",
      state: "warning",
      says: `tenant ${one.tenant_id} is locked: ${one.reason}; ${advice}`,
    };
  });
  if (!locked) return [carried, ...ofTenants];
  const why = `the hub is locked: ${reason}; once that is resolved, run: writ lockdown --lift`;
  return [carried, { check: "lockdown", state: "problem", says: why }, ...ofTenants];
}

/** The processes of `persistent_http` jobs on this machine: of the worker of `writ up`, and of one that has this home. */
async function examineHttpWorkers(home: string): Promise<Finding[]> {
  const lists = await Promise.all([join(home, "worker"), home].map((dir) => listHttpWorkers(dir)));
  return lists.flat().map(({ tenant_id, port, command, pid, started_at, log }) => {
    const since = new Date(started_at).toISOString();
    const says = `port ${port}, tenant ${tenant_id}: ${command.join(" ")} (pid ${pid}, since ${since}); its log is ${log}`;
    return { check: "http worker", state: "ok", says };
  });
}

/** One line for each finding, wrapped on a terminal, and a last line that counts them. */
function showFindings(context: CliContext, findings: readonly Finding[]): string {
  const paint = paintFor(context.stdout, context.env);
  const colours = { ok: paint.green, warning: paint.yellow, problem: paint.red, skipped: paint.dim };
  const checkWidth = Math.max(...findings.map(({ check }) => check.length));
  const indent = stateWidth + checkWidth + 4;
  const width = Math.max(saysWidthMin, (tableWidth(context.stdout) ?? Number.POSITIVE_INFINITY) - indent);
  const lines = findings.map(({ check, state, says }) => {
    const head = `${colours[state](state.padEnd(stateWidth))}  ${check.padEnd(checkWidth)}  `;
    return head + wrapText(neutraliseLine(says), width).join(`\n${" ".repeat(indent)}`);
  });
  return `${lines.join("\n")}\n\n${summary(findings)}\n`;
}

const stateWidth = "warning".length;
const saysWidthMin = 30;

function summary(findings: readonly Finding[]): string {
  const count = (wanted: Finding["state"]): number => findings.filter(({ state }) => state === wanted).length;
  const [warnings, problems, skipped] = [count("warning"), count("problem"), count("skipped")];
  const made = `${findings.length - skipped} checks: ${count("ok")} ok, ${plural(warnings, "warning")}, ${plural(problems, "problem")}`;
  const counts = skipped === 0 ? made : `${made}; ${skipped} not checked`;
  return problems > 0 ? `${counts}; fix the problems first` : counts;
}

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
