import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

export const deployDir = join(import.meta.dirname, "../../deploy");

export type ComposeService = {
  image: string;
  build?: { target: string };
  networks?: string[];
  entrypoint?: string[];
  command?: string[];
  environment?: Record<string, string>;
  volumes?: string[];
  tmpfs?: string[];
  cap_add?: string[];
  cap_drop?: string[];
  security_opt?: string[];
  read_only?: boolean;
  stop_grace_period?: string;
  healthcheck?: { test: string[] };
  depends_on?: Record<string, { condition: string }>;
};

export type ComposeFile = {
  services: Record<string, ComposeService>;
  networks: Record<string, unknown>;
  volumes: Record<string, unknown>;
};

/** The file that is used alone, and those that add to it. */
export const composeFiles = ["compose.yaml", "compose.postgres.yaml"] as const;

/** What these files say together: as compose does, a later one replaces or adds values of maps and adds to lists. */
export function readCompose(names: readonly string[] = ["compose.yaml"]): ComposeFile {
  const files = names.map((name) => parse(readFileSync(join(deployDir, name), "utf8"), { merge: true }));
  return files.reduce((whole, file) => combine(whole, file));
}

function combine(before: unknown, after: unknown): never {
  if (Array.isArray(before) && Array.isArray(after)) return [...before, ...after] as never;
  if (!isMap(before) || !isMap(after)) return after as never;
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const entries = [...names].map((name) => [
    name,
    name in before && name in after ? combine(before[name], after[name]) : (after[name] ?? before[name]),
  ]);
  return Object.fromEntries(entries) as never;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
