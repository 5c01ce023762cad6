import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    runFolder: string;
  }
}

let folder: string | null = null;

/** A folder for what the tests of a run share. */
export function setup(project: TestProject): void {
  folder = mkdtempSync(join(tmpdir(), "writ-test-run-"));
  project.provide("runFolder", folder);
}

export function teardown(): void {
  if (folder !== null) rmSync(folder, { recursive: true, force: true });
}
