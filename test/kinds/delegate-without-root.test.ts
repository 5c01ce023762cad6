import { describeWithoutRoot } from "./describe-without-root.ts";

/** `npm run test:long -- delegate-without-root` has everything. */
describeWithoutRoot({ isWhole: false });
