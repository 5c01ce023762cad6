import { describeSimpleWorkers } from "../support/simple-workers.ts";

/** Five minutes, or what WRIT_LONG_MINUTES says for a quick look. */
const endMs = performance.now() + Number(process.env["WRIT_LONG_MINUTES"] ?? 5) * 60_000;

describeSimpleWorkers(() => performance.now() > endMs);
