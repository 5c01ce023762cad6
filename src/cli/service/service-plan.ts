import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { homeFlag } from "../connection/connection-settings.ts";
import type { CliContext } from "../context.ts";
import { stableProgram } from "./stable-program.ts";
import {
  hubAccount,
  type ServicePlan,
  type ServiceRole,
  serviceNames,
  stateNameOf,
  unitFile,
} from "./unit.ts";

export type ServiceFile = { path: string; text: string };
/** What to do, in order: files to write, then commands to run. Nothing is written if `check` fails. */
export type ServiceSteps = { check: string[]; files: ServiceFile[]; commands: string[][] };

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
  return {
    role,
    isOfUser,
    home: given === undefined ? usualHome({ role, isOfUser }, context.userHome) : resolve(context.cwd, given),
    program: stableProgram(context),
  };
}

/** The default home of a service. */
export function usualHome(
  { role, isOfUser }: Pick<ServicePlan, "role" | "isOfUser">,
  userHome: string,
): string {
  return isOfUser ? join(userHome, ".writ", ...(role === "worker" ? ["worker"] : [])) : stateFolders[role];
}

export function installSteps(plan: ServicePlan, userHome: string): ServiceSteps {
  const files = [{ path: unitPath(plan, userHome), text: unitFile(plan) }];
  if (needsAccount(plan)) files.unshift({ path: accountPath, text: hubAccount });
  return {
    // Answered by a manager that runs, and by nothing else.
    check: systemctl(plan, "show", "--property=Version"),
    files,
    commands: [
      ...(needsAccount(plan) ? [["systemd-sysusers", accountPath]] : []),
      ...homeCommands(plan),
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
    // No other role needs the line about the account.
    files: [unitPath(plan, userHome), ...(needsAccount(plan) ? [accountPath] : [])],
    after: [systemctl(plan, "daemon-reload")],
  };
}

/** The roles whose units are installed, for the system or for this user. */
export function installedRoles(isOfUser: boolean, userHome: string): ServiceRole[] {
  const roles = Object.keys(serviceNames) as ServiceRole[];
  return roles.filter((role) => existsSync(unitPath({ role, isOfUser }, userHome)));
}

const accountPath = "/etc/sysusers.d/writ.conf";

/** Whether a service of this role runs as the account `writ`. */
export function needsAccount({ role, isOfUser }: Pick<ServicePlan, "role" | "isOfUser">): boolean {
  return role === "hub" && !isOfUser;
}

/** systemd makes state folders by itself; another home must be there, and be the hub's, before the unit can start. */
function homeCommands(plan: ServicePlan): string[][] {
  if (!needsAccount(plan) || stateNameOf(plan.home) !== undefined || existsSync(plan.home)) return [];
  return [["install", "-d", "-o", "writ", "-g", "writ", "-m", "0700", plan.home]];
}

export function unitPath(
  { role, isOfUser }: Pick<ServicePlan, "role" | "isOfUser">,
  userHome: string,
): string {
  const folder = isOfUser ? join(userHome, ".config/systemd/user") : "/etc/systemd/system";
  return join(folder, serviceNames[role]);
}

function systemctl({ isOfUser }: ServicePlan, ...words: string[]): string[] {
  return ["systemctl", ...(isOfUser ? ["--user"] : []), ...words];
}
