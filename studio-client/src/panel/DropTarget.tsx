import { type DragEvent, useEffect, useState } from "react";
import { MESH_KINDS, openFiles } from "../state/upload";
import { useStudio } from "../state/store";
import { Icon } from "./Icon";
import { KIND_ICONS } from "./Tree";

const hasFiles = (event: { dataTransfer: DataTransfer | null }) => Boolean(event.dataTransfer?.types.includes("Files"));

/** Takes files that are dragged over the page; shown while there are some. */
export function DropTarget() {
  const kinds = useStudio((s) => s.hello?.templates.kinds) ?? {};
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const enter = (event: globalThis.DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault(); // else the browser opens the file in place of the page
      setOpen(true);
    };
    const leave = (event: globalThis.DragEvent) => {
      if (event.relatedTarget === null) setOpen(false); // it has left the window
    };
    const drop = (event: globalThis.DragEvent) => {
      if (hasFiles(event)) event.preventDefault();
      setOpen(false);
    };
    window.addEventListener("dragenter", enter);
    window.addEventListener("dragover", enter);
    window.addEventListener("dragleave", leave);
    window.addEventListener("drop", drop);
    return () => {
      window.removeEventListener("dragenter", enter);
      window.removeEventListener("dragover", enter);
      window.removeEventListener("dragleave", leave);
      window.removeEventListener("drop", drop);
    };
  }, []);
  if (!open) return null;
  const drop = (kind: string) => (event: DragEvent) => {
    event.preventDefault();
    setOpen(false);
    void openFiles([...event.dataTransfer.files], kind);
  };
  return (
    <div className="drop-target" role="dialog" aria-label="Drop a file">
      {MESH_KINDS.map((kind) => (
        <div key={kind} className="drop-kind" data-kind={kind} onDrop={drop(kind)}>
          <Icon name={KIND_ICONS[kind]} size={34} />
          <b>{kinds[kind] ?? kind}</b>
          <span>Drop a mesh here to add it as {kinds[kind]?.toLowerCase() ?? kind}</span>
        </div>
      ))}
    </div>
  );
}
