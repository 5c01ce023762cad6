import { describeSimpleWorkers } from "../support/simple-workers.ts";

/** One round, which takes about as long as the lease that it has to renew. */
describeSimpleWorkers(() => true);
