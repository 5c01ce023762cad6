import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { traceparentOf } from "../../client/options.ts";
import { WritError } from "../../core/errors.ts";
import { resolveHome } from "../../runtime/settings/home.ts";
import { boolean, loadSettings, type SettingValues, text } from "../../runtime/settings/settings.ts";
import type { YamlFile } from "../../runtime/settings/yaml-file.ts";
import type { CliContext } from "../context.ts";
import { programFlags } from "../shared-options.ts";
import {
  type Credential,
  type CredentialSource,
  chooseCredential,
  type GivenCredential,
} from "./credential.ts";

const settings = {
  hub: {
    name: "WRIT_HUB_URL",
    key: "hub",
    parse: text({
      pattern: /^https?:\/\/[^\s,]+(?:\s*,\s*https?:\/\/[^\s,]+)*$/,
      allowed: "an address such as https://host:port, or several with commas",
    }),
    default: undefined,
  },
  grpc: {
    name: "WRIT_GRPC_ADDR",
    key: "grpc",
    parse: text({
      pattern: /^[^\s/@,]+:\d{1,5}(?:\s*,\s*[^\s/@,]+:\d{1,5})*$/,
      allowed: "host:port, such as hub.example:50051, or several with commas",
    }),
    default: undefined,
  },
  user: {
    name: "WRIT_USER",
    key: "user",
    parse: text({ pattern: /^[^\s/]+$/, allowed: "a user name without spaces or slashes" }),
    default: undefined,
  },
  ca: { name: "WRIT_CA_FILE", key: "ca", parse: text(), default: undefined },
  cert: { name: "WRIT_CERT_FILE", key: "cert", parse: text(), default: undefined },
  key: { name: "WRIT_KEY_FILE", key: "key", parse: text(), default: undefined },
  token: {
    name: "WRIT_TOKEN",
    key: "token",
    parse: text(),
    default: undefined,
    isSecret: true,
    // An empty secret of a CI system must not let the home's administrator act instead.
    whenEmpty: "give a token, or leave it out",
  },
  allowInsecure: { name: "WRIT_ALLOW_INSECURE", key: "allow_insecure", parse: boolean(), default: false },
  frames: { name: "WRIT_FRAMES", key: "frames", parse: boolean(), default: true },
} as const;

export type ConnectionSettings = Omit<SettingValues<typeof settings>, keyof GivenCredential> & {
  home: string;
  credential: Credential;
  traceparent: string | undefined;
};

/** The home that the command is about. Of several --home, the one nearest to the command counts. */
export function findHome({ env, checkout, userHome }: CliContext, command: Command): string {
  return resolveHome({ flag: homeFlag(command), env, checkoutDir: checkout, userHome });
}

/** The home of a hub that has run there. */
export function findExistingHome(context: CliContext, command: Command): string {
  const home = findHome(context, command);
  if (existsSync(home)) return home;
  throw new WritError("CONFIG_INVALID", `the home ${home} does not exist; name another with --home`);
}

export function homeFlag(command: Command): string | undefined {
  return programFlags<{ home: string }>(command).home;
}

/** How to reach the hub and as whom: flags, then the environment, then jobctl.yaml, then what is in the home. */
export async function loadConnection(context: CliContext, command: Command): Promise<ConnectionSettings> {
  const flags = programFlags<Record<keyof typeof settings, string>>(command);
  const home = findHome(context, command);
  const { hub, grpc, user, ca, cert, key, token } = flags;
  const given = { hub, grpc, user, ca, cert, key, token };
  const file = await loadClientFile(home);
  const { env } = context;
  const all = loadSettings(settings, { flags: given, env, file });
  return {
    hub: all.hub,
    grpc: isBesideHub({ flags: given, env, file }) ? all.grpc : undefined,
    ca: all.ca,
    allowInsecure: all.allowInsecure,
    frames: all.frames,
    home,
    traceparent: traceparentOf(env),
    credential: chooseCredential(credentialSources({ flags: given, env, file }), context.osUser),
  };
}

/** A gRPC address of a weaker source than the hub's, such as one in jobctl.yaml beside --hub, is that of another hub. */
function isBesideHub({ flags, env, file }: Sources): boolean {
  const addresses = { hub: settings.hub, grpc: settings.grpc };
  const found: Partial<Pick<SettingValues<typeof settings>, "hub" | "grpc">>[] = [
    loadSettings(addresses, { flags, env: {} }),
    loadSettings(addresses, { env }),
    file === undefined ? {} : loadSettings(settings, { env: {}, file }),
  ];
  const first = found.find(({ hub, grpc }) => hub !== undefined || grpc !== undefined);
  return first?.hub === undefined || first.grpc !== undefined;
}

type Sources = {
  flags: GivenCredential & { hub?: string | undefined; grpc?: string | undefined };
  env: CliContext["env"];
  file: YamlFile | undefined;
};

/** What each source says of the credential alone, strongest first. */
function credentialSources({ flags, env, file }: Sources): CredentialSource[] {
  const { token, cert, key, user } = settings;
  const credentials = { token, cert, key, user };
  return [
    { given: loadSettings(credentials, { flags, env: {} }), nameOf: (name) => `--${name}` },
    { given: loadSettings(credentials, { env }), nameOf: (name) => settings[name].name },
    { given: inFile(file), nameOf: (name) => `${name} in ${file?.path}` },
  ];
}

function inFile(file: YamlFile | undefined): GivenCredential {
  return file === undefined ? {} : loadSettings(settings, { env: {}, file });
}

async function loadClientFile(home: string): Promise<YamlFile | undefined> {
  const path = join(home, "jobctl.yaml");
  if (!existsSync(path)) return undefined;
  // Most homes have no such file, and loading the YAML parser takes time.
  const { loadYamlFile } = await import("../../runtime/settings/yaml-file.ts");
  const file = await loadYamlFile(path, { mustBePrivate: false });
  // Only a file that holds a secret must be private.
  const hasSecret = Object.keys(file.data).some((key) => key === "token" || key === "WRIT_TOKEN");
  return hasSecret ? loadYamlFile(path, { mustBePrivate: true }) : file;
}
