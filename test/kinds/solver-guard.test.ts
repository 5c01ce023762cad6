import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { GuardCase, GuardResult } from "./guard-case.ts";

const root = join(import.meta.dirname, "../..");
const dir = mkdtempSync(join(tmpdir(), "writ-guard-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Addresses that exist in the world of guard-world.ts beside the loopback: public ones, and those to be kept away from. */
const addresses = [
  "93.184.216.34/32",
  "2606:2800:220:1::1/128",
  "169.254.169.254/32",
  "10.0.0.1/32",
  "100.64.0.1/32",
  "192.168.0.1/32",
  "fd00:ec2::254/128",
  "2002:a9fe:a9fe::1/128",
  "64:ff9b::a9fe:a9fe/128",
  "2001:0:4136:e378::1/128",
];
const makeWorld = [
  "ip link set lo up",
  ...addresses.map((address) => `ip addr add ${address} dev lo${address.includes(":") ? " nodad" : ""}`),
  'exec "$@"',
].join(" && ");
const asRoot = process.getuid?.() === 0 ? [] : ["--map-root-user"];
const unshare = ["unshare", ...asRoot, "--net", "sh", "-c", makeWorld, "sh"];

function obstacleOf(): string | null {
  const [command, ...args] = unshare;
  const { status, stderr, error } = spawnSync(command!, [...args, "true"], { encoding: "utf8" });
  return status === 0 ? null : (error?.message ?? stderr.trim().split("\n")[0] ?? "unshare failed");
}

const obstacle = obstacleOf();
const it: typeof test.skip = ((name: string, body: () => void) =>
  obstacle === null ? test(name, body) : test.skip(`${name} (not capable: ${obstacle})`, body)) as never;

/** One world serves all cases of a test. */
function fetchAll(cases: readonly GuardCase[]): (GuardResult & { url: string })[] {
  makeCertificate();
  const [command, ...args] = unshare;
  const program = [join(root, "node_modules/.writ/node"), join(root, "test/kinds/guard-world.ts"), dir];
  const output = execFileSync(command!, [...args, ...program], {
    input: JSON.stringify(cases),
    encoding: "utf8",
    maxBuffer: 64 * 1024 ** 2,
    env: {
      PATH: process.env["PATH"],
      NODE_USE_ENV_PROXY: "1",
      NODE_EXTRA_CA_CERTS: join(dir, "cert.pem"),
      https_proxy: "http://10.0.0.1:80",
    },
  });
  const results = JSON.parse(output) as GuardResult[];
  return results.map((result, index) => ({ ...result, url: cases[index]!.url }));
}

function makeCertificate(): void {
  const names = ["site", "both", "rebind", "mixed", "mixed6"].map((name) => `DNS:${name}.test`);
  const alternatives = [...names, "IP:93.184.216.34"].join(",");
  const files = ["-keyout", join(dir, "key.pem"), "-out", join(dir, "cert.pem")];
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const options = { stdio: "ignore" } as const;
  execFileSync(
    "openssl",
    ["req", ...kind, ...files, "-subj", "/CN=world", "-addext", `subjectAltName=${alternatives}`],
    options,
  );
}

/** Refused, and no server was connected to. */
function expectForbidden(results: readonly (GuardResult & { url: string })[]): void {
  for (const { url, outcome, canaries, bytes } of results) {
    expect({ url, outcome, canaries, bytes }).toEqual({
      url,
      outcome: expect.stringMatching(/^forbidden: /),
      canaries: 0,
      bytes: 0,
    });
  }
}

it("the world is real: public hosts answer, by name and by address, and the canary hears who knocks", () => {
  const results = fetchAll([
    { url: "https://site.test/ok" },
    { url: "https://both.test/ok" },
    { url: "https://93.184.216.34/ok" },
    { url: "http://127.0.0.1/x", allowed: ["127.0.0.1"] },
    { url: "https://unknown.test/x" },
    { url: "https://site.test/missing" },
  ]);
  expect(results.map(({ outcome, canaries }) => [outcome.slice(0, 40), canaries])).toEqual([
    ["fetched", 0],
    ["fetched", 0],
    ["fetched", 0],
    ["failed: the download failed: socket hang", 1],
    ["failed: unknown.test cannot be resolved:", 0],
    ["failed: site.test answered 404", 0],
  ]);
});

it("U-01: no form of this machine's own address is connected to", () => {
  const hosts = ["127.0.0.1", "[::1]", "0", "0x7f000001", "2130706433", "127.1", "localhost.", "localhost"];
  expectForbidden(
    fetchAll(hosts.flatMap((host) => [{ url: `http://${host}/` }, { url: `https://${host}/` }])),
  );
  // A public address of this machine is this machine too, by its number and by its name.
  const own = ["93.184.216.34"];
  expectForbidden(fetchAll([{ url: "https://site.test/ok", own }]));
});

it("U-02: no address inside a network is connected to, whatever its form", () => {
  const hosts = [
    "169.254.169.254",
    "[::ffff:a9fe:a9fe]",
    "[::ffff:169.254.169.254]",
    "[2002:a9fe:a9fe::1]",
    "[64:ff9b::a9fe:a9fe]",
    "[2001:0:4136:e378::1]",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "100.64.0.1",
    "10.0.0.1",
    "192.168.0.1",
  ];
  expectForbidden(fetchAll(hosts.map((host) => ({ url: `https://${host}/latest/meta-data` }))));
});

it("U-03: a name is refused for any bad address among its own, and resolved once for each connection", () => {
  const names = ["private", "metadata", "mixed", "mixed6", "mapped"];
  expectForbidden(fetchAll(names.map((name) => ({ url: `https://${name}.test/ok` }))));

  const [once, twice] = fetchAll([
    { url: "https://rebind.test/ok" },
    { url: "https://rebind.test/to?url=https://rebind.test/ok" },
  ]);
  expect(once).toMatchObject({
    outcome: "fetched",
    canaries: 0,
    questions: ["A rebind.test", "AAAA rebind.test"],
  });
  const [ended] = fetchAll([{ url: "https://site.test/ok", ownLater: ["93.184.216.34"] }]);
  expect(ended).toMatchObject({
    outcome: "forbidden: the connection leads to an address that is this machine's own",
    bytes: 0,
    heads: [],
  });
  expect(twice).toMatchObject({
    outcome: expect.stringMatching(/^forbidden: rebind.test has an address that is loopback$/),
    canaries: 0,
  });
});

it("U-04: every redirect is checked like the first URL, carries nothing along, and there are at most three", () => {
  const targets = [
    "https://127.0.0.1/",
    "http://site.test/ok",
    "https://private.test/",
    "https://site.test:8443/",
    "file:///etc/passwd",
    "https://user:pw@site.test/ok",
    "//169.254.169.254/latest",
    "\\\\10.0.0.1\\x",
  ];
  const to = (url: string) => ({ url: `https://site.test/to?url=${encodeURIComponent(url)}` });
  expectForbidden(fetchAll(targets.map(to)));

  const [moved, three, four, twenty] = fetchAll([
    to("https://both.test/ok"),
    { url: "https://site.test/hops?left=3" },
    { url: "https://site.test/hops?left=4" },
    { url: "https://site.test/hops?left=20" },
  ]);
  expect(moved).toMatchObject({ outcome: "fetched", canaries: 0 });
  const names = moved!.heads.map((head) =>
    head.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase()),
  );
  expect(names).toEqual(Array(2).fill(["host", "accept", "accept-encoding", "user-agent", "connection"]));
  expect(three).toMatchObject({ outcome: "fetched" });
  expect(four).toMatchObject({ outcome: "failed: more than 3 redirects" });
  expect(twenty?.heads.length).toBe(4);
});

it("U-05: other schemes, passwords, strange characters and other ports are refused", () => {
  const urls = [
    "file:///etc/passwd",
    "ftp://site.test/",
    "gopher://site.test/",
    "data:,x",
    "https://a:b@site.test/",
  ];
  const odd = ["\\\\site.test\\x", "https://site.test/ok\r\nx: y"];
  const ports = [22, 25, 80, 6379, 8443].map((port) => `https://site.test:${port}/`);
  expectForbidden(fetchAll([...urls, ...odd, ...ports, "http://site.test/ok"].map((url) => ({ url }))));
});

it("U-06: size and time are limited, nothing is unpacked, and a part never passes for the whole", () => {
  const [large, endless, bomb, silent, mute, drip, cut, unmeasured] = fetchAll([
    { url: "https://site.test/large" },
    { url: "https://site.test/endless" },
    { url: "https://site.test/bomb" },
    { url: "https://site.test/silent", idleMs: 200 },
    { url: "https://site.test/mute", idleMs: 200 },
    { url: "https://site.test/drip", totalMs: 500 },
    { url: "https://site.test/cut" },
    { url: "https://site.test/unmeasured" },
  ]);
  expect(large).toMatchObject({ outcome: "too-large: the file is larger than 1000000 bytes", bytes: 0 });
  expect(endless!.outcome).toBe("too-large: the file is larger than 1000000 bytes");
  expect(endless!.bytes).toBeLessThanOrEqual(1_000_000);
  expect(bomb!.outcome).toBe("fetched");
  expect(bomb!.bytes).toBeLessThan(100_000);
  expect(silent).toMatchObject({ outcome: "failed: the server sent nothing for 0.2 s" });
  expect(mute).toMatchObject({ outcome: "failed: the server sent nothing for 0.2 s" });
  expect(drip!.outcome).toBe("failed: the download took longer than 0.5 s");
  expect(cut!.outcome).toMatch(/^failed: the download failed: /);
  expect(unmeasured!.outcome).toMatch(/^failed: the server did not say how long the file is/);
});

it("hazard 29: a post is under the same guards, and a redirect is an answer and not a way", () => {
  const posts = true;
  const names = ["private", "metadata", "mixed", "mixed6", "mapped"].map((name) => `https://${name}.test/ok`);
  const others = [
    "http://site.test/ok",
    "https://site.test:8443/ok",
    "https://127.0.0.1/",
    "https://localhost/",
  ];
  const addresses = ["https://169.254.169.254/", "https://[::ffff:10.0.0.1]/", "https://10.0.0.1/"];
  expectForbidden(fetchAll([...names, ...others, ...addresses].map((url) => ({ url, posts }))));
  // A public address of this machine is this machine too, even if it became one after the name was resolved.
  const own = ["93.184.216.34"];
  expectForbidden(fetchAll([{ url: "https://site.test/ok", posts, own }]));
  expectForbidden(fetchAll([{ url: "https://site.test/ok", posts, ownLater: own }]));
  const results = fetchAll([
    { url: "https://site.test/ok", posts },
    // Public in the first answer of the name server, this machine in the second, which is not requested.
    { url: "https://rebind.test/ok", posts },
    { url: "https://site.test/to?url=https://10.0.0.1/", posts },
    { url: "https://site.test/endless", posts },
    { url: "https://site.test/mute", posts, totalMs: 200 },
  ]);
  expect(results.map(({ outcome, canaries }) => [outcome, canaries])).toEqual([
    ["answered 200", 0],
    ["answered 200", 0],
    ["answered 302", 0],
    ["answered 200", 0],
    ["failed: the call failed: no response within 200 ms", 0],
  ]);
  expect(results[1]!.questions).toEqual(["A rebind.test", "AAAA rebind.test"]);
});
