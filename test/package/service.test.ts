import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { unitFile } from "../../src/cli/service/unit.ts";
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
  expect(stdout).toContain("`writ uninstall hub` undoes this and leaves /nowhere alone.");
});

test("a service of one's own is a unit of the user, without an account", async () => {
  const { stdout } = await runCommand("writ", ["install", "worker", "--user", "--dry-run"], { home });
  expect(stdout).toContain("/.config/systemd/user/writ-worker.service:");
  expect(stdout).toContain("  Delegate=yes");
  expect(stdout).not.toMatch(/User=|sysusers/);
  expect(stdout).toContain("  systemctl --user enable --now writ-worker.service");
});

test("uninstall names what it would remove, and that the home stays", async () => {
  const { stdout } = await runCommand("writ", ["uninstall", "--dry-run"], { home });
  expect(stdout).toContain("  systemctl disable --now writ.service\n  rm /etc/systemd/system/writ.service\n");
  expect(stdout).toContain("/nowhere stays, with everything in it.");
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
  expect((await runCommand("writ", ["upgrade-check"], { home: dir })).stdout).toContain(
    "has no database yet",
  );
  const fixture = join(import.meta.dirname, "../compat/fixtures/store-437f1bc.sqlite.gz");
  execFileSync("sh", ["-c", 'gunzip -c "$0" > "$1"', fixture, join(dir, "writ.sqlite")]);
  const first = await runCommand("writ", ["upgrade-check"], { home: dir });
  expect(first.stdout).toMatch(/^The next start would change the database from schema \d+ to \d+:\n/);
  expect(first.stdout).toContain("021-owner-counts");
  expect((await runCommand("writ", ["upgrade-check"], { home: dir })).stdout).toBe(first.stdout);
  rmSync(dir, { recursive: true });
});
