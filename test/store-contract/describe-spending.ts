import { describe, expect, it } from "vitest";
import { nothingSpent, spentBy, utcDay } from "../../src/core/agents/agent-budget.ts";
import { failureOf, leaseMs, resultOf } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

const dayMs = 86_400_000;

function usage(tokens: number, calls = 1, micro = 1_000): string {
  const agent = { tool_calls: calls, denied: 0, tokens_in: tokens, tokens_out: 0, cost_micro_usd: micro };
  return JSON.stringify({ cpu_ms: 5, agent });
}

/** What coding agents have used, of a job and of a tenant. */
export function describeSpending(create: () => StoreUnderTest): void {
  describe("what coding agents have used", () => {
    const scene = useScene(create);
    const today = (tenantId = "acme") => scene().store.getSpending({ tenantId, day: utcDay(scene().nowMs) });

    it("is nothing for a tenant without agents, and for jobs that tell nothing", async () => {
      const claimed = await scene().submitAndStart();
      await scene().change(claimed, { act: "renew", usage: '{"cpu_ms":1}' });
      await scene().change(claimed, { ...resultOf("1"), usage: '{"cpu_ms":2}' });
      expect(await today(claimed.job.tenantId)).toEqual(nothingSpent);
      expect((await scene().job(claimed.job.id)).usage).toBe('{"cpu_ms":2}');
    });

    it("is carried from attempt to attempt, through lost workers and another hub process", async () => {
      const first = await scene().submitAndStart({ maxAttempts: 9 });
      const { id, tenantId } = first.job;
      await scene().change(first, { act: "renew", usage: usage(100) });
      await scene().change(first, { act: "renew", usage: usage(250, 2) });
      scene().nowMs += leaseMs;
      expect(await scene().reap()).toBe(1);
      await scene().reopen();
      scene().nowMs += 60_000;
      const second = await scene().claim();
      expect(spentBy(await scene().job(id))).toEqual({
        latest: nothingSpent,
        all: { usd: 1_000, tokens: 250, tool_calls: 2 },
      });
      await scene().change(second, { ...failureOf("EXECUTION_ERROR"), usage: usage(30) });
      expect(await today(tenantId)).toEqual({ usd: 2_000, tokens: 280, tool_calls: 3 });
      await scene().reopen();
      expect(await today(tenantId)).toEqual({ usd: 2_000, tokens: 280, tool_calls: 3 });
      expect(spentBy(await scene().job(id)).all.tokens).toBe(280);
    });

    it("is forgotten of a job that a person retries, but not of its tenant", async () => {
      const claimed = await scene().submitAndStart({ maxAttempts: 1 });
      const { id, tenantId } = claimed.job;
      await scene().change(claimed, { ...failureOf("EXECUTION_ERROR"), isFinal: true, usage: usage(70) });
      await scene().changeJob(id, { act: "retry" });
      expect(spentBy(await scene().job(id)).all).toEqual(nothingSpent);
      expect((await today(tenantId)).tokens).toBe(70);
    });

    it("counts for a tenant from nothing on each day, and apart from other tenants", async () => {
      const one = await scene().submitAndStart({ tenantId: "acme" });
      await scene().change(one, { act: "renew", usage: usage(10) });
      const other = await scene().submitAndStart({ tenantId: "globex" });
      await scene().change(other, { act: "renew", usage: usage(1) });
      const before = utcDay(scene().nowMs);
      scene().nowMs += dayMs;
      expect(await today()).toEqual(nothingSpent);
      const next = await scene().submitAndStart({ tenantId: "acme" });
      await scene().change(next, { act: "renew", usage: usage(4) });
      expect(await today()).toEqual({ usd: 1_000, tokens: 4, tool_calls: 1 });
      expect((await scene().store.getSpending({ tenantId: "globex", day: before })).tokens).toBe(1);
    });
  });
}
