import { join, resolve } from "node:path";
import type { Command } from "commander";
import { homeFlag } from "../connection-settings.ts";
import type { CliContext } from "../context.ts";
import { hubAccount, type ServicePlan, type ServiceRole, serviceNames, unitFile } from "./unit.ts";

export type ServiceFile = { path: string; text: string };
/** What to do, in order: files to write, then commands to run. */
export type ServiceSteps = { files: ServiceFile[]; commands: string[][] };

export type ServiceFlags = { user?: boolean; dryRun?: boolean };

const stateFolders: Record<ServiceRole, string> = {
  up: "/var/lib/writ",
  hub: "/var/lib/writ",
  worker: "/var/lib/writ-worker",
};

/** What a service of this role is, on this machine. */
export function planService(
  context: CliContext,
  command: Command,
  { role, isOfUser }: { role: ServiceRole; isOfUser: boolean },
): ServicePlan {
  const given = homeFlag(command);
  const own = join(context.userHome, ".writ", ...(role === "worker" ? ["worker"] : []));
  const usual = isOfUser ? own : stateFolders[role];
  return {
    role,
    isOfUser,
    home: given === undefined ? usual : resolve(context.cwd, given),
    program: [context.execPath, context.programFile],
  };
}

export function installSteps(plan: ServicePlan, userHome: string): ServiceSteps {
  const files = [{ path: unitPath(plan, userHome), text: unitFile(plan) }];
  if (needsAccount(plan)) files.unshift({ path: accountPath, text: hubAccount });
  return {
    files,
    commands: [
      ...(needsAccount(plan) ? [["systemd-sysusers", accountPath]] : []),
      systemctl(plan, "daemon-reload"),
      systemctl(plan, "enable", "--now", serviceNames[plan.role]),
    ],
  };
}

/** The home stays, with its database, keys and output; so does the account that owns it. */
export function uninstallSteps(
  plan: ServicePlan,
  userHome: string,
): { before: string[][]; files: string[]; after: string[][] } {
  return {
    before: [systemctl(plan, "disable", "--now", serviceNames[plan.role])],
    files: [unitPath(plan, userHome)],
    after: [systemctl(plan, "daemon-reload")],
  };
}

const accountPath = "/etc/sysusers.d/writ.conf";

function needsAccount({ role, isOfUser }: ServicePlan): boolean {
  return role === "hub" && !isOfUser;
}

function unitPath({ role, isOfUser }: ServicePlan, userHome: string): string {
  const folder = isOfUser ? join(userHome, ".config/systemd/user") : "/etc/systemd/system";
  return join(folder, serviceNames[role]);
}

function systemctl({ isOfUser }: ServicePlan, ...words: string[]): string[] {
  return ["systemctl", ...(isOfUser ? ["--user"] : []), ...words];
}
