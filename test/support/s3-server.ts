import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { S3Settings } from "../../src/objects/s3/s3-settings.ts";
import { type S3Proxy, startS3Proxy } from "./s3-proxy.ts";

export type S3Server = {
  /** How to reach it, through the proxy. */
  settings: S3Settings;
  /** The same, as settings of a hub. */
  env: Record<string, string>;
  /** Somebody between it and its callers, who can break things. */
  proxy: S3Proxy;
  /** The keys that the bucket has. */
  keys(): string[];
  stop(): Promise<void>;
};

const bucket = "writ-files";
const entry = join(import.meta.dirname, "s3-entry.mjs");

/** A real S3-compatible server, in a process of its own. */
export async function startS3Server(): Promise<S3Server> {
  const directory = mkdtempSync(join(tmpdir(), "writ-s3-"));
  const child = spawn(process.execPath, [entry, directory, bucket], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  const proxy = await startS3Proxy(Number(line));
  const settings: S3Settings = {
    endpoint: proxy.url,
    bucket,
    region: "us-east-1",
    accessKey: "S3RVER",
    secretKey: "S3RVER",
    pathStyle: true,
  };
  return {
    settings,
    env: {
      WRIT_S3_ENDPOINT: settings.endpoint,
      WRIT_S3_BUCKET: bucket,
      WRIT_S3_ACCESS_KEY: settings.accessKey,
      WRIT_S3_SECRET_KEY: settings.secretKey,
    },
    proxy,
    keys: () => keysIn(join(directory, bucket)),
    async stop() {
      await proxy.stop();
      child.kill();
      await once(child, "exit");
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** The server keeps an object in three files, whose names begin with its key. */
function keysIn(root: string): string[] {
  const names = readdirSync(root, { recursive: true }) as string[];
  const objects = names.filter((name) => name.endsWith("._S3rver_object"));
  return objects.map((name) => name.slice(0, -"._S3rver_object".length)).sort();
}
