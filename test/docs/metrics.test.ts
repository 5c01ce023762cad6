import { expect, test } from "vitest";
import { createRpcMetrics } from "../../src/hub/rpc/rpc-metrics.ts";
import { addLiveGauges, createMetrics } from "../../src/hub/services/metrics/metrics.ts";
import { advice, readBlock, readTable, tableLines } from "./page.ts";

const page = "docs/operations.md";

test("C10: the page lists every metric with its labels and its help", () => {
  const metrics = createMetrics("1");
  addLiveGauges(metrics, {} as Parameters<typeof addLiveGauges>[1]);
  createRpcMetrics(metrics, () => 0);
  const all = metrics.registry.getMetricsAsArray() as unknown as {
    name: string;
    help: string;
    labelNames: string[];
  }[];
  const expected = all
    .filter(({ name }) => name.startsWith("writ_"))
    .map(({ name, help, labelNames }) => [
      `\`${name}\``,
      labelNames.map((label) => `\`${label}\``).join(", "),
      help,
    ]);
  const shown = advice(page, tableLines(["metric", "labels", "meaning"], expected));
  expect(readTable(readBlock(page, "metrics")), shown).toEqual(expected);
});
