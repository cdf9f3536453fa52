import { useEffect, useRef, useState } from "react";
import { useMenu } from "../lib/hooks";
import { save, send } from "../state/studio";
import { toast, useStudio } from "../state/store";
import { loadSceneFile } from "../state/upload";
import { Icon } from "./Icon";

const show = (fileMenu: "closed" | "open" | "naming") => useStudio.setState({ fileMenu });
const done = () => show("closed");

const address = (file: string) => `./${file}${window.location.search}`;

/** New, save, load, and download the scene as YAML or Python. */
export function FileMenu() {
  const sceneDocument = useStudio((s) => s.sceneDocument);
  const menu = useStudio((s) => s.fileMenu);
  const open = menu !== "closed";
  const box = useMenu(open, done);
  const input = useRef<HTMLInputElement>(null);
  if (!sceneDocument?.data) return null;
  const name = sceneDocument.file ?? `${String(sceneDocument.data.name ?? "scene")}.yaml`;
  const saveOrAsk = () => {
    save();
    if (sceneDocument.file !== null) done();
  };
  const copy = async () => {
    done();
    try {
      const text = await (await fetch(address("scene.py"))).text();
      await copyText(text);
      toast("The script was copied to the clipboard.");
    } catch {
      toast("The clipboard is not available; open scene.py at the studio's address instead.");
    }
  };
  return (
    <div className="file-menu" ref={box}>
      <button type="button" className="plain" aria-expanded={open} onClick={() => show(open ? "closed" : "open")}>
        <Icon name="file" size={15} /> <span className="menu-name">File</span>
        {sceneDocument.changed && <i className="dot" title="Unsaved edits" />}
      </button>
      {open && (
        <div className="menu" role="menu" aria-label="File">
          <Item label="New scene" onClick={() => { send({ type: "new" }); done(); }} />
          <Item label={sceneDocument.file ? `Save ${sceneDocument.file}` : "Save …"} keys="Ctrl S" onClick={saveOrAsk} />
          {menu === "naming" ? (
            <SaveAs first={name} onDone={done} />
          ) : (
            <Item label="Save as …" onClick={() => show("naming")} />
          )}
          <Item label="Load YAML from this computer …" onClick={() => input.current?.click()} />
          <a role="menuitem" href={address("scene.yaml")} download={name} onClick={done}>
            Download as YAML
          </a>
          <Item label="Copy as Python" onClick={() => void copy()} />
        </div>
      )}
      <input
        ref={input}
        type="file"
        hidden
        accept=".yaml,.yml"
        aria-label="Scene file"
        onChange={(event) => {
          const file = event.target.files?.[0];
          event.target.value = "";
          done();
          if (file) void loadSceneFile(file);
        }}
      />
    </div>
  );
}

async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea"); // pages without TLS have no clipboard API
  area.value = text;
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  if (!copied) throw new Error("refused");
  return undefined;
}

function Item({ label, keys, onClick }: { label: string; keys?: string; onClick(): void }) {
  return (
    <button type="button" role="menuitem" onClick={onClick}>
      <span>{label}</span>
      {keys && <small>{keys}</small>}
    </button>
  );
}

/** Asks for a file name; the server asks again before it replaces another file. */
function SaveAs({ first, onDone }: { first: string; onDone(): void }) {
  const [name, setName] = useState(first);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.select(), []);
  return (
    <form
      className="save-as"
      onSubmit={(event) => {
        event.preventDefault();
        send({ type: "save", file: name });
        onDone();
      }}
    >
      <input ref={field} aria-label="File name" className="typed text" value={name} onChange={(event) => setName(event.target.value)} />
      <button type="submit" className="plain">
        Save
      </button>
    </form>
  );
}
