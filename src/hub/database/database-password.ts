import { readSecret, refusedSetting } from "../settings/secret-setting.ts";
import { checkDatabaseAddress } from "./database-address.ts";

type DatabaseFields = { databaseUrl: string | null; databasePasswordFile: string | null };

const url = "WRIT_DATABASE_URL";
const file = "WRIT_DATABASE_PASSWORD_FILE";

/** The address of the database, with the password from its file. */
export async function databaseUrlWithPassword(fields: DatabaseFields): Promise<string | null> {
  const checked = fields.databaseUrl === null ? null : checkDatabaseAddress(fields.databaseUrl, url);
  if (fields.databasePasswordFile === null) return checked;
  if (checked === null) throw refusedSetting(file, `${file} is set, but ${url} is not`);
  const address = URL.parse(checked);
  if (address === null || address.username === "" || address.password !== "")
    throw refusedSetting(url, `${url}: beside ${file}, use postgres://user@host/database without a password`);
  address.password = encodeURIComponent(await readSecret(file, fields.databasePasswordFile));
  return address.href;
}
