import { isAbsolute, join, resolve } from "node:path";
import { WritError } from "../../core/errors.ts";
import type { DatabaseCopy } from "../../store/database/database-copy.ts";
import { checkDatabaseAddress } from "../database/database-address.ts";
import type { DatabasePlace } from "../database/database-place.ts";
import { lockDatabase, openDatabaseCopy } from "../database/open-database.ts";
import type { HubSettings } from "../settings/settings.ts";

/** One of the two databases of a migration. */
export type Side = {
  place: DatabasePlace;
  /** For people: an address without user and password. */
  shown: string;
  /** The option or variable with its address, for messages. */
  given: string;
};

/** What a person gave for a side: the text of the option, or the name of a variable that holds the address. */
export type GivenSide = { option: string; text: string | undefined; variable: string | undefined };

type Surroundings = {
  home: string;
  cwd: string;
  env: Record<string, string | undefined>;
  settings: Pick<HubSettings, "databaseUrl" | "sqlitePath">;
};

/** Null if neither the option nor a variable is given. */
export function findSide(given: GivenSide, around: Surroundings): Side | null {
  const { option, text, variable } = given;
  if (text !== undefined && variable !== undefined)
    throw refused(`${option} and ${option}-env: give one of the two`);
  if (variable !== undefined) {
    const url = around.env[variable];
    if (url === undefined || url === "") throw refused(`${option}-env: the variable ${variable} is not set`);
    return urlSide(url, variable);
  }
  if (text === undefined) return null;
  if (text.startsWith("sqlite:")) return fileSide(text.slice("sqlite:".length), around);
  if (text === "postgres:" || text === "postgresql:") return settingsSide(option, around);
  return urlSide(text, option);
}

/** The side that was not given: the home's own file opposite a server, or the server of the settings opposite a file. */
export function otherSide(given: Side, option: string, around: Surroundings): Side {
  return given.place.kind === "postgres" ? fileSide("", around) : settingsSide(option, around);
}

/** The database that a hub of this home would use. */
export function hubsSide(option: string, around: Surroundings): Side {
  return around.settings.databaseUrl === null ? fileSide("", around) : settingsSide(option, around);
}

function fileSide(path: string, { home, cwd, settings }: Surroundings): Side {
  const own = settings.sqlitePath ?? join(home, "writ.sqlite");
  const file = path === "" ? own : isAbsolute(path) ? path : resolve(cwd, path);
  const place = { kind: "file", path: file } as const;
  return { place, shown: file, given: "SQLITE_PATH" };
}

function settingsSide(option: string, { settings }: Surroundings): Side {
  if (settings.databaseUrl === null)
    throw refused(
      `${option}: WRIT_DATABASE_URL is not set; set it to the address of the PostgreSQL database`,
    );
  return urlSide(settings.databaseUrl, "WRIT_DATABASE_URL");
}

/** The text is not repeated in a refusal: it may hold a password. */
function urlSide(url: string, given: string): Side {
  if (!/^postgres(?:ql)?:\/\/\S+$/.test(url))
    throw refused(
      `${given}: not an address of a database; use sqlite:FILE, postgres://user@host/database, or postgres: for WRIT_DATABASE_URL`,
    );
  const checked = checkDatabaseAddress(url, given);
  const { host, pathname } = new URL(checked.replace("@/", "@localhost/"));
  return { place: { kind: "postgres", url: checked }, shown: `postgres://${host}${pathname}`, given };
}

type OpenSide = { copy: DatabaseCopy; close(): Promise<void> };

/** Opens one side and keeps hubs from it. */
export async function openSide(
  side: Side,
  { home, ...options }: { home: string; isTarget: boolean; macKey: Buffer },
): Promise<OpenSide> {
  try {
    const lock = await lockDatabase(side.place, home);
    try {
      const copy = await openDatabaseCopy(side.place, options);
      return {
        copy,
        async close() {
          await copy.close();
          await lock.release();
        },
      };
    } catch (error) {
      await lock.release();
      throw error;
    }
  } catch (error) {
    throw named(error, side);
  }
}

/** Drivers know the address by the setting of a hub; here it may come from elsewhere. A requested stop is no error. */
export function named(error: unknown, { given, shown }: Side): unknown {
  if ((error as Error).name === "AbortError") return error;
  if (!(error instanceof WritError))
    return new WritError("STORE_UNAVAILABLE", `${shown}: ${(error as Error).message}`, { advice: again });
  return new WritError(error.code, error.message.replaceAll("WRIT_DATABASE_URL", given), error.details);
}

const again = "run the same command again: it continues where it stopped";

export function refused(message: string): WritError {
  return new WritError("CONFIG_INVALID", message);
}
