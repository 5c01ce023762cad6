import { z } from "zod";
import { jobId } from "../shapes/fields.ts";
import { failAnswer } from "../shapes/report-shapes.ts";
import * as shapes from "../shapes/storage-shapes.ts";
import { bodyBytes, route } from "./route.ts";

const jobParams = z.strictObject({ id: jobId });
const leaseLost = { description: "LEASE_LOST: another attempt has started, or the job has ended" };
const fileRemoved = { description: "FILE_REMOVED: the file is known, but its bytes are no longer stored" };
const urls = { description: "A URL for each request, in their order", shape: shapes.fileUrls };

const uploadHeaders = { "Upload-Offset": "How many bytes have arrived" } as const;
const objectHeaders = {
  ETag: "The SHA-256 of the whole file",
  "Upload-Offset": "HEAD on the URL of an upload: how many bytes have arrived",
  "Upload-Complete": "HEAD on the URL of an upload: ?1 if the file is complete",
} as const;

/** A picture only by the URL of a preview. */
const bytesOrPicture = { type: "application/octet-stream", alsoType: "image/*" } as const;

/** Files: the inputs and outputs of jobs. */
export const fileRoutes = {
  presignFiles: route({
    method: "POST",
    mayRepeat: true,
    path: "/files/presigned-urls",
    who: ["user"],
    summary: "Get URLs, valid for 15 minutes, to put, get, look at or delete files of one's own",
    body: shapes.fileUrlsRequest,
    bodyBytesMax: bodyBytes.ordinary,
    answers: { 200: urls, 410: fileRemoved },
  }),
  listArtifacts: route({
    method: "GET",
    path: "/jobs/:id/artifacts",
    who: ["user", "viewer"],
    summary: "List the files that the job has stored",
    params: jobParams,
    answers: { 200: { description: "The files", shape: shapes.artifactList } },
  }),
  getArtifact: route({
    method: "GET",
    path: "/jobs/:id/artifacts/:key",
    tail: "key",
    who: ["user", "viewer"],
    summary: "Redirect to a URL, valid for 15 minutes, of a file that the job has stored",
    params: shapes.artifactParams,
    query: shapes.artifactQuery,
    answers: { 302: { description: "Where the file is", headers: { Location: "The URL of the file" } } },
  }),
  startByToken: route({
    method: "POST",
    mayRepeat: true,
    path: "/docker/jobs/:id/start",
    who: "job token",
    summary: "A job reports with its own token that it has started",
    params: jobParams,
    body: shapes.startByTokenRequest,
    answers: { 204: { description: "Done" }, 409: leaseLost },
  }),
  presignByToken: route({
    method: "POST",
    mayRepeat: true,
    path: "/docker/jobs/:id/request-presigned-urls",
    who: "job token",
    summary: "A job gets URLs for the files that its policy allows, and for its inputs",
    params: jobParams,
    body: shapes.jobFileUrlsRequest,
    bodyBytesMax: bodyBytes.ordinary,
    answers: { 200: urls, 409: leaseLost, 410: fileRemoved },
  }),
  completeByToken: route({
    method: "POST",
    mayRepeat: true,
    path: "/docker/jobs/:id/complete",
    who: "job token",
    summary: "A job reports with its own token how it has ended, and which files it has put",
    params: jobParams,
    body: shapes.completeByTokenRequest,
    bodyBytesMax: bodyBytes.ending,
    answers: {
      200: { description: "The state of the job", shape: failAnswer },
      409: { description: "LEASE_LOST, or FILES_INCOMPLETE with the files that have not arrived" },
    },
  }),
  putObject: route({
    method: "PUT",
    path: "/objects/:ticket",
    who: "signed URL",
    summary: "Put a file, or continue an interrupted upload",
    params: shapes.ticketParams,
    bodyKind: "stream",
    headers: {
      "Content-Length": { description: "The size of the body" },
      "Content-Range": { description: "Which bytes of the file the body has, such as `bytes 100-199/200`" },
    },
    answers: {
      201: {
        description: "The file is complete, with these bytes",
        shape: shapes.uploadAnswer,
        headers: uploadHeaders,
      },
      202: { description: "More is to come", shape: shapes.uploadAnswer, headers: uploadHeaders },
      409: {
        description:
          "UPLOAD_OFFSET with the number of bytes that have arrived, LEASE_LOST, or other bytes than the URL has completed",
      },
    },
  }),
  getObject: route({
    method: "GET",
    path: "/objects/:ticket",
    who: "signed URL",
    summary: "Get a file; HEAD answers without its bytes, and how far an upload has come",
    params: shapes.ticketParams,
    headers: { Range: { description: "One range of bytes, such as `bytes=0-1023`" } },
    answers: {
      200: { description: "The bytes", ...bytesOrPicture, headers: objectHeaders },
      206: {
        description: "A range of them",
        ...bytesOrPicture,
        headers: { ...objectHeaders, "Content-Range": "Which range, and the size of the file" },
      },
    },
  }),
  removeObject: route({
    method: "DELETE",
    path: "/objects/:ticket",
    who: "signed URL",
    summary: "Delete a file",
    params: shapes.ticketParams,
    answers: { 204: { description: "The file is gone" } },
  }),
  completeUpload: route({
    method: "POST",
    mayRepeat: true,
    path: "/objects/:ticket",
    who: "signed URL",
    summary: "Tell the hub that everything was put into the store",
    params: shapes.ticketParams,
    body: shapes.completeUploadRequest.optional(),
    bodyBytesMax: bodyBytes.batch,
    answers: { 200: { description: "The file is complete", shape: shapes.uploadAnswer } },
  }),
} as const;
