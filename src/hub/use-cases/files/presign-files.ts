import type { FileUrl, FileUrlRequest } from "../../../contract/shapes/storage-shapes.ts";
import { invalidArgument, WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import { defaultTenant } from "../../../core/identity.ts";
import type { StoreServed, UploadUrls } from "../../../objects/objects.ts";
import type { StoredObject } from "../../../store/object-store.ts";
import type { HubDeps } from "../../deps.ts";
import { bytesGone, hasBytes } from "./bytes-present.ts";
import { type FileTicket, makeTicket, urlSec } from "./file-ticket.ts";
import { finishUploads } from "./finish-upload.ts";
import { checkOutcome } from "./over-quota.ts";

/**
 * The owner of the URLs: a person, or the attempt of a job. A null reader may read the files of every user in the
 * tenant.
 */
type FileOwner = {
  tenantId: string;
  userId: string;
  readerId: string | null;
  jobId: string | null;
  attempt: number | null;
};

type PresignCall = {
  owner: FileOwner;
  identity: Identity;
  origin: Origin;
  requests: FileUrlRequest[];
  /** The hash of the file that a GET or HEAD is for; without one it is the newest file. */
  wantedSha256?(request: FileUrlRequest): string | undefined;
  /** The hub's address as the caller has reached it, without a path. */
  hubUrl: string;
};

/** How long an upload may pause before its bytes are removed. */
export const uploadRestMs = 24 * 3_600_000;

/** A person owns files; an administrator of the tenant may read those of every user. */
export function ownerOf({ tenantId, userId, role }: Identity): FileOwner {
  const readerId = role === "admin" ? null : userId;
  return { tenantId: tenantId ?? defaultTenant, userId, readerId, jobId: null, attempt: null };
}

/** URLs for files, in the order of the requests: all of them, or none. Why: ADR 0041, ADR 0054. */
export async function presignFiles(deps: HubDeps, call: PresignCall): Promise<FileUrl[]> {
  const { owner, requests } = call;
  checkSizes(deps, requests);
  const nowMs = deps.clock.nowMs();
  const puts = requests.filter(({ method }) => method === "PUT");
  const uploads = puts.map(({ folderId, objectKey, size = null, sha256 }) => ({
    id: deps.ids.jobId(nowMs),
    ...placeOf(owner, { folderId, objectKey }),
    size,
    sha256: sha256?.replace(/^sha256:/, "") ?? null,
  }));
  const found = await Promise.all(
    requests.map((request) => findFile(deps, owner, request, call.wantedSha256?.(request))),
  );
  const outcome =
    uploads.length === 0
      ? { kind: "opened" as const, ids: [] }
      : await deps.store.openUploads({ uploads, nowMs, expiresAt: nowMs + uploadRestMs });
  const ids = await checkOutcome(deps, call, outcome);
  let next = 0;
  const urls: FileUrl[] = [];
  for (const [index, request] of requests.entries()) {
    const upload = request.method === "PUT" ? { ...uploads[next]!, id: ids[next++]! } : null;
    urls.push(
      upload === null ? await readUrl(deps, call, request, found[index]!) : await putUrl(deps, call, upload),
    );
  }
  return urls;
}

function placeOf(
  { tenantId, userId, jobId, attempt }: FileOwner,
  key: { folderId: string; objectKey: string },
) {
  return { tenantId, userId, jobId, attempt, ...key };
}

/** An object store that receives files directly needs their size and hash in advance. */
function checkSizes({ objects }: HubDeps, requests: FileUrlRequest[]): void {
  if (objects.servedBy === "hub") return;
  for (const [index, { method, size, sha256 }] of requests.entries()) {
    if (method !== "PUT") continue;
    const path = size === undefined ? "size" : sha256 === undefined ? "sha256" : null;
    if (path === null) continue;
    const message = "is required, because this hub's files are put into its object store directly";
    throw invalidArgument({ path: `[${index}].${path}`, message });
  }
}

/** The file that a GET or HEAD is for. */
async function findFile(
  deps: HubDeps,
  owner: FileOwner,
  request: FileUrlRequest,
  sha256: string | undefined,
): Promise<StoredObject | null> {
  const { folderId, objectKey, method } = request;
  if (method === "PUT" || method === "DELETE") return null;
  const { tenantId, readerId, userId } = owner;
  const key = { tenantId, folderId, objectKey };
  const find = (ofUser: string | null) =>
    deps.store.findObject({ ...key, userId: ofUser, nowMs: deps.clock.nowMs() });
  const findNamed = () =>
    deps.store.findObject({ ...key, userId: readerId, sha256, nowMs: deps.clock.nowMs() });
  const file =
    (sha256 === undefined ? null : await findNamed()) ??
    (await find(readerId)) ??
    ((await finishUploads(deps, { ...key, userId })) ? await find(readerId) : null);
  if (file !== null && (await hasBytes(deps, file))) return file;
  if (file !== null) throw bytesGone(deps, file, file.size ?? 0);
  if (readerId !== null && (await find(null)) !== null) {
    throw new WritError("PERMISSION_DENIED", `${folderId}/${objectKey} belongs to another user`);
  }
  throw new WritError("NOT_FOUND", `there is no file ${folderId}/${objectKey}`);
}

type Upload = Omit<FileTicket, "method" | "expiresAt"> & { id: string; userId: string };

async function putUrl(deps: HubDeps, call: PresignCall, upload: Upload): Promise<FileUrl> {
  const { folderId, objectKey, size, sha256 } = upload;
  const { objects } = deps;
  const shown = { folderId, objectKey, method: "PUT" as const };
  if (objects.servedBy === "hub")
    return { ...shown, url: ticketUrl(deps, call.hubUrl, { ...upload, method: "PUT" }) };
  const urls = await storeUrls({ ...deps, objects }, upload, { size: size!, sha256: sha256! });
  return {
    ...shown,
    ...urls,
    complete_url: ticketUrl(deps, call.hubUrl, { ...upload, method: "POST" }),
  };
}

/** URLs of the object store itself. Simultaneous calls that begin an upload in parts all use the first one's. */
async function storeUrls(
  { objects, store, clock }: HubDeps & { objects: StoreServed },
  upload: Upload,
  facts: { size: number; sha256: string },
): Promise<Omit<UploadUrls, "storeUpload">> {
  const signed = { ...facts, expiresInSec: urlSec };
  const known = await store.getObject({ id: upload.id, nowMs: clock.nowMs() });
  const [was, storedAs] = [known?.storeUpload ?? null, known?.storedAs ?? null];
  const place = { ...upload, storeUpload: was, storedAs };
  const { storeUpload = was, ...urls } = await objects.uploadUrls(place, signed);
  if (storeUpload === was) return urls;
  const first = await store.noteStoreUpload({ id: upload.id, was, storeUpload });
  if (first === storeUpload) return urls;
  await objects.giveUpParts({ ...place, storeUpload });
  const { storeUpload: _, ...firstUrls } = await objects.uploadUrls({ ...place, storeUpload: first }, signed);
  return firstUrls;
}

async function readUrl(
  deps: HubDeps,
  { owner, hubUrl }: PresignCall,
  { folderId, objectKey, method }: FileUrlRequest,
  file: StoredObject | null,
): Promise<FileUrl> {
  const shown = { folderId, objectKey, method };
  if (method === "GET") return { ...shown, url: await downloadUrl(deps, hubUrl, file!) };
  if (file !== null) return { ...shown, url: ticketUrl(deps, hubUrl, { ...ticketOf(file), method: "HEAD" }) };
  const everything = { ...placeOf(owner, { folderId, objectKey }), userId: owner.readerId };
  return {
    ...shown,
    url: ticketUrl(deps, hubUrl, { ...everything, id: null, size: null, sha256: null, method: "DELETE" }),
  };
}

/** The URL at which the bytes of a file can be read for the next minutes: as a download, or as a picture of a type. */
export async function downloadUrl(
  deps: HubDeps,
  hubUrl: string,
  file: StoredObject,
  imageType?: string,
): Promise<string> {
  const { objects } = deps;
  if (objects.servedBy === "store") return objects.downloadUrl(file, { expiresInSec: urlSec, imageType });
  const shown = imageType === undefined ? {} : { imageType };
  return ticketUrl(deps, hubUrl, { ...ticketOf(file), method: "GET", ...shown });
}

function ticketOf(file: StoredObject): Omit<FileTicket, "method" | "expiresAt"> {
  const { id, tenantId, userId, folderId, objectKey, jobId, attempt, size, sha256 } = file;
  return { id, tenantId, userId, folderId, objectKey, jobId, attempt, size, sha256 };
}

function ticketUrl(
  { keys, clock }: HubDeps,
  hubUrl: string,
  {
    method,
    id,
    tenantId,
    userId,
    folderId,
    objectKey,
    jobId,
    attempt,
    size,
    sha256,
    imageType,
  }: Omit<FileTicket, "expiresAt">,
): string {
  const expiresAt = clock.nowMs() + urlSec * 1000;
  const shown = imageType === undefined ? {} : { imageType };
  const file = { id, tenantId, userId, folderId, objectKey, jobId, attempt, size, sha256, ...shown };
  return `${hubUrl}/api/v1/objects/${makeTicket(keys.macKey, { method, ...file, expiresAt })}`;
}
