import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { JobView } from "../../contract/shapes/view-shapes.ts";
import { WritError } from "../../core/errors.ts";
import { isActive, isEnded } from "../../core/jobs/job.ts";
import { checkBundle } from "../../signing/bundle/check-bundle.ts";
import type { BundleStep } from "../../signing/bundle/check-shown.ts";
import { callHub, errorText } from "../hub/call-hub.ts";
import { sessionHeaders } from "../hub/session.ts";
import { useQuery } from "../hub/use-query.ts";
import { Icon, Seal } from "../parts/icon.tsx";
import { PlainText } from "../parts/plain-text.tsx";
import { askFirst } from "../shell/confirm.tsx";
import { sha256OfBytes, webProof } from "./web-proof.ts";

/** Streams up to this size are read whole, to compare their hashes with the receipt. */
const hashedBytesMax = 4 * 1024 * 1024;

type Checked =
  | { state: "none" }
  | { state: "cannot" }
  | { state: "done"; steps: BundleStep[]; keyId: string; workerId: string; attempt: number };

/** Three seals: the order, the permission and the proof. A seal means a signature that was checked in this browser. */
export function JobProof({ job }: { job: JobView }) {
  const ended = isEnded(job.status);
  const { data: checked, error } = useQuery(`proof ${job.id} ${job.attempt} ${job.status}`, () =>
    checkProof(job),
  );
  if (checked === undefined) return <Unchecked job={job} error={error} />;
  if (checked.state !== "done") {
    const waits =
      checked.state === "cannot" ? "this page is not encrypted, so the browser cannot check it" : null;
    return (
      <section className="panel proof job-proof" aria-label="Proof">
        <Part title="Ordered" isSealed={false} text={waits ?? "sealed by the hub, signed with each lease"} />
        <LaterParts job={job} />
      </section>
    );
  }
  const { steps, keyId, workerId, attempt } = checked;
  const of = (...names: string[]) => steps.filter(({ step }) => names.includes(step));
  const show = () => askFirst(proofQuestion(steps));
  // The receipt of an earlier attempt proves the order, which is the same, but nothing about this attempt.
  const isOfThis = attempt === job.attempt && ended;
  return (
    <section className="panel proof job-proof" aria-label="Proof">
      <Part
        title="Ordered"
        {...verdict(
          of("hub key", "document"),
          `signed just now by hub key ${keyId.slice(0, 8)}, sha256 ${job.document_sha256.slice(0, 8)}…`,
        )}
        onOpen={show}
      />
      {isOfThis ? (
        <>
          <Part
            title="Allowed"
            {...verdict(of("hub key", "grant"), `lease of attempt ${attempt} to ${workerId}`)}
            onOpen={show}
          />
          <Part
            title="Proven"
            {...verdict(
              of("receipt", "result", "stdout", "stderr", "files"),
              `receipt of ${workerId} verified here`,
            )}
            onOpen={show}
          />
        </>
      ) : (
        <LaterParts job={job} />
      )}
    </section>
  );
}

/** Until the check has ended, the panel says neither that there is a proof nor that there is none. */
function Unchecked({ job, error }: { job: JobView; error: unknown }) {
  const text = error === undefined ? "being checked …" : `could not be checked: ${errorText(error)}`;
  return (
    <section className="panel proof job-proof" aria-label="Proof" aria-busy={error === undefined}>
      <Part title="Ordered" isSealed={false} text={text} />
      {isEnded(job.status) ? (
        <>
          <Part title="Allowed" isSealed={false} text={text} />
          <Part title="Proven" isSealed={false} text={text} />
        </>
      ) : (
        <LaterParts job={job} />
      )}
    </section>
  );
}

