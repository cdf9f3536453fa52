import { useNarrow } from "../lib/hooks";
import { rebuildNeeded } from "../state/document";
import { send, togglePlay } from "../state/studio";
import { remember, type Theme, useStudio } from "../state/store";
import { frameAll } from "../view/cameraEvents";
import { ExportMenu } from "./ExportMenu";
import { FileMenu } from "./FileMenu";
import { Icon, type IconName } from "./Icon";

interface ToolProps {
  icon: IconName;
  label: string;
  keys?: string;
  onClick(): void;
  pressed?: boolean;
  disabled?: boolean;
  className?: string;
}

export function Tool({ icon, label, keys, onClick, pressed, disabled, className }: ToolProps) {
  return (
    <button
      type="button"
      className={`tool ${className ?? ""}`}
      aria-label={label}
      aria-pressed={pressed}
      title={keys ? `${label} (${keys})` : label}
      onClick={(event) => {
        // after a mouse click the keyboard belongs to the page again, so that space plays
        if (event.detail > 0) event.currentTarget.blur();
        onClick();
      }}
      disabled={disabled}
    >
      <Icon name={icon} />
    </button>
  );
}

const THEMES: Theme[] = ["auto", "light", "dark"];
const THEME_ICON: Record<Theme, IconName> = { auto: "auto", light: "sun", dark: "moon" };

/** Shipped scenes, and those in the folder. */
function ScenePicker() {
  const hello = useStudio((s) => s.hello);
  const world = useStudio((s) => s.world);
  const files = useStudio((s) => s.sceneDocument?.files) ?? [];
  const editable = useStudio((s) => Boolean(s.sceneDocument?.data));
  if (!hello || !world) return null;
  const names = hello.scenes.map(({ name }) => name);
  const fresh = !names.includes(world.scene) && !files.includes(world.scene);
  const shipped = hello.scenes.map(({ name, description }) => (
    <option key={name} value={name} title={description}>
      {name}
    </option>
  ));
  return (
    <select
      className="scene-picker"
      aria-label="Scene"
      value={world.scene}
      title={hello.scenes.find(({ name }) => name === world.scene)?.description}
      onChange={(event) => {
        send({ type: "load_scene", name: event.target.value });
        event.target.blur();
      }}
    >
      {fresh && <option value={world.scene}>{editable ? "New scene" : world.scene}</option>}
      {files.length > 0 ? (
        <>
          <optgroup label="In this folder">
            {files.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </optgroup>
          <optgroup label="Gallery">{shipped}</optgroup>
        </>
      ) : (
        shipped
      )}
    </select>
  );
}

/** Shown when the scene has changes that need a rebuild. */
export function RebuildButton() {
  const stale = useStudio(rebuildNeeded);
  return stale ? (
    <button
      type="button"
      className="stale"
      title="The scene has changed; rebuild it to see the changes"
      onClick={() => send({ type: "build" })}
    >
      <Icon name="build" size={14} /> Rebuild needed
    </button>
  ) : null;
}

export function TopBar() {
  const hello = useStudio((s) => s.hello);
  const world = useStudio((s) => s.world);
  const theme = useStudio((s) => s.theme);
  const wireframe = useStudio((s) => s.wireframe);
  const panelOpen = useStudio((s) => s.panelOpen);
  const plotsOpen = useStudio((s) => s.plotsOpen);
  const editable = useStudio((s) => Boolean(s.sceneDocument?.data));
  const undo = useStudio((s) => s.sceneDocument?.undo);
  const redo = useStudio((s) => s.sceneDocument?.redo);
  const narrow = useNarrow();
  const treeOpen = useStudio((s) => s.treeOpen);
  const playing = world?.playing ?? false;
  const nextTheme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  return (
    <header className="topbar">
      <div className="brand">
        <svg className="mark" viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="9" />
          <path d="M5.5 20c4-11 7.7-11 10.5-4s6.5 7 10.5-4" />
        </svg>
        <span className="brand-name">Continua</span>
        {editable && narrow && (
          <Tool
            icon="tree"
            label="Scene tree"
            pressed={treeOpen}
            onClick={() => useStudio.setState({ treeOpen: !treeOpen })}
          />
        )}
        {hello && world && (hello.frames ? <b className="replay-name">{world.scene}</b> : <ScenePicker />)}
        {editable && <FileMenu />}
        {hello && world && !hello.frames && <ExportMenu />}
        {editable && (
          <>
            <Tool
              icon="undo"
              label={undo ? `Undo ${undo}` : "Undo"}
              keys="Ctrl Z"
              disabled={!undo}
              onClick={() => send({ type: "undo" })}
            />
            <Tool
              icon="redo"
              label={redo ? `Redo ${redo}` : "Redo"}
              keys="Ctrl Y"
              disabled={!redo}
              onClick={() => send({ type: "redo" })}
            />
          </>
        )}
      </div>
      <div className="transport" role="toolbar" aria-label="Playback">
        <Tool icon="reset" label="Back to the start" keys="R" onClick={() => send({ type: "reset" })} disabled={!world} />
        <Tool
          className="primary"
          icon={playing ? "pause" : "play"}
          label={playing ? "Pause" : "Play"}
          keys="space"
          onClick={togglePlay}
          disabled={!world || world.error !== null}
        />
        <Tool
          icon="step"
          label="One step"
          keys="."
          onClick={() => send({ type: "step" })}
          disabled={!world || world.error !== null}
        />
        {!narrow && <RebuildButton />}
      </div>
      <div className="tools" role="toolbar" aria-label="View">
        <Tool icon="frame" label="Bring everything into view" keys="F" onClick={frameAll} />
        <Tool
          icon="mesh"
          label="Mesh"
          keys="W"
          pressed={wireframe}
          onClick={() => remember({ wireframe: !wireframe })}
        />
        {!hello?.frames && (
          <Tool
            icon="plots"
            label="Plots"
            pressed={plotsOpen}
            onClick={() => useStudio.setState({ plotsOpen: !plotsOpen })}
          />
        )}
        <Tool
          icon={THEME_ICON[theme]}
          label={`Theme: ${theme}`}
          onClick={() => remember({ theme: nextTheme })}
        />
        <Tool icon="help" label="Help" keys="?" onClick={() => useStudio.setState({ helpOpen: true })} />
        <Tool
          icon="panel"
          label="Panel"
          pressed={panelOpen}
          onClick={() => useStudio.setState({ panelOpen: !panelOpen })}
        />
      </div>
    </header>
  );
}
