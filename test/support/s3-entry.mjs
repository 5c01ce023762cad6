// An S3-compatible server as a process of its own: prints its port when it listens.
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import S3rver from "@20minutes/s3rver";
import S3Error from "@20minutes/s3rver/lib/models/error.js";
import router from "@20minutes/s3rver/lib/routes.js";

const [directory, bucket] = process.argv.slice(2);

// What the server lacks of uploads in parts, as S3 has it: to list them, to abort them, and to know none that has ended.
for (const layer of router.stack.filter(({ path }) => path === "/:bucket/*key")) {
  if (layer.methods.length > 0 && layer.methods.length < 4) layer.stack.unshift(parts);
}

async function parts(ctx, next) {
  const { uploadId } = ctx.query;
  if (uploadId === undefined) return next();
  const dir = join(ctx.store.getResourcePath(ctx.params.bucket, undefined, "uploads"), uploadId);
  if (!existsSync(dir)) throw Object.assign(new S3Error("NoSuchUpload", "no such upload"), { status: 404 });
  if (ctx.method === "GET") ctx.body = listOf(dir, Number(ctx.query["part-number-marker"] ?? 0));
  else if (ctx.method === "DELETE") {
    rmSync(dir, { recursive: true });
    ctx.status = 204;
  } else return next();
}

/** A page of three, so that there are pages. */
function listOf(dir, marker) {
  const numbers = readdirSync(dir).filter((name) => existsSync(join(dir, `${name}.md5`)));
  const rest = numbers
    .map(Number)
    .filter((number) => number > marker)
    .sort((a, b) => a - b);
  const page = rest.slice(0, 3);
  const partOf = (number) => ({
    PartNumber: number,
    ETag: JSON.stringify(readFileSync(join(dir, `${number}.md5`), "utf8")),
    Size: statSync(join(dir, String(number))).size,
  });
  const more = { IsTruncated: page.length < rest.length, NextPartNumberMarker: page.at(-1) ?? 0 };
  return { ListPartsResult: { ...more, Part: page.map(partOf) } };
}

const server = new S3rver({
  directory,
  address: "127.0.0.1",
  port: 0,
  silent: true,
  vhostBuckets: false,
  configureBuckets: [{ name: bucket, configs: [] }],
});
const { port } = await server.run();
process.stdout.write(`${port}\n`);
