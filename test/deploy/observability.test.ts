import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { stillEnv } from "../support/hub.ts";
import { completedJob } from "../support/jobs.ts";
import { hubForAll } from "../support/use-hub.ts";

const deploy = join(import.meta.dirname, "../../deploy");
const rulesFile = join(deploy, "prometheus/alerts.yaml");
const rules = parse(readFileSync(rulesFile, "utf8")) as {
  groups: { rules: { alert: string; expr: string; labels: { severity: string }; annotations: object }[] }[];
};
const alerts = rules.groups.flatMap((group) => group.rules);
const board = JSON.parse(readFileSync(join(deploy, "grafana/writ.json"), "utf8")) as {
  panels: { id: number; type: string; title: string; gridPos: Box; targets?: { expr: string }[] }[];
  templating: { list: { definition?: string }[] };
};
type Box = { x: number; y: number; w: number; h: number };

const metricName = /\b(?:writ|process|nodejs)_[a-z0-9_]+/g;
const namesIn = (text: string) => [...text.matchAll(metricName)].map(([name]) => name);

describe("what deploy/ gives to Prometheus and Grafana", () => {
  const hub = hubForAll(stillEnv);

  test("every metric that an alert or a panel names is one of the hub's", async () => {
    await completedJob(hub);
    const shown = (await hub.must("GET", "//metrics", { token: hub.admin })).text;
    const known = new Set([...shown.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name]) => name!));
    const expressions = [
      ...alerts.map(({ expr }) => expr),
      ...board.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
      ...board.templating.list.map(({ definition = "" }) => definition),
    ];
    const named = new Set(expressions.flatMap(namesIn).map((name) => name.replace(/_bucket$/, "")));
    expect(named.size).toBeGreaterThan(20);
    expect([...named].filter((name) => !known.has(name))).toEqual([]);
  });
});

test("each alert says how bad it is, what happened and what to do, and the page explains it", () => {
  const page = readFileSync(join(deploy, "../docs/observability.md"), "utf8");
  for (const { alert, labels, annotations } of alerts) {
    expect(["info", "warning", "critical"], alert).toContain(labels.severity);
    expect(Object.keys(annotations), alert).toEqual(["summary", "description"]);
    expect(page, alert).toContain(`\`${alert}\``);
  }
});

test("the panels have ids of their own and do not overlap", () => {
  expect(new Set(board.panels.map(({ id }) => id)).size).toBe(board.panels.length);
  const taken = new Set<string>();
  for (const { title, gridPos } of board.panels) {
    expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        expect(taken.has(`${x} ${y}`), title).toBe(false);
        taken.add(`${x} ${y}`);
      }
    }
  }
});

const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;
const promtest = hasPromtool ? test : test.skip;
const name = (what: string) => (hasPromtool ? what : `${what} (not capable: no promtool)`);

promtest(name("promtool accepts the alert rules, and each fires when it should"), () => {
  const out = execFileSync("promtool", ["check", "rules", rulesFile], { encoding: "utf8" });
  expect(out).toContain(`SUCCESS: ${alerts.length} rules found`);
  const tests = join(deploy, "prometheus/alerts.test.yaml");
  expect(execFileSync("promtool", ["test", "rules", tests], { encoding: "utf8" })).toContain("SUCCESS");
  const tested = readFileSync(tests, "utf8");
  expect(alerts.filter(({ alert }) => !tested.includes(alert))).toEqual([]);
});

promtest(name("promtool accepts the queries of every panel"), () => {
  // Grafana replaces its variables before it asks.
  const queries = board.panels.flatMap(({ targets = [] }) =>
    targets.map(({ expr }) => expr.replaceAll("$__rate_interval", "5m").replaceAll("$instance", ".+")),
  );
  const recorded = queries.map((expr, index) => ({ record: `panel:query:${index}`, expr }));
  const text = JSON.stringify({ groups: [{ name: "panels", rules: recorded }] });
  const folder = mkdtempSync(join(tmpdir(), "writ-panels-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "panels.yaml"), text);
  const checked = spawnSync("promtool", ["check", "rules", join(folder, "panels.yaml")], {
    encoding: "utf8",
  });
  expect(checked.status, checked.stderr).toBe(0);
});
