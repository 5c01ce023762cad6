import { describeOutputs } from "./describe-outputs.ts";
import { MemoryOutputs, MemoryPlace } from "./memory-outputs.ts";

describeOutputs("memory", () => {
  const place = new MemoryPlace();
  return { open: () => new MemoryOutputs(place), remove: () => {} };
});
