import type { fileRoutes } from "../../../contract/routes/file-routes.ts";
import { completeByToken, presignByToken, startByToken } from "../../use-cases/files/act-by-token.ts";
import { completeUpload } from "../../use-cases/files/complete-upload.ts";
import { artifactUrl, listArtifacts } from "../../use-cases/files/list-artifacts.ts";
import { ownerOf, presignFiles } from "../../use-cases/files/presign-files.ts";
import { removeObject } from "../../use-cases/files/remove-object.ts";
import { getObject } from "../bodies/send-object.ts";
import { putObject } from "../bodies/take-object.ts";
import { ticketOf } from "../bodies/ticket-of.ts";
import { type Call, done, type Handlers } from "../call.ts";
import { hubUrlOf } from "../credentials.ts";

export const fileHandlers: Handlers<keyof typeof fileRoutes> = {
  async presignFiles({ deps, identity, origin, body, exchange }) {
    const hubUrl = hubUrlOf(exchange.incoming, deps.settings);
    const owner = ownerOf(identity);
    const urls = await presignFiles(deps, { owner, identity, origin, requests: body, hubUrl });
    return { status: 200, body: { urls } };
  },

  async listArtifacts({ deps, identity, origin, params }) {
    const files = await listArtifacts(deps, { identity, origin, jobId: params.id });
    return { status: 200, body: { files } };
  },

  async getArtifact({ deps, identity, origin, params, query, exchange }) {
    const asked = { identity, origin, jobId: params.id, key: params.key, folderId: query.folder_id };
    const isPreview = query.preview ?? false;
    // A page may show pictures of its own origin only, even if the hub's public address differs.
    const hubUrl = isPreview ? "" : hubUrlOf(exchange.incoming, deps.settings);
    const location = await artifactUrl(deps, { ...asked, hubUrl, isPreview });
    return { status: 302, headers: { Location: location, "Cache-Control": "no-store" } };
  },

  async startByToken(call) {
    await startByToken(call.deps, tokenCall(call));
    return done;
  },

  async presignByToken(call) {
    const { deps, body, exchange } = call;
    const hubUrl = hubUrlOf(exchange.incoming, deps.settings);
    const urls = await presignByToken(deps, { ...tokenCall(call), requests: body, hubUrl });
    return { status: 200, body: { urls } };
  },

  async completeByToken(call) {
    const job = await completeByToken(call.deps, { ...tokenCall(call), body: call.body });
    const { status, runAt } = job;
    return { status: 200, body: { status, ...(status === "pending" ? { run_at: runAt } : {}) } };
  },

  putObject,
  getObject,

  async removeObject(call) {
    await removeObject(call.deps, ticketOf(call));
    return done;
  },

  async completeUpload(call) {
    const parts = call.body?.parts ?? [];
    return { status: 200, body: await completeUpload(call.deps, ticketOf(call), parts) };
  },
};

function tokenCall(call: Call<"startByToken" | "presignByToken" | "completeByToken">) {
  const { identity, origin, params, jobToken } = call;
  return { identity, origin, jobId: params.id, jobToken };
}
