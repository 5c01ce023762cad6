import { z } from "zod";
import { pageRoutes } from "../../contract/routes/page-routes.ts";
import { quotaLimits, quota as quotaShape, type tenantQuota } from "../../contract/shapes/admin-shapes.ts";
import { callHub } from "../hub/call-hub.ts";
import { isRight, newDraft, TextField } from "../parts/form.tsx";
import { bytesText } from "../parts/format.ts";
import { askFirst } from "../shell/confirm.tsx";
import { showToast } from "../shell/toasts.tsx";

export type Quota = z.infer<typeof quotaShape>;

export const limitLabels: Record<keyof Quota, { label: string; short: string }> = {
  max_pending: { label: "Jobs that may wait", short: "waiting" },
  max_queues: { label: "Queues that may hold waiting jobs", short: "queues" },
  max_running: { label: "Jobs that may run at once", short: "running" },
  submits_per_sec: { label: "Submissions a second", short: "submissions a second" },
  max_output_bytes: { label: "Bytes of output of one attempt", short: "of output" },
  max_artifact_bytes: { label: "Bytes of stored files", short: "of files" },
  max_schedules: { label: "Schedules", short: "schedules" },
  max_agent_usd_per_day: { label: "Dollars of agents in a day", short: "dollars of agents a day" },
  max_agent_tokens_per_day: { label: "Tokens of agents in a day", short: "tokens of agents a day" },
  max_agent_tool_calls_per_day: { label: "Calls of agents in a day", short: "calls of agents a day" },
  max_webhooks: { label: "Webhooks", short: "webhooks" },
  max_hooks: { label: "Hooks", short: "hooks" },
};

/** Of what is limited even when nothing is set. */
const defaultLimits: Partial<Record<keyof Quota, string>> = {
  max_queues: "10000",
  max_schedules: "1000",
  max_webhooks: "20",
  max_hooks: "100",
};

/** The tenant's name is checked with the limits, so that each field shows its own problem at once. */
const wantedShape = z.object({ tenant_id: pageRoutes.putQuota.params.shape.id, ...quotaShape.shape });

/** Reads and changes the limits of a tenant; null asks for its name too. */
export function askForQuota(tenant: z.infer<typeof tenantQuota> | null, onDone: () => void): void {
  const known = quotaLimits.map((name) => [name, String(tenant?.quota[name] ?? "")]);
  const draft = newDraft({ ...Object.fromEntries(known), tenant_id: tenant?.tenant_id ?? "" });
  askFirst({
    title: tenant === null ? "Set a quota" : `Quota of ${tenant.tenant_id}`,
    body: (
      <div className="form-fields">
        {tenant === null ? <TextField draft={draft} name="tenant_id" label="Tenant" isFirst /> : null}
        <div className="form-pairs">
          {quotaLimits.map((name, index) => (
            <TextField
              key={name}
              draft={draft}
              name={name}
              label={limitLabels[name].label}
              placeholder={defaultLimits[name] ?? "no limit"}
              hint={(typed) => hintText(name, typed)}
              isNumber
              isFirst={tenant !== null && index === 0}
            />
          ))}
        </div>
        <p>
          A field that is empty is not limited. The quota applies to the next submission and the next claim.
        </p>
      </div>
    ),
    acts: [
      {
        label: "Set the quota",
        tone: "main",
        run: async () => {
          const { tenant_id: tenantId, ...limits } = wanted(draft.values.get());
          if (!isRight(draft, wantedShape, { tenant_id: tenantId, ...limits })) return "again";
          await callHub(pageRoutes.putQuota, { params: { id: tenantId }, body: limits });
          onDone();
          showToast({ icon: "check", text: `The quota of ${tenantId} is set` });
          return undefined;
        },
      },
    ],
  });
}

function wanted(typed: Record<string, string>): Quota & { tenant_id: string } {
  const given = quotaLimits.filter((name) => (typed[name] ?? "").trim() !== "");
  const limits = given.map((name) => [name, Number(typed[name])]);
  return { ...Object.fromEntries(limits), tenant_id: (typed["tenant_id"] ?? "").trim() };
}

function hintText(name: keyof Quota, typed: string): string | undefined {
  const bytes = Number(typed);
  return name.endsWith("bytes") && typed !== "" && bytes >= 1024 ? bytesText(bytes) : undefined;
}
