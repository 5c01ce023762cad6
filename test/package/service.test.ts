import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { installSteps, uninstallSteps } from "../../src/cli/service/service-plan.ts";
import { unitFile } from "../../src/cli/service/unit.ts";
import { openOldHome } from "../compat/old-home.ts";
import { runCli } from "../support/run-cli.ts";
import { runCommand } from "../support/run-command.ts";

const folder = join(import.meta.dirname, "../../deploy/systemd");
const hasSystemd = existsSync("/usr/bin/systemd-analyze");
const home = "/nowhere";

test.skipIf(!hasSystemd)(
  `systemd reads every unit without a complaint${hasSystemd ? "" : " (not capable: systemd-analyze is missing)"}`,
  () => {
    const dir = mkdtempSync(join(tmpdir(), "writ-units-"));
    for (const name of readdirSync(folder).filter((file) => file.endsWith(".service"))) {
      copyFileSync(join(folder, name), join(dir, name));
      const { stdout, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", join(dir, name)], {
        encoding: "utf8",
      });
      // The package is not in /opt/writ here, and other units of the machine are not ours.
      const lines = `${stdout}${stderr}`.split("\n").filter((line) => line.includes(name));
      expect(
        lines.filter((line) => !line.includes("is not executable")),
        name,
      ).toEqual([]);
    }
    rmSync(dir, { recursive: true });
  },
);

test("a dry run prints the unit and the commands, and how to undo it", async () => {
  const { exitCode, stdout } = await runCommand("writ", ["install", "hub", "--dry-run"], { home });
  expect(exitCode).toBe(0);
  expect(stdout).toContain("Write /etc/systemd/system/writ-hub.service:");
  expect(stdout).toContain(`  ExecStart=${process.execPath} writ hub --home /nowhere`);
  expect(stdout).toContain("  systemctl enable --now writ-hub.service");
  expect(stdout).toContain(
    "`writ uninstall hub` undoes this and leaves /nowhere and the account writ alone.",
  );
});

test("a dry run warns of a hub that its account could not start from where it is", async () => {
  const dryRun = (...words: string[]) =>
    runCommand("writ", [...words, "--dry-run"], { home, file: "/tmp/checkout/writ.js" });
  const { exitCode, stdout, stderr } = await dryRun("install", "hub");
  expect(exitCode).toBe(0);
  expect(stdout).toContain("/tmp/checkout/writ.js hub --home /nowhere");
  expect(stderr).toMatch(
    /^warning: the account writ, .* cannot start .*: its unit does not see the machine's \/tmp; install package/,
  );
  // This one runs as root, without a /tmp of its own.
  expect((await dryRun("install")).stderr).toBe("");
});

test("a service of one's own does not claim to start with the machine", async () => {
  const { stdout } = await runCommand("writ", ["install", "--user", "--dry-run"], { home });
  expect(stdout).toContain("It starts when you log in,");
  expect(stdout).toContain("To start it with the machine, and keep it while you are not logged in: loginctl");
});

test("a service of one's own is a unit of the user, without an account", async () => {
  const { stdout } = await runCommand("writ", ["install", "worker", "--user", "--dry-run"], { home });
  expect(stdout).toContain("/.config/systemd/user/writ-worker.service:");
  expect(stdout).toContain("  Delegate=yes");
  expect(stdout).not.toMatch(/User=|sysusers/);
  expect(stdout).toContain("  systemctl --user enable --now writ-worker.service");
});

