import { WritError } from "../../core/errors.ts";
import { readPrivateFile } from "../../runtime/files/private-file.ts";

/** The secret in the private file that a setting names. */
export async function readSecret(setting: string, path: string): Promise<string> {
  const text = (await readPrivateFile(path))?.trim();
  if (text) return text;
  throw refusedSetting(setting, `${setting}: ${path} does not exist or is empty`);
}

export function refusedSetting(setting: string, message: string): WritError {
  return new WritError("CONFIG_INVALID", message, { setting });
}
