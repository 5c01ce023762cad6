import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openAuditReader } from "../../src/store/framed/reads/audit-reader.ts";
import { framedTamper } from "./framed-tamper.ts";
import { openFramedWithoutThread } from "./framed-without-thread.ts";
import { macKey } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";

export function framedUnderTest(open = openFramedWithoutThread): StoreUnderTest & { path: string } {
  const folder = mkdtempSync(join(tmpdir(), "writ-framed-"));
  const path = join(folder, "writ.db");
  return {
    path,
    open: () => open({ path, macKey }),
    openAuditReader: async () => openAuditReader(path),
    tamper: framedTamper(path),
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  };
}