function LaterParts({ job }: { job: JobView }) {
  const isHeld = isActive(job.status);
  const proven = isHeld ? `${job.worker_id} signs a receipt when it ends` : "a receipt follows when it ends";
  return (
    <>
      <Part
        title="Allowed"
        isSealed={false}
        text={isHeld ? `lease of attempt ${job.attempt} to ${job.worker_id}` : "no worker holds a lease"}
      />
      <Part
        title="Proven"
        isSealed={false}
        text={isEnded(job.status) ? "there is no receipt of its end" : proven}
      />
    </>
  );
}

/** Sealed if nothing is wrong and something was checked. */
function verdict(steps: BundleStep[], text: string): { isSealed: boolean; isBroken: boolean; text: string } {
  const wrong = steps.find(({ isFine }) => isFine === false);
  if (wrong !== undefined) return { isSealed: false, isBroken: true, text: `${wrong.step}: ${wrong.says}` };
  return { isSealed: steps.some(({ isFine }) => isFine === true), isBroken: false, text };
}

type PartProps = { title: string; text: string; isSealed: boolean; isBroken?: boolean; onOpen?: () => void };

function Part({ title, text, isSealed, isBroken = false, onOpen }: PartProps) {
  const content = (
    <>
      {isBroken ? <Icon name="warning" /> : <Seal kind={isSealed ? "seal-ok" : "seal-wait"} />}
      <span className="grow">
        <b>{title}</b>
        <small className="cut">
          <PlainText text={text} />
        </small>
      </span>
    </>
  );
  if (onOpen === undefined) return <div>{content}</div>;
  const label = isBroken ? "does not verify" : isSealed ? "verified" : "not verified";
  return (
    <button
      type="button"
      className={isBroken ? "broken" : undefined}
      aria-label={`${title}: ${label}. ${text}`}
      onClick={onOpen}
    >
      {content}
    </button>
  );
}

function proofQuestion(steps: BundleStep[]) {
  const isWhole = steps.every(({ isFine }) => isFine !== false);
  return {
    title: isWhole ? "Checked in this browser" : "Something does not verify",
    body: (
      <ul className="proof-steps">
        {steps.map(({ step, isFine, says }) => (
          <li key={step}>
            <span
              className="state"
              data-state={isFine === false ? "failed" : isFine ? "completed" : "pending"}
            >
              <Icon name={isFine === false ? "warning" : isFine ? "check" : "silent"} />
            </span>
            <span>
              <b className="strong">{step}</b> <PlainText text={says} />
            </span>
          </li>
        ))}
      </ul>
    ),
    acts: [],
    keep: "Done",
  };
}

async function checkProof(job: JobView): Promise<Checked> {
  const proof = webProof();
  if (proof === null) return { state: "cannot" };
  if (job.attempt === 0) return { state: "none" };
  const bundle = await callHub(pageRoutes.getReceipt, { params: { id: job.id } }).catch((error) => {
    if (error instanceof WritError && error.code === "NOT_FOUND") return null;
    throw error;
  });
  if (bundle === null) return { state: "none" };
  const { keys } = (await callHub(pageRoutes.listKeys, {})).body;
  const { body } = bundle;
  const outputs = {
    stdout: await hashOutput(job, "stdout", body.attempt),
    stderr: await hashOutput(job, "stderr", body.attempt),
    files: body.attempt === job.attempt ? job.output_files : undefined,
  };
  const steps = await checkBundle({ bundle: body, keys, outputs }, proof);
  return { state: "done", steps, keyId: body.key_id, workerId: body.worker.worker_id, attempt: body.attempt };
}

/** Undefined for output that is too large to be read here; the receipt's hash is then shown without a check. */
async function hashOutput(
  job: JobView,
  stream: "stdout" | "stderr",
  attempt: number,
): Promise<string | undefined> {
  if (attempt !== job.attempt || job.output[stream] > hashedBytesMax || job.output.removed === true)
    return undefined;
  const response = await fetch(`/api/v1/jobs/${job.id}/output/${stream}?attempt=${attempt}`, {
    headers: sessionHeaders(),
    cache: "no-store",
  });
  return response.ok ? sha256OfBytes(new Uint8Array(await response.arrayBuffer())) : undefined;
}
