import { z } from "zod";
import { storageMethods } from "../../core/storage-policy.ts";
import { anyJson, folderId, integer, jobId, objectKey, queryFlag, sha256Text, text } from "./fields.ts";

/** How many URLs one call may ask for. */
export const fileUrlsMax = 100;

const size = integer(0, Number.MAX_SAFE_INTEGER);

const urlRequest = {
  folderId,
  objectKey,
  method: z.enum(storageMethods, "must be PUT, GET, HEAD or DELETE"),
  size: size.optional(),
  sha256: sha256Text.optional(),
};

/** What somebody wants to do with files. `size` and `sha256` are those of the bytes that will be put. */
export const fileUrlsRequest = z.array(z.strictObject(urlRequest)).min(1).max(fileUrlsMax);

/**
 * The same for a job. Whether its key is one, and one of its own, is decided together: both are refused alike, and recorded
 * as they were asked for.
 */
const askedText = (max: number) => z.string().min(1).max(max);
export const jobFileUrlsRequest = z
  .array(z.strictObject({ ...urlRequest, folderId: askedText(200), objectKey: askedText(4096) }))
  .min(1)
  .max(fileUrlsMax);
export type FileUrlRequest = z.infer<typeof jobFileUrlsRequest>[number];

/** One part of a file that its store takes in parts, to be put separately. */
const part = z.object({
  number: z.int(),
  offset: z.int(),
  size: z.int(),
  url: z.string(),
  etag: z
    .string()
    .optional()
    .meta({ description: "The part has arrived already: list it with this tag, and do not put it again" }),
});

const fileUrl = z.object({
  folderId: z.string(),
  objectKey: z.string(),
  method: z.enum(storageMethods),
  url: z.string(),
  headers: z
    .record(z.string(), z.string())
    .optional()
    .meta({ description: "Headers that must be sent, exactly as they are" }),
  parts: z.array(part).optional().meta({ description: "Put each part to its own URL instead of `url`" }),
  complete_url: z
    .string()
    .optional()
    .meta({ description: "Post to it when everything has been put; the file exists from then on" }),
});
export type FileUrl = z.infer<typeof fileUrl>;
export const fileUrls = z.object({ urls: z.array(fileUrl) });

/** The part of it that somebody needs who has asked to put one file. */
export const putUrls = z.object({
  urls: z.tuple(
    [
      fileUrl
        .pick({ headers: true, parts: true, complete_url: true })
        .extend({ url: z.string().refine((url) => URL.canParse(url)) }),
    ],
    z.unknown(),
  ),
});

/** Null while bytes are missing. */
export const uploadAnswer = z.object({ size: z.int(), sha256: z.string().nullable() });

/** What the store answered to each part; a file that was put whole has none. */
export const completeUploadRequest = z.strictObject({
  parts: z
    .array(z.strictObject({ number: integer(1, 10_000), etag: text(1, 200) }))
    .max(10_000)
    .optional(),
});

export const artifactList = z.object({
  files: z.array(
    z.object({
      folder_id: z.string(),
      object_key: z.string(),
      path: z.string().meta({ description: "The key without the prefix of the job's output location" }),
      size: z.int(),
      sha256: z.string(),
      available: z.boolean().meta({ description: "Whether it can still be downloaded" }),
    }),
  ),
});
export type ArtifactList = z.infer<typeof artifactList>;

export const startByTokenRequest = z.strictObject({}).optional();

/** The end of an attempt as the job itself reports it. The hub knows size and hash of the files that have arrived. */
export const completeByTokenRequest = z.strictObject({
  success: z.boolean(),
  result: anyJson.optional(),
  error: z.strictObject({ code: text(1, 100).optional(), message: text(1, 4000) }).optional(),
  exit_code: integer(-1, 255).optional(),
  outputFiles: z.array(z.strictObject({ folderId, objectKey })).max(10_000).optional(),
});
export type CompleteByTokenRequest = z.infer<typeof completeByTokenRequest>;

export const artifactParams = z.strictObject({ id: jobId, key: objectKey });
export const artifactQuery = z.strictObject({
  folder_id: folderId.optional(),
  preview: queryFlag
    .optional()
    .meta({ description: "Serve it as a picture: a file of at most 8 MiB that is named like one" }),
});

/** The part of a signed URL that says what may be done; only the hub reads it. */
export const ticketParams = z.strictObject({
  ticket: z.string().regex(/^[A-Za-z0-9_-]{1,8000}\.[A-Za-z0-9_-]{43}$/, "is not a part of a signed URL"),
});
