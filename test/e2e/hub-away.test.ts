import { describeOutages } from "../support/outages.ts";

/** A lease of 5 s: longer than a busy machine stands still. `npm run test:long` takes the whole time. */
describeOutages({ scale: 1 / 12 });
