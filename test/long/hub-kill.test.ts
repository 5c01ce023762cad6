import { describeHubKills } from "../faults/describe-hub-kills.ts";

describeHubKills(100);
