import { describe, it } from "vitest";
import { noPostgres } from "../support/postgres-cluster.ts";
import { describeModel } from "./describe-model.ts";
import { postgresUnderTest } from "./postgres-under-test.ts";

if (noPostgres === undefined) describeModel("PostgreSQL", () => postgresUnderTest(), 10);
else describe.skip(`model on PostgreSQL: ${noPostgres}`, () => it("agrees with the model", () => {}));
