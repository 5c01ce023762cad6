import { status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { readAll, refusalIn, rpcHubForAll, stubFor } from "./rpc-hub.ts";

const hub = rpcHubForAll({ WRIT_OUTPUT_STREAMS_MAX: "1" });

test("A13: a certificate has so many streams of output, until one of them ends", async () => {
  const stub = stubFor(hub, hub.root);
  const { job_id } = await stub.call<{ job_id: string }>("StartJob", { command: ["true"] });
  const read = (stream: string) =>
    readAll(stub.stream({ job_id, stream })).then(() => "it ended well", refusalIn);
  const both = [read("STDOUT"), read("STDERR")];
  expect(await Promise.race(both)).toMatchObject({
    code: status.RESOURCE_EXHAUSTED,
    writCode: "TOO_MANY_STREAMS",
    details: "this certificate: 1 output streams are open, and no more are allowed; close one of them first",
  });
  await stub.call("StopJob", { job_id });
  expect(await Promise.all(both)).toContain("it ended well");
  expect(await read("STDERR")).toBe("it ended well");
  stub.close();
});
