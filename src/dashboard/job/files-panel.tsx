import { buildRequest } from "../../contract/build-request.ts";
import { routes } from "../../contract/routes.ts";
import type { JobView } from "../../contract/view-shapes.ts";
import { callHub } from "../hub/call-hub.ts";
import { useQuery } from "../hub/use-query.ts";
import { bytesText } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";

/** The files that the job has stored. The hub redirects to where each of them is. */
export function FilesPanel({ job }: { job: JobView }) {
  const { id, output_files } = job;
  const { data } = useQuery(`files ${id} ${output_files.length}`, async () => {
    if (output_files.length === 0) return [];
    return (await callHub(routes.listArtifacts, { params: { id } })).body.files;
  });
  if (output_files.length === 0) return null;
  const files = data ?? output_files.map((file) => ({ ...file, available: false }));
  return (
    <section className="panel">
      <header>
        <h2>Files</h2>
        <span className="grow">{files.length}</span>
      </header>
      <ul className="files">
        {files.map(({ folder_id, object_key, size, available }) => (
          <li className="row" key={`${folder_id}/${object_key}`}>
            <Icon name="file" />
            <span className="grow cut mono" title={object_key}>
              <bdi>{object_key}</bdi>
            </span>
            <span className="dim">{size === undefined ? "" : bytesText(size)}</span>
            {available ? (
              <a
                className="icon-button"
                href={filePath(id, { folder_id, object_key })}
                download={object_key.split("/").at(-1)}
                aria-label={`Download ${object_key}`}
              >
                <Icon name="download" />
              </a>
            ) : (
              <span className="dimmer">gone</span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function filePath(id: string, { folder_id, object_key }: { folder_id: string; object_key: string }): string {
  return buildRequest(routes.getArtifact, { params: { id, key: object_key }, query: { folder_id } }).path;
}
