// An S3-compatible server as a process of its own: prints its port when it listens.
import S3rver from "@20minutes/s3rver";

const [directory, bucket] = process.argv.slice(2);
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
