import { useEffect, useState } from "react";
import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { JobView } from "../../contract/shapes/view-shapes.ts";
import { callHub } from "../hub/call-hub.ts";
import { shortId } from "../parts/format.ts";
import { ErrorBand } from "../parts/notices.tsx";
import { usePageAddress } from "../shell/router.ts";
import { type Draft, draftOf, emptyDraft } from "./submission.ts";
import { SubmitForm } from "./submit-form.tsx";

/** A form made from the shapes of the contract, so that the hub accepts what the form accepts. */
export function SubmitPage() {
  const from = usePageAddress().query.get("from");
  const [draft, setDraft] = useState<Draft | null>(from === null ? emptyDraft() : null);
  const [source, setSource] = useState<JobView | null>(null);
  const [error, setError] = useState<unknown>(undefined);
  useEffect(() => {
    if (from === null) return;
    callHub(pageRoutes.getJob, { params: { id: from } }).then(({ body }) => {
      setSource(body);
      setDraft(withMoreMemory(body));
    }, setError);
  }, [from]);
  return (
    <>
      <div className="top">
        <nav className="crumb" aria-label="Where this is">
          <a href="/jobs">Jobs</a>
          <span>/</span>
          <h1>{source === null ? "Submit a job" : `Submit a copy of ${shortId(source.id)}`}</h1>
        </nav>
      </div>
      <div className="page">
        <ErrorBand error={error} />
        {draft === null ? null : <SubmitForm draft={draft} setDraft={setDraft} source={source} />}
      </div>
    </>
  );
}

/** The copy of a job that ran out of memory gets twice as much. */
function withMoreMemory(job: JobView): Draft {
  const draft = draftOf(job);
  const [, number, unit] = /^(\d+)([KMGT])$/.exec(draft.fields.memory) ?? [];
  if (job.fail_detail !== "OOM_KILLED" || number === undefined) return draft;
  return { ...draft, fields: { ...draft.fields, memory: `${Number(number) * 2}${unit}` } };
}
