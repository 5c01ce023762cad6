import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isWrite } from "../../src/store/act-names.ts";
import { noPostgres } from "../support/postgres-cluster.ts";
import { type DatabaseFault, quickFaults, serverFaults } from "./database-faults.ts";
import type { Message } from "./frame-proxy.ts";
import { PostgresRun } from "./postgres-run.ts";
import { PostgresStage } from "./postgres-stage.ts";
import { type NamedScene, scenes } from "./scenes.ts";

/** Which scenes are played, and which faults strike at which of their messages. */
type Plan = {
  rule: string;
  isPlayed(scene: NamedScene): boolean;
  faultsAt(message: Message, messages: Message[]): DatabaseFault[];
};

/** All of them. Only the server itself is stopped less often: where it has something new to do, or has done it. */
export const everything: Plan = {
  rule: "every act, every message, every fault; the server is stopped and killed at each Sync, Query and ReadyForQuery",
  isPlayed: () => true,
  faultsAt: ({ type }) =>
    ["Sync", "Query", "ReadyForQuery"].includes(type) ? [...quickFaults, ...serverFaults] : quickFaults,
};

/** Where what is promised is decided. */
export const aroundCommits: Plan = {
  rule: "acts that write; the commit, the message before it and its answer: cut before, held until read back, cut off; what is sent on other connections: held until read back",
  isPlayed: ({ act }) => isWrite(act),
  faultsAt(message, messages) {
    const commit = messages.findLast(({ sql }) => sql === "COMMIT");
    if (commit === undefined) return [];
    const { connection, direction, index, type } = message;
    const named = (...names: string[]) => quickFaults.filter(({ name }) => names.includes(name));
    if (connection !== commit.connection) return type === "Sync" ? named("held until read back") : [];
    const answers = messages.filter((other) => other.connection === connection && other.direction === "←");
    const isAround = direction === "→" ? index >= commit.index - 1 : message === answers.at(-2);
    return isAround ? named("cut before", "held until read back", "cut off") : [];
  },
};

/**
 * Every scene is played once to count its messages, and then again for each message and each fault. The store must be in one of
 * two states, before or after the act; the caller must have been told which, or that it is not known; and the next call with
 * the same store must find everything in order.
 */
export function describeDatabaseFaults(plan: Plan): void {
  describe.skipIf(noPostgres !== undefined)(
    `faults at PostgreSQL${noPostgres ? `: ${noPostgres}` : ""}`,
    () => {
      let stage: PostgresStage;
      let run: PostgresRun;
      const totals = { scenes: 0, messages: 0, faults: 0, done: 0, "nothing changed": 0, "not known": 0 };
      beforeAll(async () => {
        stage = await PostgresStage.open();
        run = new PostgresRun(stage);
      });
      afterAll(async () => {
        await stage.close();
        const { scenes, messages, faults, ...told } = totals;
        console.log(
          `faults at PostgreSQL (${plan.rule}): ${scenes} scenes with ${messages} messages, ${faults} faults; callers were told ${Object.entries(
            told,
          )
            .map(([what, count]) => `"${what}" ${count} times`)
            .join(", ")}`,
        );
      });

      test.each(scenes.filter(plan.isPlayed).map((scene) => [scene.name, scene] as const))(
        "%s happens or does not, and the caller is told",
        async (_, scene) => {
          const reference = await run.rehearse(scene);
          const { messages } = reference.once;
          totals.scenes++;
          totals.messages += messages.length;
          const wrong: string[] = [];
          for (const message of messages)
            for (const fault of plan.faultsAt(message, messages)) {
              totals.faults++;
              try {
                totals[(await run.fault(reference, message, fault)).told]++;
              } catch (error) {
                wrong.push(`${nameOf(message)}, ${fault.name}: ${(error as Error).message}`);
                if (wrong.length >= wrongMax) break;
              }
            }
          expect(wrong).toEqual([]);
        },
      );
    },
  );
}

/** More would only repeat the first ones. */
const wrongMax = 10;

function nameOf({ connection, direction, index, type, sql }: Message): string {
  return `connection ${connection}, message ${direction}${index} ${`${type} ${sql.slice(0, 60)}`.trim()}`;
}
