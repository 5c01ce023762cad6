import type { TestHub } from "../support/hub.ts";
import { failedJob, quarantinedJob, registerWorker, runningJob, submitJob } from "../support/jobs.ts";
import { appendOutput } from "../support/output.ts";

const longType = `video.transcode.${"segment-".repeat(10)}v3`.slice(0, 100);
const longWord = "unbreakable".repeat(40);
const script =
  'set -e\nfor page in 1 2 3; do\n  curl -fsS "https://example.org/$page" | wc -c\ndone\necho done';

/** A hub with names as long as they may be and data as odd as people have it, and its pages by name. */
export async function oddData(hub: TestHub): Promise<{ pages: Record<string, string> }> {
  const workerId = await registerWorker(hub, {
    worker_id: `a-worker-with-a-very-long-name.${"rack-".repeat(12)}example.internal`.slice(0, 100),
    tags: Array.from({ length: 12 }, (_, index) => `tag-with-a-long-name-${index}`),
    types: Array.from({ length: 20 }, (_, index) => `some.type.of.job.${index}`),
    kinds: ["exec", "handler", "delegate", "exec_per_job", "persistent_http"],
  });
  const exec = (argv: string[]) => ({ run: { kind: "exec", argv } });
  const running = await runningJob(hub, { workerId, type: longType, ...exec(["sh", "-c", script]) });
  const colours =
    "\x1b[1mbold\x1b[0m \x1b[38;5;208morange\x1b[0m \x1b[1;38;5;34mgreen\x1b[0m \x1b[38;2;90;120;250mblue\x1b[0m\n";
  await appendOutput(hub, running, { bytes: Buffer.from(`${colours}${longWord}\nüñïçødé 漢字 🚀\n`) });
  const failed = await failedJob(hub, {
    type: "odd",
    ...exec(["python3", "-c", script, longWord.slice(0, 200)]),
  });
  const dead = await quarantinedJob(hub, { type: longType });
  const metadata = { note: longWord, nested: { deep: { deeper: [1, 2, { key: longWord }] } } };
  const waiting = await submitJob(hub, {
    type: longType,
    requires: { tags: ["a-tag-that-no-worker-has", "another-tag"] },
    metadata,
  });
  const long = await submitJob(hub, { type: longWord.slice(0, 100) });
  for (let count = 0; count < 3; count++)
    await submitJob(hub, { type: `odd.${count}`, ...exec(["sh", "-c", script]) });
  const user = "a.person.with.a.long.name@example-company.internal".slice(0, 50);
  await hub.must("POST", "/tokens", { token: hub.admin, body: { role: "user", user_id: user } });
  await hub.must("POST", "/jobs/bulk", {
    token: hub.admin,
    body: { act: "cancel", filter: { type: "odd.2" } },
  });
  const pages = {
    overview: "/",
    jobs: "/jobs",
    filtered: `/jobs?type=${longType}&state=pending&q=${longWord.slice(0, 90)}`,
    running: `/jobs/${running.id}`,
    failed: `/jobs/${failed.id}`,
    dead: `/jobs/${dead.id}`,
    waiting: `/jobs/${waiting.id}`,
    long: `/jobs/${long.id}`,
    submit: `/submit?from=${failed.id}`,
    fleet: `/fleet?open=${workerId}`,
    queues: "/queues",
    audit: "/audit",
    people: "/audit?view=people",
    access: "/access",
    settings: "/settings",
    none: "/jobs?type=nothing",
  };
  return { pages };
}
