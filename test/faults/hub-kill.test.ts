import { isOnServer } from "../support/home-database.ts";
import { describeHubKills } from "./describe-hub-kills.ts";

/** A server that is not killed with the hub has less to lose. `npm run test:long -- hub-kill` does it more often. */
describeHubKills(isOnServer() ? 6 : 15);
