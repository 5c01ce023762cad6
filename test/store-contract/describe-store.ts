import { describe } from "vitest";
import { describeAccess } from "./describe-access.ts";
import { describeAttempts } from "./describe-attempts.ts";
import { describeAudit } from "./describe-audit.ts";
import { describeClaims } from "./describe-claims.ts";
import { describeDamage } from "./describe-damage.ts";
import { describeEndings } from "./describe-endings.ts";
import { describeEvents } from "./describe-events.ts";
import { describeHandOver } from "./describe-hand-over.ts";
import { describeHolds } from "./describe-holds.ts";
import { describeLabels } from "./describe-labels.ts";
import { describeLife } from "./describe-life.ts";
import { describeLists } from "./describe-lists.ts";
import { describeObjects } from "./describe-objects.ts";
import { describeOrder } from "./describe-order.ts";
import { describeOutputs } from "./describe-outputs.ts";
import { describeQueues } from "./describe-queues.ts";
import { describeRecalls } from "./describe-recalls.ts";
import { describeReceipts } from "./describe-receipts.ts";
import { describeResponse } from "./describe-response.ts";
import { describeSeals } from "./describe-seals.ts";
import { describeStatistics } from "./describe-statistics.ts";
import { describeSubmits } from "./describe-submits.ts";
import { describeTerms } from "./describe-terms.ts";
import { describeUnique } from "./describe-unique.ts";
import { describeWorkers } from "./describe-workers.ts";
import type { StoreUnderTest } from "./under-test.ts";

/** Everything that a driver of the store must do. A second driver is put under it without an edit here. */
export function describeStore(name: string, create: () => StoreUnderTest): void {
  describe(`store on ${name}`, () => {
    describeSubmits(create);
    describeClaims(create);
    describeHandOver(create);
    describeAttempts(create);
    describeEndings(create);
    describeOutputs(create);
    describeObjects(create);
    describeHolds(create);
    describeQueues(create);
    describeLists(create);
    describeLabels(create);
    describeRecalls(create);
    describeReceipts(create);
    describeSeals(create);
    describeTerms(create);
    describeUnique(create);
    describeDamage(create);
    describeWorkers(create);
    describeAccess(create);
    describeEvents(create);
    describeOrder(create);
    describeAudit(create);
    describeResponse(create);
    describeStatistics(create);
    describeLife(create);
  });
}
