import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { schemaSteps } from "../../src/store/sqlite/database/migrate.ts";
import { readFileForm } from "../../src/store/sqlite/forms/file-form.ts";
import { startTestHub, stillEnv } from "../support/hub.ts";
import { clockAfter } from "./clock-after.ts";
import { describeOldHome } from "./describe-old-home.ts";
import { openOldHome, schemasOfHomes } from "./old-home.ts";
import { testOldBackup } from "./test-old-backup.ts";

const oldest = schemaSteps()[0]!.version;
const env = { WRIT_SQLITE_FORM: "frames" };

describe.each(schemasOfHomes("homes").filter((schema) => schema >= oldest))(
  "a home of schema %i whose jobs are put into frames",
  (schema) => {
    describeOldHome(async () => ({ old: openOldHome(schema, "homes"), env }));
    testOldBackup(async () => ({ old: openOldHome(schema, "homes"), env }));
  },
);

describe("a home of schema 1 that version 0.1.0 has upgraded, whose jobs are put into frames", () => {
  describeOldHome(async () => ({ old: openOldHome(1, "passed"), env }));
});

test("a hub that finds rows puts them into frames once, unless it is to keep rows", async () => {
  const old = openOldHome(oldest, "homes");
  const path = join(old.home, "writ.sqlite");
  const start = async (form: string) => {
    const clock = clockAfter(old.made);
    const hub = await startTestHub({ ...stillEnv, WRIT_SQLITE_FORM: form }, { home: old.home, clock });
    await hub.stop({ keepHome: true });
    return readFileForm(path);
  };
  expect(await start("rows")).toBe("rows");
  expect(await start("frames")).toBe("frames");
  expect(await start("rows")).toBe("frames");
  old.remove();
});
