import { useCallback, useState } from "react";
import { pluralize } from "../lib/format";
import { useMenu } from "../lib/hooks";
import type { ExportsMessage } from "../net/messages";
import { send } from "../state/studio";
import { useStudio } from "../state/store";
import { Icon } from "./Icon";

/** Exports runs and recordings, and lists the files. */
export function ExportMenu() {
  const exports = useStudio((s) => s.exports);
  const editable = useStudio((s) => Boolean(s.sceneDocument?.data));
  const empty = useStudio((s) => (s.scene?.bodies.length ?? 0) === 0);
  const [open, setOpen] = useState(false);
  const close = useCallback(() => setOpen(false), []);
  const [format, setFormat] = useState("html");
  const box = useMenu(open, close);
  if (!exports) return null;
  const { job, recording } = exports;
  const busy = job !== null || recording !== null;
  return (
    <div className="file-menu" ref={box}>
      <button type="button" className="plain" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name="export" size={15} /> <span className="menu-name">Export</span>
        {busy && <i className="dot" title={recording ? "Recording" : "Exporting"} />}
      </button>
      {open && (
        <div className="menu export-menu" role="dialog" aria-label="Export">
          <label className="field-label" htmlFor="export-format">
            Format
          </label>
          <select id="export-format" className="wide" value={format} disabled={busy} onChange={(event) => setFormat(event.target.value)}>
            {Object.entries(exports.formats).map(([key, label]) => (
              <option key={key} value={key}>
                {label}
              </option>
            ))}
          </select>
          {!busy && (
            <div className="buttons">
              {editable && (
                <button
                  type="button"
                  className="plain"
                  disabled={empty}
                  title="Runs the scene from start to end in the background"
                  onClick={() => send({ type: "export", format })}
                >
                  Export the run
                </button>
              )}
              <button
                type="button"
                className="plain"
                disabled={empty}
                title="Records what happens here from now on, including pulls"
                onClick={() => send({ type: "record", on: true, format })}
              >
                Record
              </button>
            </div>
          )}
          {job && <Job job={job} />}
          {recording && (
            <div className="buttons" role="status">
              <span>{pluralize(recording.frames, "frame")} recorded</span>
              <button type="button" className="plain" onClick={() => send({ type: "record", on: false, format: recording.format })}>
                Stop and write
              </button>
              <button type="button" className="text-button" onClick={() => send({ type: "export_cancel" })}>
                Discard
              </button>
            </div>
          )}
          {exports.error && !busy && <p className="note">{exports.error}</p>}
          <Files exports={exports} />
        </div>
      )}
    </div>
  );
}

function Job({ job }: { job: NonNullable<ExportsMessage["job"]> }) {
  return (
    <div className="job" role="status">
      <span>
        {job.phase} {job.total > 0 && `${job.done} of ${job.total}`}
      </span>
      <progress aria-label="Export progress" max={Math.max(job.total, 1)} value={job.total ? job.done : undefined} />
      <button type="button" className="text-button" onClick={() => send({ type: "export_cancel" })}>
        Cancel
      </button>
    </div>
  );
}

const size = (bytes: number) => (bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

function Files({ exports }: { exports: ExportsMessage }) {
  if (exports.files.length === 0) return null;
  return (
    <ul className="exported" aria-label="Exported files">
      {exports.files.map(({ name, count, bytes }) => (
        <li key={name}>
          <a href={`./exported/${name.split("/").map(encodeURIComponent).join("/")}${window.location.search}`} download>
            {name}
          </a>
          <small>{count > 1 ? `${count} files in this folder` : size(bytes)}</small>
        </li>
      ))}
    </ul>
  );
}
