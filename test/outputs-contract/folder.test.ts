import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FolderOutputs } from "../../src/output/folder/folder-outputs.ts";
import { describeOutputs } from "./describe-outputs.ts";

describeOutputs("a folder", () => {
  const root = mkdtempSync(join(tmpdir(), "writ-outputs-"));
  return {
    open: () => new FolderOutputs(root),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
});
