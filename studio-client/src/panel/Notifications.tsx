import { useEffect, useRef, useState } from "react";
import { stepsOf } from "../lib/format";
import { KEYS } from "../lib/keys";
import { entries } from "../state/document";
import { send } from "../state/studio";
import { dismiss, useStudio } from "../state/store";
import { Icon } from "./Icon";

/** Everything that lies over the view: trouble, waiting, short messages, help. */
export function Overlays() {
  const link = useStudio((s) => s.link);
  const world = useStudio((s) => s.world);
  const toasts = useStudio((s) => s.toasts);
  const helpOpen = useStudio((s) => s.helpOpen);
  const view = useStudio((s) => s.scene?.view);
  const recoverable = useStudio((s) => Boolean(s.paper?.recoverable && s.paper.version === 0));
  return (
    <>
      <div className="messages">
        {world?.error && link === "open" && (
          <div className="banner" role="alert">
            <Icon name="warn" size={22} />
            <p>{world.error}</p>
            <button type="button" className="action" onClick={() => send({ type: "reset" })}>
              Back to the start
            </button>
          </div>
        )}
        {world?.problem && !world.error && link === "open" && (
          <div className="banner" role="alert">
            <Icon name="warn" size={22} />
            <p>{world.problem}</p>
            <button type="button" className="action" onClick={() => send({ type: "build" })}>
              Try again
            </button>
          </div>
        )}
        {recoverable && link === "open" && <Left key={view} />}
        {world?.busy && link === "open" && (
          <Busy text={world.busy} part={world.part} stoppable={world.stoppable} />
        )}
      </div>
      <div className="toasts" aria-live="polite">
        {toasts.map(({ id, message }) => (
          <div key={id} className="toast">
            <span>{message}</span>
            <button type="button" aria-label="Dismiss" onClick={() => dismiss(id)}>
              <Icon name="close" size={14} />
            </button>
          </div>
        ))}
      </div>
      {link === "lost" && (
        <div className="veil" role="alert">
          <div className="card">
            <i className="spinner" />
            <h2>Connection lost</h2>
            <p>The studio does not answer. If it was stopped, start it again; this page comes back by itself.</p>
          </div>
        </div>
      )}
      {helpOpen && <Help />}
    </>
  );
}

/** What was edited before and never saved: by a studio that was killed, or before another scene was opened. */
function Left() {
  const [open, setOpen] = useState(true);
  const fresh = useStudio((s) => s.paper?.file === null && entries(s.paper.data, "bodies").length === 0);
  if (!open) return null;
  return (
    <div className="banner calm" role="alert">
      <p>{fresh ? "An earlier scene without a name was not saved." : "Earlier edits of this scene were not saved."}</p>
      <button type="button" className="action" onClick={() => send({ type: "recover" })}>
        {fresh ? "Bring it back" : "Recover them"}
      </button>
      <button type="button" className="plain" onClick={() => setOpen(false)}>
        Not now
      </button>
    </div>
  );
}

/** What the simulation's thread is busy with, how far it is, and a way to end it. */
function Busy({ text, part, stoppable }: { text: string; part: number | null; stoppable: boolean }) {
  const { body, step } = stepsOf(text);
  return (
    <div className="busy" role="status" aria-label="Work">
      <i className="spinner" />
      <div className="busy-text">
        <b>{body}</b>
        {step && <span>{step}</span>}
        {part !== null && part > 0 && <progress aria-label="Part of the work that is done" max={1} value={part} />}
      </div>
      {stoppable && (
        <button type="button" className="plain" onClick={() => send({ type: "cancel" })}>
          Cancel
        </button>
      )}
    </div>
  );
}

const MOUSE: [string, string][] = [
  ["Drag a body", "pull it; let go and it swings back"],
  ["Click a body", "select it, while nothing runs"],
  ["Drag beside it", "turn the view"],
  ["Right drag", "move the view (also Shift + drag)"],
  ["Wheel", "nearer or farther"],
];

function Help() {
  const close = () => useStudio.setState({ helpOpen: false });
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus(), []);
  return (
    <div className="veil" onClick={close}>
      <div
        className="card help"
        role="dialog"
        aria-modal="true"
        aria-labelledby="help-title"
        onClick={(event) => event.stopPropagation()}
      >
        <h2 id="help-title">Mouse and keys</h2>
        <dl>
          {MOUSE.map(([what, does]) => (
            <div key={what}>
              <dt>{what}</dt>
              <dd>{does}</dd>
            </div>
          ))}
          {KEYS.map(({ label, help }) => (
            <div key={label}>
              <dt>
                <kbd>{label}</kbd>
              </dt>
              <dd>{help.charAt(0).toLowerCase() + help.slice(1)}</dd>
            </div>
          ))}
        </dl>
        <button ref={button} type="button" className="action" onClick={close}>
          Close
        </button>
      </div>
    </div>
  );
}
