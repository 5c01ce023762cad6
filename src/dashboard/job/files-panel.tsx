import { useState } from "react";
import { buildRequest } from "../../contract/routes/build-request.ts";
import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { ArtifactList } from "../../contract/shapes/storage-shapes.ts";
import type { JobView } from "../../contract/shapes/view-shapes.ts";
import { imageTypeOf } from "../../core/text/image-type.ts";
import { callHub } from "../hub/call-hub.ts";
import { useQuery } from "../hub/use-query.ts";
import { bytesText, countText, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { ErrorBand } from "../parts/notices.tsx";
import { PlainText } from "../parts/plain-text.tsx";
import { Picture } from "./picture.tsx";

type File = ArtifactList["files"][number];

/** A job may store thousands; the rest is one command away. */
const filesShownMax = 100;
/** Each is up to 8 MiB, so further ones are shown on request. */
const picturesAtFirst = 4;

/** The files that the job has stored, and pictures among them. The hub redirects to the place of each. */
export function FilesPanel({ job }: { job: JobView }) {
  const { id, output_files } = job;
  const [hasAll, setHasAll] = useState(false);
  const { data, error, at, reload } = useQuery(`files ${id} ${output_files.length}`, async () => {
    if (output_files.length === 0) return [];
    return (await callHub(pageRoutes.listArtifacts, { params: { id } })).body.files;
  });
  if (output_files.length === 0) return null;
  const files = data ?? [];
  const pictures = files.filter(isPicture);
  const shown = hasAll ? pictures.slice(0, filesShownMax) : pictures.slice(0, picturesAtFirst);
  const hidden = pictures.length - shown.length;
  return (
    <section className="panel" aria-label="Files">
      <header>
        <h2>Files</h2>
        <span className="grow">{countText(output_files.length)}</span>
      </header>
      <ErrorBand error={error} at={at} onRetry={reload} />
      {shown.length === 0 ? null : (
        <div className="pictures">
          {shown.map((file) => (
            <Picture key={keyOf(file)} name={nameOf(file)} src={filePath(id, file, true)} />
          ))}
        </div>
      )}
      {hidden > 0 && !hasAll ? (
        <button type="button" className="button quiet small" onClick={() => setHasAll(true)}>
          Show {plural(hidden, "more picture")}
        </button>
      ) : null}
      <ul className="files">
        {data === undefined && error === undefined ? <li className="dimmer">Reading the list…</li> : null}
        {files.slice(0, filesShownMax).map((file) => (
          <FileRow key={keyOf(file)} id={id} file={file} />
        ))}
        {files.length > filesShownMax ? (
          <li className="dimmer">
            and {countText(files.length - filesShownMax)} more: jobctl artifacts {id}
          </li>
        ) : null}
      </ul>
    </section>
  );
}

function FileRow({ id, file }: { id: string; file: File }) {
  const { object_key, size, available } = file;
  return (
    <li className="row">
      <Icon name="file" />
      <span className="grow cut mono" title={object_key}>
        <PlainText text={file.path} />
      </span>
      <span className="dim">{bytesText(size)}</span>
      {available ? (
        <a
          className="icon-button"
          href={filePath(id, file, false)}
          download={nameOf(file)}
          aria-label={`Download ${file.path}`}
        >
          <Icon name="download" />
        </a>
      ) : (
        <span className="dimmer">removed</span>
      )}
    </li>
  );
}

function isPicture({ object_key: name, size, available }: File): boolean {
  return available && imageTypeOf({ name, size }) !== null;
}

function keyOf({ folder_id, object_key }: File): string {
  return `${folder_id}/${object_key}`;
}

function nameOf({ object_key }: File): string {
  return object_key.split("/").at(-1) ?? object_key;
}

/** A preview is a redirect within this hub, or to the object store that the page's policy names. */
function filePath(id: string, { folder_id, object_key }: File, isPreview: boolean): string {
  const query = isPreview ? { folder_id, preview: true } : { folder_id };
  return buildRequest(pageRoutes.getArtifact, { params: { id, key: object_key }, query }).path;
}
