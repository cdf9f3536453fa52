import { useEffect, useRef, useState } from "react";
import { send } from "../state/studio";
import { toast, useStudio } from "../state/store";
import { Icon } from "./Icon";

const address = (file: string) => `./${file}${window.location.search}`;

/** New, save, load, and the scene as YAML or Python. */
export function FileMenu() {
  const paper = useStudio((s) => s.paper);
  const [open, setOpen] = useState(false);
  const [naming, setNaming] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!open) {
      setNaming(false);
      return undefined;
    }
    const close = (event: PointerEvent) => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    window.addEventListener("pointerdown", close);
    return () => window.removeEventListener("pointerdown", close);
  }, [open]);
  if (!paper?.data) return null;
  const done = () => setOpen(false);
  const save = () => {
    if (paper.file === null) return setNaming(true);
    send({ type: "save", file: null });
    return done();
  };
  const copy = async () => {
    done();
    try {
      const text = await (await fetch(address("scene.py"))).text();
      await copyText(text);
      toast("The script is on the clipboard.");
    } catch {
      toast("The clipboard refused; open scene.py at the studio's address instead.");
    }
  };
  return (
    <div className="file-menu" ref={box}>
      <button type="button" className="plain" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name="file" size={15} /> File
        {paper.changed && <i className="dot" title="There are edits that are not saved" />}
      </button>
      {open && (
        <div className="menu" role="menu" aria-label="File">
          <Item label="New scene" onClick={() => { send({ type: "new" }); done(); }} />
          <Item label={paper.file ? `Save ${paper.file}` : "Save …"} keys="Ctrl S" onClick={save} />
          {naming ? (
            <SaveAs first={`${String(paper.data.name ?? "scene")}.yaml`} onDone={done} />
          ) : (
            <Item label="Save as …" onClick={() => setNaming(true)} />
          )}
          <Item label="Load YAML from this computer …" onClick={() => input.current?.click()} />
          <a role="menuitem" href={address("scene.yaml")} download={`${String(paper.data.name ?? "scene")}.yaml`} onClick={done}>
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
          if (!file) return;
          if (file.size > 400_000) toast(`${file.name} is too large for a scene.`);
          else void file.text().then((text) => send({ type: "replace", text }));
        }}
      />
    </div>
  );
}

async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea"); // pages without TLS have no clipboard of their own
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
