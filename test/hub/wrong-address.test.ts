import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stillEnv } from "../support/hub.ts";
import { runCli } from "../support/run-cli.ts";
import { hubForAll } from "../support/use-hub.ts";

const hub = hubForAll(stillEnv);

async function listAt(scheme: "http" | "https", port: number, ...flags: string[]): Promise<string> {
  const args = ["list", "--hub", `${scheme}://127.0.0.1:${port}`, "--token", hub.admin, ...flags];
  const { code, stderr } = await runCli("jobctl", args, { env: { HOME: hub.home } });
  expect(code).toBe(6);
  return stderr;
}

function grpcPort(): number {
  return (JSON.parse(readFileSync(join(hub.home, "hub.json"), "utf8")) as { grpc_port: number }).grpc_port;
}

test("https to a hub without TLS is answered with http, and not with the advice to start a hub", async () => {
  const said = await listAt("https", hub.port);
  expect(said).toContain(`127.0.0.1:${hub.port} does not speak TLS; if it is the hub's address, use http://`);
  expect(said).not.toContain("writ up");
});

test("the gRPC port in place of the HTTP port is recognised, with either scheme", async () => {
  expect(await listAt("http", grpcPort())).toContain("gRPC port instead of the HTTP port");
  expect(await listAt("https", grpcPort())).toContain("use the hub's HTTP port");
  const ca = join(hub.home, "certs/ca.crt");
  expect(await listAt("https", grpcPort(), "--ca", ca)).toContain("use the hub's HTTP port");
});
