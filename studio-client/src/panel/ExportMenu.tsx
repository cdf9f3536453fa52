import { useCallback, useState } from "react";
import { counted } from "../lib/format";
import { useMenu } from "../lib/hooks";
import type { ExportsMessage } from "../net/messages";
import { send } from "../state/studio";
import { useStudio } from "../state/store";
import { Icon } from "./Icon";

/** Writes runs and recordings into files, and offers those that are there. */
export function ExportMenu() {
  const exports = useStudio((s) => s.exports);
  const editable = useStudio((s) => Boolean(s.paper?.data));
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
        <Icon name="export" size={15} /> Export
        {busy && <i className="dot" title={recording ? "It is recorded" : "An export is under way"} />}
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
                  title="Runs the scene from its start to its end, beside what you do here"
                  onClick={() => send({ type: "export", format })}
                >
                  Export the run
                </button>
              )}
              <button
                type="button"
                className="plain"
                disabled={empty}
                title="Keeps what happens here from now on, hands and all"
                onClick={() => send({ type: "record", on: true, format })}
              >
                Record
              </button>
            </div>
          )}
          {job && <Job job={job} />}
          {recording && (
            <div className="buttons" role="status">
              <span>{counted(recording.frames, "frame")} recorded</span>
              <button type="button" className="plain" onClick={() => send({ type: "record", on: false, format: recording.format })}>
                Stop and write
              </button>
              <button type="button" className="set-it" onClick={() => send({ type: "export_cancel" })}>
                drop
              </button>
            </div>
          )}
          {exports.problem && !busy && <p className="note">{exports.problem}</p>}
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
      <progress aria-label="Progress of the export" max={Math.max(job.total, 1)} value={job.total ? job.done : undefined} />
      <button type="button" className="set-it" onClick={() => send({ type: "export_cancel" })}>
        cancel
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
          <small>{count > 1 ? `${count} files in that folder` : size(bytes)}</small>
        </li>
      ))}
    </ul>
  );
}
