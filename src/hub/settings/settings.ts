import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  loadSettings,
  type SettingValues,
  type ShownSetting,
  showSettings,
} from "../../runtime/settings/settings.ts";
import { loadYamlFile, type YamlFile } from "../../runtime/settings/yaml-file.ts";
import { checkAlertSettings } from "../alerts/alert-settings.ts";
import { databaseUrlWithPassword } from "../database/database-password.ts";
import { type DatabasePlace, databaseOf } from "../database/database-place.ts";
import { checkMqttSettings } from "../mqtt/mqtt-settings.ts";
import { checkInactivity, checkOutputsDir } from "./check-settings.ts";
import { declarations } from "./declarations.ts";
import { type FileSettings, fileSettingKeys, showFileSettings, takeFileSettings } from "./file-settings.ts";
import { checkS3Settings } from "./s3-settings.ts";

export type HubSettings = SettingValues<typeof declarations> &
  FileSettings & {
    /** The settings as they are shown to people. */
    shown: ShownSetting[];
  };

type SettingInput = {
  home: string;
  flags: Record<string, string | undefined>;
  env: Record<string, string | undefined>;
};

export async function loadHubSettings({ home, flags, env }: SettingInput): Promise<HubSettings> {
  const path = join(home, "writ.yaml");
  const file = existsSync(path) ? await loadSettingsFile(path) : undefined;
  const { taken, rest } = takeFileSettings(file);
  const sources = { flags, env, file: rest, otherKeys: fileSettingKeys };
  const loaded = loadSettings(declarations, sources);
  const settings = {
    ...loaded,
    databaseUrl: await databaseUrlWithPassword(loaded),
    ...taken,
    shown: [...showSettings(declarations, sources), ...showFileSettings(taken)],
  };
  checkAlertSettings(settings);
  checkInactivity(settings);
  checkS3Settings(settings);
  checkMqttSettings(settings);
  checkOutputsDir(settings);
  // Secrets from the environment are read once: no process that is started later may inherit them.
  delete env["WRIT_ADMIN_TOKEN"];
  delete env["JOB_SIGNING_PRIVATE_KEY"];
  for (const { name } of secrets) delete env[name];
  return settings;
}

/** For programs that only read a home: secrets stay in the environment for the program that needs them. */
export function lookAtSettings({ home, env }: Pick<SettingInput, "home" | "env">): Promise<HubSettings> {
  return loadHubSettings({ home, flags: {}, env: { ...env } });
}

/** The places of a home's database and keys: in the home, or as the settings say. */
export function placesOf(
  home: string,
  settings: Pick<HubSettings, "sqlitePath" | "databaseUrl" | "keysDir">,
): { database: DatabasePlace; keysDir: string } {
  return { database: databaseOf(home, settings), keysDir: settings.keysDir ?? join(home, "keys") };
}

/** The secrets that a file may contain. */
const secrets = [
  declarations.databaseUrl,
  declarations.telegramBotToken,
  declarations.smtpUrl,
  declarations.webhookSecret,
  declarations.s3SecretKey,
];

/** Only a file that contains a secret must be private. */
async function loadSettingsFile(path: string): Promise<YamlFile> {
  const file = await loadYamlFile(path, { mustBePrivate: false });
  const names = secrets.flatMap(({ name }) => [name, name.replace(/^WRIT_/, "").toLowerCase()]);
  const hasSecret = Object.keys(file.data).some((key) => names.includes(key));
  return hasSecret ? loadYamlFile(path, { mustBePrivate: true }) : file;
}
