/**
 * One kind of guard: the files that hold it, and the tests that must notice when a part of it is gone, in rounds: the next
 * round runs only for mutants that have survived the ones before.
 */
export type Guard = { name: string; files: string[]; rounds: string[][] };

const contract = "test/store-contract/sqlite-without-thread.test.ts";
const ofHttp = (...names: string[]): string[] => names.map((name) => `test/http/${name}.test.ts`);
const ofCages = (...names: string[]): string[] => names.map((name) => `test/sandbox/${name}.test.ts`);

export const guards: Guard[] = [
  {
    name: "fence",
    files: [
      "src/core/jobs/change.ts",
      "src/core/jobs/attempt-acts.ts",
      "src/hub/use-cases/workers/attempt-fence.ts",
      "src/hub/use-cases/workers/find-held-job.ts",
      "src/hub/use-cases/workers/check-output.ts",
      "src/hub/use-cases/files/find-token-job.ts",
    ],
    rounds: [["src/core/jobs"], ofHttp("endings", "job-tokens", "output"), ["test/http", contract]],
  },
  {
    name: "authorization",
    files: [
      "src/hub/http/serve-route.ts",
      "src/hub/http/credentials.ts",
      "src/hub/use-cases/access/authenticate.ts",
      "src/hub/use-cases/access/sessions.ts",
      "src/hub/use-cases/access/manage-tokens.ts",
      "src/hub/use-cases/access/admit-stream.ts",
      "src/hub/use-cases/workers/find-worker.ts",
      "src/hub/use-cases/jobs/command-policy.ts",
      "src/hub/certs/certificate-token.ts",
      "src/hub/certs/verify-peer.ts",
    ],
    rounds: [
      ofHttp("tokens-and-sessions"),
      ofHttp("refusals", "workers", "events-stream"),
      ["test/http", "test/rpc", "test/trust/tokens.test.ts"],
    ],
  },
  {
    name: "tenant wall",
    files: [
      "src/hub/use-cases/access/tenant-wall.ts",
      "src/hub/use-cases/access/job-or-throw.ts",
      "src/hub/use-cases/jobs/find-job.ts",
      "src/hub/use-cases/jobs/bulk-change.ts",
      "src/hub/use-cases/jobs/stop-job.ts",
      "src/hub/use-cases/files/list-artifacts.ts",
      "src/hub/use-cases/workers/manage-workers.ts",
    ],
    rounds: [
      ofHttp("bulk", "workers"),
      ofHttp("refusals", "jobs", "output-files"),
      ["test/http", "test/hub/worker-owners.test.ts", "test/trust/kept-receipts.test.ts"],
    ],
  },
  {
    name: "paths",
    files: [
      "src/core/path-rules.ts",
      "src/core/check-limits.ts",
      "src/runners/delegate/repository/check-paths.ts",
      "src/runtime/guarded-fetch/address-problem.ts",
      "src/runtime/guarded-fetch/allowed-host.ts",
      "src/runtime/guarded-fetch/check-url.ts",
    ],
    rounds: [
      ["src/core", "src/runtime/guarded-fetch", "src/runners/delegate"],
      [...ofHttp("submissions", "body-refusals", "jobs"), "test/kinds"],
    ],
  },
  {
    name: "signatures",
    files: [
      "src/signing/verify-claim.ts",
      "src/signing/ed25519.ts",
      "src/signing/job-token.ts",
      "src/signing/lease.ts",
      "src/signing/key-set.ts",
      "src/signing/bundle/check-bundle.ts",
      "src/signing/bundle/check-shown.ts",
      "src/signing/job-message.ts",
    ],
    rounds: [
      ["src/signing"],
      [
        ...ofHttp("claims", "job-tokens", "refused-claims"),
        "test/trust/signatures.test.ts",
        "test/trust/receipts.test.ts",
      ],
    ],
  },
  {
    name: "seals",
    files: [
      "src/store/jobs/job-seal.ts",
      "src/store/jobs/seal-check.ts",
      "src/store/jobs/find-damage.ts",
      "src/store/frames/check-chain.ts",
      "src/store/frames/records.ts",
    ],
    rounds: [
      ["src/store/jobs", "src/store/frames"],
      [
        "test/store-contract/sqlite-damage.test.ts",
        contract,
        ...ofHttp("damaged-jobs"),
        "test/trust/audit-frames.test.ts",
      ],
    ],
  },
  {
    name: "quotas",
    files: [
      "src/core/jobs/quota.ts",
      "src/store/jobs/submit-rules.ts",
      "src/hub/use-cases/files/over-quota.ts",
      "src/hub/use-cases/access/check-rate.ts",
      "src/hub/use-cases/access/note-failed-login.ts",
    ],
    rounds: [
      ["src/core/jobs/quota.test.ts", "src/hub/use-cases/access"],
      ofHttp("refusals", "submissions"),
      ["test/http", contract],
    ],
  },
  {
    name: "file URLs",
    files: [
      "src/core/storage-policy.ts",
      "src/hub/use-cases/files/act-by-token.ts",
      "src/hub/use-cases/files/authenticate-job.ts",
      "src/hub/use-cases/files/file-ticket.ts",
      "src/hub/use-cases/files/presign-files.ts",
      "src/hub/use-cases/files/read-object.ts",
      "src/hub/use-cases/files/remove-object.ts",
    ],
    rounds: [
      ["src/core/storage-policy.test.ts"],
      ofHttp("job-files", "job-tokens"),
      ofHttp("files", "output-files"),
      ["test/http", "test/s3"],
    ],
  },
  {
    name: "masks",
    files: [
      "src/runners/mask-outcome.ts",
      "src/runners/secret-forms.ts",
      "src/runners/read-secrets.ts",
      "launcher/output/mask.c",
    ],
    rounds: [["src/runners"], ["test/trust/masked-secrets.test.ts", "test/sandbox/launcher.test.ts"]],
  },
  {
    name: "launcher",
    files: [
      "launcher/cage/cage.c",
      "launcher/cage/job-namespace.c",
      "launcher/cage/mount-step.c",
      "launcher/cage/job-mount.c",
      "launcher/process/job-process.c",
      "launcher/process/job-cgroup.c",
      "launcher/rights/privileges.c",
      "launcher/rights/seccomp-filter.c",
      "launcher/plan/plan-check.c",
      "launcher/open-beneath.c",
    ],
    rounds: [
      ofCages("launcher", "cage", "first-process"),
      ofCages(
        "escapes",
        "job-mounts",
        "open-beneath",
        "rlimits",
        "endings",
        "cage-without-root",
        "launcher-proofs",
      ),
    ],
  },
];