test("what is not installed is not removed, and what is installed is named", async () => {
  const dir = mkdtempSync(join(tmpdir(), "writ-uninstall-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const uninstall = () => runCli("writ", ["uninstall", "--user"], { env: { HOME: dir } });
  const none = await uninstall();
  expect(none).toMatchObject({ code: 4, stdout: "" });
  expect(none.stderr).toMatch(/^writ: writ\.service is not installed for this user\b.*\n$/);
  const units = join(dir, ".config/systemd/user");
  mkdirSync(units, { recursive: true });
  writeFileSync(join(units, "writ-hub.service"), "");
  expect((await uninstall()).stderr).toMatch(/`writ uninstall hub --user`\n$/);
});

test("uninstall removes everything that install writes", () => {
  for (const role of ["up", "hub", "worker"] as const) {
    const plan = { role, isOfUser: false, home, program: ["/opt/node"] };
    const written = installSteps(plan, "/root").files.map(({ path }) => path);
    expect(uninstallSteps(plan, "/root").files.toSorted()).toEqual(written.toSorted());
  }
});

test("uninstall of a hub says that its account stays", async () => {
  const { stdout } = await runCommand("writ", ["uninstall", "hub", "--dry-run"], { home });
  expect(stdout).toContain("  rm /etc/sysusers.d/writ.conf\n");
  expect(stdout).toContain(
    "The account writ stays too, because it owns that folder; `userdel writ` removes it.",
  );
});

test("uninstall names what it would remove, and that the home stays", async () => {
  const { stdout } = await runCommand("writ", ["uninstall", "--dry-run"], { home });
  expect(stdout).toContain("  systemctl disable --now writ.service\n  rm /etc/systemd/system/writ.service\n");
  expect(stdout).toContain("/nowhere stays, with everything in it.");
});

test("where no systemd answers, nothing is written", async () => {
  const dir = mkdtempSync(join(tmpdir(), "writ-no-systemd-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  // No systemctl is found here, on whatever machine this runs.
  vi.stubEnv("PATH", dir);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { code, stderr } = await runCli("writ", ["install", "hub", "--user"], { env: { HOME: dir } });
  expect(code).toBe(2);
  expect(stderr).toContain("systemd does not answer here, so nothing was changed");
  expect(readdirSync(dir)).toEqual([]);
});

test("a hub's home that systemd does not make is made for its account, unless it is there", () => {
  const plan = { role: "hub", isOfUser: false, program: ["/opt/node"] } as const;
  const made = (folder: string) =>
    installSteps({ ...plan, home: folder }, "/root").commands.filter(([program]) => program === "install");
  expect(made(home)).toEqual([["install", "-d", "-o", "writ", "-g", "writ", "-m", "0700", home]]);
  expect(made("/var/lib/writ")).toEqual([]);
  expect(made(tmpdir())).toEqual([]);
});

test("another role is refused with those that exist", async () => {
  const { exitCode, stderr } = await runCommand("writ", ["install", "king"], { home });
  expect(exitCode).toBe(2);
  expect(stderr).toContain("It must be hub or worker; leave it out for both");
});

test("a path with signs that systemd reads otherwise arrives as it is", () => {
  const program = ["/opt/my node", '/srv/100%/"$HOME"/writ.js'];
  const unit = unitFile({ role: "worker", isOfUser: false, home: "/srv/a b", program });
  expect(unit).toContain(
    String.raw`ExecStart="/opt/my node" "/srv/100%%/\"$$HOME\"/writ.js" worker --home "/srv/a b"`,
  );
});

test("upgrade-check names the steps that a database of an older version would take, and changes nothing", async () => {
  const dir = mkdtempSync(join(tmpdir(), "writ-upgrade-"));
  expect((await runCommand("writ", ["upgrade-check"], { home: dir })).stdout).toContain("does not exist yet");
  const old = openOldHome(1000, "homes");
  onTestFinished(() => old.remove());
  const first = await runCommand("writ", ["upgrade-check"], { home: old.home });
  expect(first.stdout).toMatch(/^The next start would change the database from schema 1000 to \d+:\n/);
  expect(first.stdout).toContain("1001-terms");
  expect((await runCommand("writ", ["upgrade-check"], { home: old.home })).stdout).toBe(first.stdout);
  rmSync(dir, { recursive: true });
});
