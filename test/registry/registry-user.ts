import { writeSync } from "node:fs";
import { get, nextSeq, pick, register, setStatus } from "../../src/registry/index.ts";

/** `registry-user.ts DIR pick` picks until nothing is left; `… change` adds and changes jobs until it is killed. */
const [, , cwd = "", act = ""] = process.argv;
const place = { cwd };
const agentSession = "shared";
const say = (line: string): void => void writeSync(1, `${line}\n`);

if (act === "pick") {
  for (let job = await pick(place, { agentSession }); job !== null; job = await pick(place, { agentSession }))
    say(job.job_id);
} else {
  while (true) {
    const { job_id: id } = await register(place, { prompt: "p", agent: "a", agentSession });
    say(`registered ${id}`);
    await pick(place, { agentSession });
    await nextSeq(place, id);
    const { status } = await get(place, id);
    if (status === "running") {
      await setStatus(place, id, "completed");
      say(`completed ${id}`);
    }
  }
}
