import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import { createHttpClient } from "../../../runtime/http/http-client.ts";
import type { HubDeps } from "../../deps.ts";
import { findArtifact } from "./list-artifacts.ts";
import { downloadUrl } from "./presign-files.ts";

type Asked = {
  identity: Identity;
  origin: Origin;
  jobId: string;
  key: string;
  folderId: string;
  bytesMax: number;
  signal: AbortSignal;
};

/** An object store may be on another continent. */
const silenceMsMax = 30_000;

/** The bytes of a file that a job has stored, for a caller who may read the job, wherever they are. */
export async function readArtifact(deps: HubDeps, asked: Asked): Promise<Uint8Array> {
  const { key, bytesMax, signal } = asked;
  const { object, size } = await findArtifact(deps, asked);
  if (size > bytesMax) {
    throw new WritError("TOO_LARGE", `${key} has ${size} bytes; at most ${bytesMax} are read at once`);
  }
  const { objects } = deps;
  if (objects.servedBy === "hub") return collect(objects.read(object, { start: 0, end: size }));
  const url = new URL(await downloadUrl(deps, "", object));
  const client = createHttpClient({ baseUrls: [url.origin], clock: deps.clock });
  try {
    const path = `${url.pathname}${url.search}`;
    const { status, body } = await client.openStream({ path, signal, idleTimeoutMs: silenceMsMax });
    if (status !== 200) throw new WritError("FILES_UNAVAILABLE", `the object store answered with ${status}`);
    return await collect(body);
  } finally {
    client.close();
  }
}

async function collect(pieces: AsyncIterable<Buffer>): Promise<Uint8Array> {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}
