import { useState } from "react";
import { buildRequest } from "../../contract/routes/build-request.ts";
import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { EventView, JobView } from "../../contract/shapes/view-shapes.ts";
import { messageTool } from "../../core/agents/agent-use.ts";
import { diffPath } from "../../core/jobs/diff-path.ts";
import { sessionHeaders } from "../hub/session.ts";
import { useQuery } from "../hub/use-query.ts";
import { countText, momentText } from "../parts/format.ts";
import { PlainText } from "../parts/plain-text.tsx";
import { callsOf, diffOf, isEdit, isFound, reportText, type ShownCall } from "./agent-calls.ts";

/** A diff may have megabytes; the rest of it is one command away. */
const diffCharsMax = 2_000_000;
const partCharsMax = 20_000;

/** What a coding agent says that it does: what it read, changed and ran, and what that has cost so far. */
export function AgentPanel({ job, events }: { job: JobView; events: readonly EventView[] }) {
  const [words, setWords] = useState("");
  const calls = callsOf(job, events);
  const diff = useDiff(job);
  const { agent } = job;
  if (!agent && calls.length === 0) return null;
  const shown = calls.filter((call) => isFound(call, words));
  return (
    <section className="panel" aria-label="Agent">
      <header>
        <h2>Agent</h2>
        <span className="grow" title="As the agent reports it; nothing of it was checked">
          {agent ? `it reports ${reportText(agent)}` : "it reports"}
        </span>
        {calls.length === 0 ? null : (
          <input
            className="agent-find"
            value={words}
            placeholder="Find a call"
            aria-label="Find a call of the agent"
            onChange={(event) => setWords(event.target.value)}
          />
        )}
      </header>
      {calls.length === 0 ? null : (
        <ol className="calls">
          {shown.map((call) => (
            <Call key={call.call} call={call} diff={diff} />
          ))}
          {shown.length === 0 ? <li className="dimmer">None of its calls has these words</li> : null}
          {agent && agent.tool_calls > calls.length ? (
            <li className="dimmer">
              {countText(agent.tool_calls)} calls in all; the first of them are listed
            </li>
          ) : null}
        </ol>
      )}
    </section>
  );
}

function Call({ call, diff }: { call: ShownCall; diff: string | undefined }) {
  const { tool, title, path, status, ts } = call;
  const part = path === undefined || !isEdit(call) ? undefined : diffOf(diff ?? "", path);
  const isMessage = tool === messageTool;
  const head = (
    <>
      <span className="dim">{momentText(ts)}</span>
      <span className="mono">{isMessage ? "" : <PlainText text={tool} />}</span>
      <span className={isMessage ? "wrapped" : "wrapped mono"}>
        <PlainText text={title} />
      </span>
      <span className="call-state" data-status={status}>
        {status === "completed" ? "" : status}
      </span>
    </>
  );
  if (part === undefined) return <li className="call">{head}</li>;
  return (
    <li>
      <details>
        <summary className="call">{head}</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long diff scrolls, and the keyboard must reach it */}
        <pre className="call-diff" role="group" tabIndex={0} aria-label={`What became of ${path}`}>
          <PlainText text={part.slice(0, partCharsMax)} hasLines />
        </pre>
      </details>
    </li>
  );
}

/** The diff of all that the job changed; undefined until it has ended, and where the browser may not read it. */
function useDiff({ id, agent, output_files }: JobView): string | undefined {
  const file = agent ? output_files.find(({ object_key: key }) => key.endsWith(`/${diffPath}`)) : undefined;
  const { data } = useQuery(`diff ${id} ${file?.sha256 ?? ""}`, async () => {
    if (file === undefined || (file.size ?? 0) > diffCharsMax) return "";
    const { object_key: key, folder_id } = file;
    const { path } = buildRequest(pageRoutes.getArtifact, { params: { id, key }, query: { folder_id } });
    const response = await fetch(path, { headers: sessionHeaders() });
    return response.ok ? await response.text() : "";
  });
  return data;
}
