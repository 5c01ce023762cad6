import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { Writ } from "../client/index.ts";
import { resolveHome } from "../runtime/home.ts";
import { boolean, loadSettings, loadYamlFile, text, type YamlFile } from "../runtime/settings.ts";
import type { CliContext } from "./context.ts";

export type ConnectionFlags = { home?: string; hub?: string; token?: string; ca?: string };

const settings = {
  hub: {
    name: "WRIT_HUB_URL",
    key: "hub",
    parse: text({ pattern: /^https?:\/\/\S+$/, allowed: "an address such as https://host:port" }),
    default: undefined,
  },
  token: { name: "WRIT_TOKEN", key: "token", parse: text(), default: undefined, isSecret: true },
  ca: { name: "WRIT_CA_FILE", key: "ca", parse: text(), default: undefined },
  allowInsecure: { name: "WRIT_ALLOW_INSECURE", key: "allow_insecure", parse: boolean(), default: false },
} as const;

export function findHome(context: CliContext, flag: string | undefined): string {
  return resolveHome({ flag, env: context.env, checkoutDir: context.checkout, userHome: context.userHome });
}

/** Opens a client for as long as `act` takes: by flags, then environment, then jobctl.yaml, then the home. */
export async function withWrit<T>(
  context: CliContext,
  command: Command,
  act: (writ: Writ) => Promise<T>,
): Promise<T> {
  const { home: homeFlag, ...flags } = command.optsWithGlobals<ConnectionFlags>();
  const home = findHome(context, homeFlag);
  const { hub, token, ca, allowInsecure } = loadSettings(settings, {
    flags: { hub: flags.hub, token: flags.token, ca: flags.ca },
    env: context.env,
    file: await loadClientFile(home),
  });
  const writ = new Writ({ url: hub, token, home, caFile: ca, allowInsecure });
  try {
    return await act(writ);
  } finally {
    writ.close();
  }
}

async function loadClientFile(home: string): Promise<YamlFile | undefined> {
  const path = join(home, "jobctl.yaml");
  if (!existsSync(path)) return undefined;
  const file = await loadYamlFile(path, { mustBePrivate: false });
  // Only a file with a secret in it has to be kept from others.
  const hasSecret = Object.keys(file.data).some((key) => key === "token" || key === "WRIT_TOKEN");
  return hasSecret ? loadYamlFile(path, { mustBePrivate: true }) : file;
}
