import { describeOutages } from "../support/outages.ts";

describeOutages({ scale: 1 });
