import { describeAgents, installAgents } from "../agents/describe-agents.ts";

/** Real coding agents, installed from npm at the versions in test/agents/versions.json. */
describeAgents("the user who runs the tests", installAgents());
