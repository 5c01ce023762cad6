import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import { removeHome } from "../support/remove-home.ts";

const fixtures = join(import.meta.dirname, "fixtures");

/**
 * The folders of the fixtures: homes with their database in a file; those whose database was in PostgreSQL; and those from
 * before version 0.1.0 whose file that version has upgraded.
 */
type Kind = "homes" | "postgres" | "passed";

type Lease = { worker_id: string; attempt: number; token: string };

/** What `make-home.mjs` knows of the home that it made. */
export type Made = {
  commit: string;
  schema: number;
  /** Of its backup. Homes that were made before 0.1.0 have none. */
  passphrase?: string;
  jobs: Record<string, { id: string; lease?: Lease }>;
  shown: Record<string, JobView>;
  tokens: { user: string; worker: string };
};

/** `dump` is the file with the database, if that was in PostgreSQL; `backup` what `writ backup` wrote, `passphrase` its own. */
export type OldHome = {
  home: string;
  made: Made;
  dump: string;
  backup: { file: string; passphrase: string };
  remove(): void;
};

/** The schemas of which there is a home, oldest first. */
export function schemasOfHomes(kind: Kind): number[] {
  return readdirSync(join(fixtures, kind))
    .map((name) => Number(/^schema-(\d+)\.tar\.gz$/.exec(name)?.[1]))
    .sort((a, b) => a - b);
}

/** Unpacks the home of a hub that made it with this schema. */
export function openOldHome(schema: number, kind: Kind): OldHome {
  const dir = mkdtempSync(join(tmpdir(), "writ-old-home-"));
  const file = join(fixtures, kind, `schema-${String(schema).padStart(3, "0")}.tar.gz`);
  execFileSync("tar", ["-xzf", file, "--no-same-owner", "-C", dir]);
  const made = JSON.parse(readFileSync(join(dir, "made.json"), "utf8")) as Made;
  return {
    home: join(dir, "home"),
    made,
    dump: join(dir, "writ.sql"),
    backup: { file: join(dir, "backup.writ"), passphrase: made.passphrase ?? "" },
    remove: () => removeHome(dir),
  };
}
