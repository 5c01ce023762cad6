import { describeAgents, installAgents } from "../agents/describe-agents.ts";
import { becomeOrdinaryUser } from "../sandbox/cage-stage.ts";

/** The same with a worker that is an ordinary user. */
const agents = installAgents();
becomeOrdinaryUser();
describeAgents("an ordinary user", agents);
