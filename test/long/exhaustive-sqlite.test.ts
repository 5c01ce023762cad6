import { describeWriteFaults, everyWrite } from "../exhaustive/describe-write-faults.ts";

describeWriteFaults(everyWrite);
