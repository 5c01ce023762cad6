import { readSecret, refusedSetting } from "../settings/secret-setting.ts";
import { checkDatabaseAddress } from "./database-address.ts";

type Given = { databaseUrl: string | null; databasePasswordFile: string | null };

const url = "WRIT_DATABASE_URL";
const file = "WRIT_DATABASE_PASSWORD_FILE";

/** The address of the database, with the password of the file that was named for it. */
export async function databaseUrlWithPassword(given: Given): Promise<string | null> {
  const checked = given.databaseUrl === null ? null : checkDatabaseAddress(given.databaseUrl, url);
  if (given.databasePasswordFile === null) return checked;
  if (checked === null) throw refusedSetting(file, `${file} is set, but ${url} is not`);
  const address = URL.parse(checked);
  if (address === null || address.username === "" || address.password !== "")
    throw refusedSetting(url, `${url}: beside ${file}, use postgres://user@host/database without a password`);
  address.password = encodeURIComponent(await readSecret(file, given.databasePasswordFile));
  return address.href;
}
