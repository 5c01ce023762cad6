import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import type { ObjectPlace } from "../../src/objects/objects.ts";
import { S3Calls, type S3Request } from "../../src/objects/s3/s3-calls.ts";
import { S3Objects } from "../../src/objects/s3/s3-objects.ts";
import { objectUrl } from "../../src/objects/s3/s3-settings.ts";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { sha256Hex } from "../../src/signing/mac.ts";
import { startS3Server } from "../support/s3-server.ts";
import { startedForAll } from "../support/use-hub.ts";

const python = "/usr/bin/python3";
const hasBoto = spawnSync(python, ["-c", "import boto3"]).status === 0;
if (!hasBoto) console.warn("NOT TESTED: signatures against boto3; install the Debian package python3-boto3");
const capable = hasBoto ? "" : " (not capable: no python3-boto3)";

const s3 = startedForAll(startS3Server);
const text = "forty-two";
const whole = { size: text.length, sha256: sha256Hex(text) };
const place: ObjectPlace = {
  id: "0198c0de-0000-7000-8000-000000000001",
  tenantId: "acme",
  folderId: "results",
  objectKey: "runs/1/a+b=c@d.txt",
  storeUpload: null,
  storedAs: null,
};

type Report = { presigned: string[]; sent: { status: number; text: string }[]; client: string[] };

/** Not by spawnSync: what it calls is served by this process. */
async function boto(asked: object): Promise<Report> {
  const { endpoint, bucket, region, accessKey, secretKey } = s3.settings;
  const settings = { endpoint, bucket, region, access_key: accessKey, secret_key: secretKey };
  const script = join(import.meta.dirname, "boto-client.py");
  const child = spawn(python, [script], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(JSON.stringify({ ...settings, ...asked }));
  return (await json(child.stdout)) as Report;
}

/** A URL as a set of facts: the order of its query means nothing. */
function factsOf(url: string) {
  const { origin, pathname, searchParams } = new URL(url);
  return { origin, path: decodeURIComponent(pathname), query: Object.fromEntries(searchParams) };
}

describe.skipIf(!hasBoto)(`boto3 and Writ sign alike${capable}`, () => {
  const nowMs = Date.UTC(2026, 10, 16, 13, 37, 42);
  const time = "20261116T133742Z";

  test.each<[string, S3Request]>([
    ["a download", { method: "GET", key: "acme/results/1/a+b=c@d.txt" }],
    [
      "a download under a name",
      {
        method: "GET",
        key: "acme/results/1/a.txt",
        query: { "response-content-disposition": 'attachment; filename="a b+c.txt"' },
      },
    ],
    [
      "an upload of one size and checksum",
      {
        method: "PUT",
        key: "acme/results/.uploads/1",
        headers: {
          "content-length": "9",
          "x-amz-checksum-sha256": "q80wAmnTuBHxUlgg4Pxxw5EDzbZmJ4w0Y/+e1vgTSJQ=",
        },
      },
    ],
    [
      "a part of an upload",
      {
        method: "PUT",
        key: "acme/results/.uploads/1",
        query: { partNumber: "3", uploadId: "a/b+c=d" },
        headers: { "content-length": "1048576" },
      },
    ],
  ])("%s", async (_, request) => {
    const calls = new S3Calls(s3.settings, { ...systemClock, nowMs: () => nowMs });
    const ours = await calls.presign(request, 900);
    const { method, key, query = {}, headers = {} } = request;
    const one = { method, url: objectUrl(s3.settings, key).href, query, headers, expires: 900 };
    const [theirs] = (await boto({ time, presign: [one] })).presigned;
    expect(factsOf(ours)).toEqual(factsOf(theirs!));
  });

  test("and each uses the URLs of the other", async () => {
    const objects = new S3Objects(s3.settings, systemClock);
    const upload = await objects.uploadUrls(place, { ...whole, expiresInSec: 900 });
    const put = { method: "PUT", url: upload.url, headers: upload.headers, body: text };
    const wrong = { ...put, body: "forty-one!" };
    const { sent } = await boto({
      send: [{ ...wrong, headers: { ...upload.headers, "content-length": "10" } }, put],
    });
    expect(sent.map(({ status }) => status)).toEqual([403, 200]);
    const storedAs = await objects.complete(place, { ...whole, parts: [] });
    const url = await objects.downloadUrl({ ...place, storedAs }, { expiresInSec: 60 });
    const get = { method: "GET", url, headers: {} };
    expect((await boto({ send: [get] })).sent).toEqual([{ status: 200, text }]);

    const key = `acme/results/${place.id}/${storedAs}/${place.objectKey}`;
    const [theirs] = (await boto({ client: [{ call: "get_object", key, expires: 60 }] })).client;
    expect(await (await fetch(theirs!)).text()).toBe(text);
  });
});
