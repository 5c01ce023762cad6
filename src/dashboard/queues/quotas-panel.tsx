import { type FormEvent, useState } from "react";
import type { z } from "zod";
import { quotaLimits, quota as quotaShape } from "../../contract/admin-shapes.ts";
import { routes } from "../../contract/routes.ts";
import { callHub, errorText } from "../hub/call-hub.ts";
import { useQuery } from "../hub/use-query.ts";
import { bytesText, countText } from "../parts/format.ts";
import { askFirst, closeQuestion } from "../shell/confirm.tsx";
import { showToast } from "../shell/toasts.tsx";

type Quota = z.infer<typeof quotaShape>;

const limitLabels: Record<keyof Quota, string> = {
  max_pending: "waiting jobs",
  max_queues: "queues with waiting jobs",
  max_running: "running jobs",
  submits_per_sec: "submissions a second",
  max_output_bytes: "bytes of output",
  max_artifact_bytes: "bytes of files",
};

export function QuotasPanel({ mayChange }: { mayChange: boolean }) {
  const { data, reload } = useQuery("quotas", async () => (await callHub(routes.listQuotas, {})).body, {
    everyMs: 5_000,
  });
  if (data === undefined || data.length === 0) return null;
  return (
    <section className="panel">
      <header>
        <h2>Quotas</h2>
        <span className="grow">what each tenant uses, of what it may use</span>
      </header>
      <table className="why queues">
        <thead>
          <tr>
            <th>Tenant</th>
            <th className="num">Waiting</th>
            <th className="num">Running</th>
            <th>Other limits</th>
            <th>
              <span className="only-read">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {data.map(({ tenant_id, quota, pending, active }) => (
            <tr key={tenant_id}>
              <td className="strong">{tenant_id}</td>
              <td className="num">{ofText(pending, quota.max_pending)}</td>
              <td className="num">{ofText(active, quota.max_running)}</td>
              <td className="dim">{otherText(quota)}</td>
              <td className="num">
                {mayChange ? (
                  <button
                    type="button"
                    className="button small"
                    onClick={() => showChange(tenant_id, quota, reload)}
                  >
                    Change…
                  </button>
                ) : null}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function ofText(used: number, max: number | undefined): string {
  return max === undefined ? countText(used) : `${countText(used)} of ${countText(max)}`;
}

function otherText(quota: Quota): string {
  const others = quotaLimits.filter(
    (name) => name !== "max_pending" && name !== "max_running" && quota[name] !== undefined,
  );
  if (others.length === 0) return "none";
  return others
    .map(
      (name) =>
        `${name.endsWith("bytes") ? bytesText(quota[name] ?? 0) : countText(quota[name] ?? 0)} ${limitLabels[name].replace("bytes ", "")}`,
    )
    .join(", ");
}

function showChange(tenantId: string, quota: Quota, onDone: () => void): void {
  askFirst({
    title: `Quota of ${tenantId}`,
    body: <QuotaForm tenantId={tenantId} quota={quota} onDone={onDone} />,
    acts: [],
  });
}

function QuotaForm({ tenantId, quota, onDone }: { tenantId: string; quota: Quota; onDone: () => void }) {
  const [typed, setTyped] = useState<Partial<Record<keyof Quota, string>>>(() =>
    Object.fromEntries(
      quotaLimits.map((name) => [name, quota[name] === undefined ? "" : String(quota[name])]),
    ),
  );
  const [problem, setProblem] = useState<string | null>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const given = quotaLimits.filter((name) => (typed[name] ?? "") !== "");
    const body = Object.fromEntries(given.map((name) => [name, Number(typed[name])])) as Quota;
    const { success, error } = quotaShape.safeParse(body);
    if (!success) {
      const [issue] = error.issues;
      setProblem(`${issue?.path.join(".")}: ${issue?.message}`);
      return;
    }
    try {
      await callHub(routes.putQuota, { params: { id: tenantId }, body });
      onDone();
      closeQuestion();
      showToast({ icon: "check", text: `The quota of ${tenantId} is changed` });
    } catch (refusal) {
      setProblem(errorText(refusal));
    }
  };
  return (
    <form className="form" onSubmit={(event) => void submit(event)}>
      {quotaLimits.map((name) => (
        <label key={name}>
          At most … {limitLabels[name]}
          <input
            inputMode="numeric"
            value={typed[name] ?? ""}
            placeholder="no limit"
            onChange={(event) => setTyped({ ...typed, [name]: event.target.value })}
          />
        </label>
      ))}
      {problem === null ? null : (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <button type="submit" className="button main">
        Change it
      </button>
    </form>
  );
}
