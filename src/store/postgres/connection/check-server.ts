import { WritError } from "../../../core/errors.ts";
import { Connection, type ConnectionSettings } from "./connection.ts";
import { poolerText, storeUnavailable } from "./postgres-error.ts";

const versionMin = 15;

type Server = { version: number; encoding: string; mayCreate: boolean; hasSchema: boolean };

/** Opens a connection to a server that can be used. Whatever opens a database begins with this. */
export async function openServer(settings: ConnectionSettings): Promise<Connection> {
  const connection = await Connection.open(settings);
  try {
    await checkServer(connection, settings);
    return connection;
  } catch (error) {
    await connection.close();
    throw storeUnavailable(error);
  }
}

/** Throws one sentence that says what the server lacks and what to do. Why: ADR 0080. */
async function checkServer(connection: Connection, settings: ConnectionSettings): Promise<void> {
  const server = await connection.first<Server>(
    `SELECT current_setting('server_version_num')::int / 10000 AS version,
        current_setting('server_encoding') AS encoding,
        has_database_privilege(current_database(), 'CREATE') AS "mayCreate",
        to_regnamespace('writ') IS NOT NULL AS "hasSchema"`,
  );
  const lack = lackOf(server!) ?? (await lackOfWay(connection, settings));
  if (lack !== null) throw new WritError("STORE_UNAVAILABLE", lack, { advice: "" });
}

export function lackOf({ version, encoding, mayCreate, hasSchema }: Server): string | null {
  if (version < versionMin)
    return `WRIT_DATABASE_URL: the server is PostgreSQL ${version}; the hub needs ${versionMin} or newer`;
  if (encoding !== "UTF8")
    return `WRIT_DATABASE_URL: the database has the encoding ${encoding}; create one with ENCODING 'UTF8'`;
  if (!mayCreate && !hasSchema)
    return "WRIT_DATABASE_URL: the user may not create a schema; make it the owner of the database, or GRANT CREATE ON DATABASE to it";
  return null;
}

/**
 * A pooler that lends a connection for one transaction at a time breaks what a connection remembers: prepared statements,
 * settings, locks. It names processes of its own, and lends the process of an idle connection to the next one.
 */
async function lackOfWay(connection: Connection, settings: ConnectionSettings): Promise<string | null> {
  const process = () => connection.first<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  const { pid } = (await process())!;
  if (pid === connection.processId) return null;
  const other = await Connection.open(settings);
  try {
    const { pid: otherPid } = (await other.first<{ pid: number }>("SELECT pg_backend_pid() AS pid"))!;
    const { pid: pidNow } = (await process())!;
    return isShared([pid, pidNow], otherPid) ? poolerText : null;
  } finally {
    await other.close();
  }
}

/** Whether two connections have used one process of the server, or one of them several. */
export function isShared(own: number[], other: number): boolean {
  return own.includes(other) || new Set(own).size > 1;
}
