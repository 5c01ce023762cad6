import { renameSync } from "node:fs";
import { join } from "node:path";
import { copyRows, countRows } from "../../src/hub/migrate/copy-parts.ts";
import { readMacKey } from "../../src/signing/key-files.ts";
import { Connection } from "../../src/store/sqlite/database/connection.ts";
import { SqliteCopy } from "../../src/store/sqlite/database/copy-database.ts";
import { migrate } from "../../src/store/sqlite/database/migrate.ts";
import { openFileCopy } from "../../src/store/sqlite/forms/open-copy.ts";

/** Makes the database of a stopped hub one of rows, with the newest schema that files of rows had. */
export async function putIntoRows(home: string): Promise<void> {
  const path = join(home, "writ.sqlite");
  const rows = `${path}.rows`;
  const source = await openFileCopy(path, { isTarget: false, macKey: readMacKey(join(home, "keys")) });
  const sql = new Connection(rows, 5_000);
  migrate(sql, () => {});
  const target = new SqliteCopy(sql, rows);
  await copyRows({ source, target }, await countRows(source), () => {});
  await target.writeNumbers(await source.getNumbers());
  await target.finish((await source.getIdentity())!);
  await source.close();
  await target.close();
  renameSync(rows, path);
}
