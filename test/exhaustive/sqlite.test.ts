import { describeWriteFaults, everyAct } from "./describe-write-faults.ts";

describeWriteFaults(everyAct);
