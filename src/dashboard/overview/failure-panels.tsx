import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { StatisticsView } from "../../contract/routes/statistics-routes.ts";
import { callHub } from "../hub/call-hub.ts";
import { useNow } from "../hub/clock.ts";
import { useQuery } from "../hub/use-query.ts";
import { ageText, countText, shortId } from "../parts/format.ts";
import { lastLineOf } from "../parts/last-line.ts";
import { PlainText } from "../parts/plain-text.tsx";
import { Spark } from "../parts/spark.tsx";
import { jobsPath } from "./signals.tsx";

const shownMax = 6;

/** Why jobs failed, the most frequent first. */
export function CausesPanel({ statistics }: { statistics: StatisticsView }) {
  const now = useNow();
  const { causes, totals } = statistics;
  return (
    <section className="panel">
      <header>
        <h2>Failures by cause</h2>
        <span className="grow">{countText(totals.failed)} in this time</span>
        <a className="button quiet small" href={jobsPath("state=failed,quarantined", statistics.tenant_id)}>
          All failures
        </a>
      </header>
      {causes.length === 0 ? (
        <p className="nothing dimmer">No job failed in this time.</p>
      ) : (
        <table className="causes">
          <thead>
            <tr>
              <th>Cause</th>
              <th className="not-phone when">When</th>
              <th className="num">Jobs</th>
              <th className="num not-phone">Last</th>
            </tr>
          </thead>
          <tbody>
            {causes.slice(0, shownMax).map(({ type, code, reason, jobs, last_at, series }) => (
              <tr key={`${type} ${code} ${reason}`}>
                <td>
                  <div className="cut">
                    <a
                      href={jobsPath(
                        `state=failed,quarantined&type=${encodeURIComponent(type)}`,
                        statistics.tenant_id,
                      )}
                    >
                      <span className="mono cause-code">{code}</span> <b className="strong">{type}</b>{" "}
                      <span className="dim">
                        <PlainText text={reason} />
                      </span>
                    </a>
                  </div>
                </td>
                <td className="not-phone">
                  <Spark values={series} colour="var(--failed-mark)" width={96} height={18} />
                </td>
                <td className="num strong">{countText(jobs)}</td>
                <td className="num dimmer not-phone">{ageText(now - last_at)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

/** The last failures one by one, for a person who may not see statistics. */
export function RecentFailures() {
  const now = useNow();
  const { data } = useQuery(
    "recent failures",
    async () =>
      (
        await callHub(pageRoutes.listJobs, {
          query: { status: ["failed", "quarantined"], fail_code: "!CANCELLED", limit: shownMax },
        })
      ).body,
    {
      everyMs: 60_000,
      when: ({ events }) =>
        [...events.values()].some(({ status }) => status === "failed" || status === "quarantined"),
    },
  );
  return (
    <section className="panel">
      <header>
        <h2>Recent failures</h2>
        <span className="grow" />
        <a className="button quiet small" href="/jobs?state=failed,quarantined">
          All
        </a>
      </header>
      {data === undefined ? (
        <p className="nothing dimmer">Loading …</p>
      ) : data.length === 0 ? (
        <p className="nothing dimmer">No job has failed.</p>
      ) : (
        <table className="causes">
          <tbody>
            {data.map((job) => (
              <tr key={job.id}>
                <td>
                  <div className="cut">
                    <a href={`/jobs/${job.id}`}>
                      <span className="mono cause-code">{job.fail_detail ?? job.fail_code}</span>{" "}
                      <b className="strong">
                        <bdi>{job.type}</bdi>
                      </b>{" "}
                      <span className="mono dimmer">{shortId(job.id)}</span>{" "}
                      <span className="dim">
                        <PlainText text={lastLineOf(job.last_failure) ?? job.last_failure?.reason ?? ""} />
                      </span>
                    </a>
                  </div>
                </td>
                <td className="num dimmer">{ageText(now - (job.completed_at ?? job.created_at))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
