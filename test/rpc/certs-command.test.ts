import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { rpcHubForAll, stubFor } from "./rpc-hub.ts";

const root = join(import.meta.dirname, "../..");
const hub = rpcHubForAll();
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "writ-certs-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Said = { code: number; stdout: string; stderr: string };

const writ = (...args: string[]): Promise<Said> => writIn(hub.home, "certs", ...args);

async function writIn(home: string, ...args: string[]): Promise<Said> {
  const all = [join(root, "src/cli/writ.ts"), ...args, "--home", home];
  const options = { env: { PATH: process.env["PATH"] } };
  return promisify(execFile)(process.execPath, all, options).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

test.each([
  [["issue", "--user", "a b", "--out", "x"], /user: must be 1 to 50/],
  [["issue", "--user", "alice", "--tenant", "a-b", "--out", "x"], /--tenant <id>.* must be 3 to 50/],
  [["issue", "--user", "alice", "--out", "x", "--url", "ftp://x"], /--url: "ftp:\/\/x" is not a hub address/],
  [["issue", "--user", "alice"], /--out/],
  [["revoke"], /give either a serial number or --user NAME/],
  [["revoke", "xyz"], /serial number has up to 64 hex digits/],
  [["revoke", "--user", "no-user"], /no certificate was issued for no-user/],
])("writ certs %j is refused in one line", async (args, message) => {
  const out = args.indexOf("x");
  const said = await writ(...args.map((word, at) => (at === out ? join(folder, "refused") : word)));
  expect(said.code).toBeGreaterThan(0);
  expect(said.stderr).toMatch(message);
  expect(said.stderr.trim().split("\n")).toHaveLength(1);
});

test("issue into a hub's own home is refused and changes nothing there", async () => {
  const before = readFileSync(join(hub.home, "hub.json"), "utf8");
  const said = await writ("issue", "--user", "alice", "--out", hub.home, "--url", "https://elsewhere:1");
  expect(said).toMatchObject({ code: 2, stdout: "" });
  expect(said.stderr).toBe(`writ: --out: ${hub.home} is a hub's home; name another folder; see --help\n`);
  expect(readFileSync(join(hub.home, "hub.json"), "utf8")).toBe(before);
});

test("of two homes, the one nearest to the command counts", async () => {
  const listed = await writIn(hub.home, "--home", join(folder, "no-home"), "certs", "list", "--json");
  expect(listed).toEqual(await writ("list", "--json"));
  expect(listed.stdout).toContain('"kind":"server"');
});

test("issue fills a private home for another machine, whose certificate works until it is revoked", async () => {
  const out = join(folder, "alice");
  const issued = await writ("issue", "--user", "alice", "--tenant", "acme", "--out", out, "--json");
  const { serial } = JSON.parse(issued.stdout);
  expect(readdirSync(out).sort()).toEqual(["ca.crt", "client.crt", "client.key", "hub.json"]);
  for (const name of ["", ...readdirSync(out)]) expect(statSync(join(out, name)).mode & 0o077).toBe(0);
  expect(JSON.parse(readFileSync(join(out, "hub.json"), "utf8"))).toEqual({
    url: hub.url,
    port: hub.port,
    grpc_port: hub.grpcPort,
  });
  expect((await writ("issue", "--user", "bob", "--out", out)).stderr).toContain(
    "already contains a certificate",
  );

  const read = (name: string) => readFileSync(join(out, name), "utf8");
  const alice = stubFor(
    { grpcPort: hub.grpcPort, ca: read("ca.crt") },
    { cert: read("client.crt"), key: read("client.key") },
  );
  await alice.call("ListJobs", {});
  const listed = (await writ("list", "--json")).stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(listed).toContainEqual(
    expect.objectContaining({ serial, user: "alice", tenant: "acme", role: "user" }),
  );
  expect((await writ("revoke", serial.toLowerCase())).stdout).toBe(`${serial} is revoked\n`);
  // The open connection ends within seconds; then it is the handshake of the next one that is refused.
  expect((await alice.refused("ListJobs", {})).details).toMatch(/certificate (?:is )?revoked/);
  expect((await writ("list")).stdout).toMatch(new RegExp(`${serial} .*alice.*revoked`));
  alice.close();
});

test("a folder that was issued to a person is not made a hub's home, and stays as it was", async () => {
  const out = join(folder, "carol");
  const { serial } = JSON.parse((await writ("issue", "--user", "carol", "--out", out, "--json")).stdout);
  const before = contentOf(out);
  for (const args of [
    ["certs", "issue", "--user", "dave", "--out", join(folder, "dave")],
    ["certs", "init"],
    ["certs", "renew"],
    ["certs", "revoke", serial],
    ["hub", "--port", "0", "--grpc-port", "0"],
  ]) {
    expect(await writIn(out, ...args)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        `${out} is not a hub's home: it has no certs/ca.key; run this on the hub's machine`,
      ),
    });
  }
  expect(contentOf(out)).toEqual(before);
  expect(readdirSync(folder)).not.toContain("dave");
});

test("the certificates of the hub itself are not revoked by mistake", async () => {
  const listed = (await writ("list", "--json")).stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  for (const kind of ["authority", "server"]) {
    const { serial } = listed.find((cert) => cert.kind === kind);
    expect((await writ("revoke", serial)).stderr).toContain(`is the certificate of the ${kind}`);
  }
});

test("a serial that this home did not issue is revoked, with a note that it may be mistyped", async () => {
  expect(await writ("revoke", "abc")).toEqual({
    code: 0,
    stdout: "ABC is revoked\n",
    stderr:
      "note: this home has issued no certificate ABC; unless another authority did, compare the number with `writ certs list`\n",
  });
  const again = await writ("revoke", "abc", "--json");
  expect(JSON.parse(again.stdout)).toEqual({ serial: "ABC", revoked: true, issued_here: false });

  const out = join(folder, "erin");
  const { serial } = JSON.parse((await writ("issue", "--user", "erin", "--out", out, "--json")).stdout);
  const known = await writ("revoke", serial, "--json");
  expect([JSON.parse(known.stdout), known.stderr]).toEqual([
    { serial, revoked: true, issued_here: true },
    "",
  ]);
});

test("renew makes new certificates that work beside the old ones", async () => {
  const before = hub.root.cert;
  expect((await writ("renew")).code).toBe(0);
  const read = (name: string) => readFileSync(join(hub.home, "certs/root", name), "utf8");
  expect(read("client.crt")).not.toBe(before);
  for (const pair of [hub.root, { cert: read("client.crt"), key: read("client.key") }]) {
    const stub = stubFor(hub, pair);
    await stub.call("ListJobs", {});
    stub.close();
  }
});

function contentOf(path: string): string[][] {
  return readdirSync(path).map((name) => [name, readFileSync(join(path, name), "utf8")]);
}
