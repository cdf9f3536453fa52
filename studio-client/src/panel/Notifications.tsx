import { useEffect, useRef, useState } from "react";
import { countedProgressText, splitProgressText } from "../lib/format";
import { useNarrow } from "../lib/hooks";
import { KEYS } from "../lib/keys";
import type { Question, StateMessage } from "../net/messages";
import { entries } from "../state/document";
import { send } from "../state/studio";
import { dismiss, useStudio } from "../state/store";
import { Icon } from "./Icon";
import { RebuildButton } from "./TopBar";

/** Everything over the view: errors, progress, short messages, help. */
export function Notifications() {
  const link = useStudio((s) => s.link);
  const world = useStudio((s) => s.world);
  const toasts = useStudio((s) => s.toasts);
  const helpOpen = useStudio((s) => s.helpOpen);
  const narrow = useNarrow();
  const sceneId = useStudio((s) => s.scene?.sceneId);
  const recoverable = useStudio((s) => Boolean(s.sceneDocument?.recoverable && s.sceneDocument.version === 0));
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
        {world?.buildError && !world.error && link === "open" && (
          <div className="banner" role="alert">
            <Icon name="warn" size={22} />
            <p>{world.buildError}</p>
            <button type="button" className="action" onClick={() => send({ type: "build" })}>
              Try again
            </button>
          </div>
        )}
        {narrow && <RebuildButton />}
        {recoverable && link === "open" && <UnsavedEdits key={sceneId} />}
        {world?.busy && link === "open" && <Busy text={world.busy} world={world} />}
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
            <p>
              The studio does not respond; this page reconnects when it does. If it was stopped, start it again and open the address that
              it prints.
            </p>
          </div>
        </div>
      )}
      {link === "open" && <Confirmation />}
      {helpOpen && <Help />}
    </>
  );
}

/** Asks about the last command of this page, or before a large scene is built. */
function Confirmation() {
  const own = useStudio((s) => s.question);
  const build = useStudio((s) => (s.world?.question && s.world.question.id !== s.declined ? s.world.question : null));
  const question = own ?? build;
  return question && <ConfirmationDialog key={question.message} question={question} isBuild={!own} />;
}

function ConfirmationDialog({ question, isBuild }: { question: Question; isBuild: boolean }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus(), []);
  const close = () => {
    if (isBuild) useStudio.setState(({ world }) => ({ declined: world?.question?.id ?? 0 }));
    else useStudio.setState({ question: null });
  };
  const confirm = () => {
    close();
    send(question.command);
  };
  return (
    <div className="veil" onClick={close} onKeyDown={(event) => { if (event.key === "Escape") close(); event.stopPropagation(); }}>
      <div className="card confirmation" role="alertdialog" aria-modal="true" aria-labelledby="question" onClick={(event) => event.stopPropagation()}>
        <p id="question">{question.message}</p>
        <div className="buttons">
          <button ref={button} type="button" className="plain" onClick={close}>
            Cancel
          </button>
          <button type="button" className="action" onClick={confirm}>
            {question.confirm}
          </button>
        </div>
      </div>
    </div>
  );
}

/** Offers unsaved edits of an earlier session. */
function UnsavedEdits() {
  const [open, setOpen] = useState(true);
  const fresh = useStudio((s) => s.sceneDocument?.file === null && entries(s.sceneDocument.data, "bodies").length === 0);
  if (!open) return null;
  return (
    <div className="banner info" role="alert">
      <p>{fresh ? "An earlier untitled scene was not saved." : "Earlier edits of this scene were not saved."}</p>
      <button type="button" className="action" onClick={() => send({ type: "recover" })}>
        Recover
      </button>
      <button type="button" className="plain" onClick={() => setOpen(false)}>
        Not now
      </button>
    </div>
  );
}

/** Long work of the simulation's thread, its progress, and a button to cancel it. */
function Busy({ text, world }: { text: string; world: StateMessage }) {
  const { progress, done, total, secondsLeft, cancellable } = world;
  const counted = done !== null && total !== null;
  const { body, step } = counted
    ? { body: countedProgressText(text, done, total, secondsLeft), step: "" }
    : splitProgressText(text);
  return (
    <div className="busy" role="status" aria-label="Progress">
      <i className="spinner" />
      <div className="busy-text">
        <b>{body}</b>
        {step && <span>{step}</span>}
        {progress !== null && (counted || progress > 0) && (
          <progress aria-label="Completed fraction" max={1} value={progress} />
        )}
      </div>
      {cancellable && (
        <button type="button" className="plain" onClick={() => send({ type: "cancel" })}>
          Cancel
        </button>
      )}
    </div>
  );
}

const MOUSE: [string, string][] = [
  ["Drag a body", "pull it; let go and it swings back"],
  ["Click a body", "select it, while paused at the start"],
  ["Drag beside it", "rotate the view"],
  ["Right drag", "move the view (also Shift + drag)"],
  ["Wheel", "zoom"],
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
