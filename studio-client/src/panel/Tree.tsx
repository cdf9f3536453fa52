import { useCallback, useRef, useState } from "react";
import { useMenu } from "../lib/hooks";
import { labelOf, summary } from "../lib/schema";
import type { Entry, Templates, Path } from "../net/messages";
import { edit, entries, pathText, select } from "../state/document";
import { send } from "../state/studio";
import { useStudio } from "../state/store";
import { MESH_ENDINGS, MESH_KINDS, uploadMesh } from "../state/upload";
import { Icon, type IconName } from "./Icon";

export const KIND_ICONS: Record<string, IconName> = {
  soft: "soft",
  cloth: "soft",
  rigid: "rigid",
  fluid: "fluid",
  smoke: "smoke",
  liquid: "tank",
  wind_tunnel: "wind",
  collider: "wall",
  joint: "joint",
  emitter: "emitter",
};
const HOLDS = ["pin", "drive", "lock"];
const SOURCES = ["emitters", "inflow", "drains"];
const PARTS = [...HOLDS, "push", "press", "load_faces", "load_volume", "pull", ...SOURCES];

/** The scene as a tree: bodies with their boundary conditions and sources, colliders, joints. */
export function Tree() {
  const data = useStudio((s) => s.sceneDocument?.data);
  const selected = useStudio((s) => pathText(s.selected));
  if (!data) return null;
  const bodies = entries(data, "bodies");
  const colliders = entries(data, "colliders");
  const joints = entries(data, "joints");
  return (
    <nav className="tree" aria-label="Scene tree">
      <AddMenu />
      <ul role="tree" aria-label="Scene">
        <Node path={[]} icon="scene" label={String(data.name ?? "scene")} isSelected={selected === ""} />
        {bodies.map((body, number) => (
          <BodyNode key={number} body={body} number={number} selected={selected} />
        ))}
        {colliders.map((collider, number) => (
          <Node
            key={`c${number}`}
            path={["colliders", number]}
            icon="wall"
            label={String(collider.name ?? labelOf(String(collider.type)))}
            name={`collider/${number}`}
            isSelected={selected === `colliders[${number}]`}
            removable
          />
        ))}
        {joints.map((joint, number) => (
          <Node
            key={`j${number}`}
            path={["joints", number]}
            icon="joint"
            label={`${labelOf(String(joint.type))}: ${String(joint.a)}${joint.b ? ` – ${String(joint.b)}` : ""}`}
            isSelected={selected === `joints[${number}]`}
            removable
          />
        ))}
      </ul>
      {bodies.length === 0 && <p className="hint">Add a shape, or open a scene from the list above.</p>}
    </nav>
  );
}

function BodyNode({ body, number, selected }: { body: Entry; number: number; selected: string }) {
  const path: Path = ["bodies", number];
  return (
    <>
      <Node
        path={path}
        icon={KIND_ICONS[String(body.type)] ?? "soft"}
        label={String(body.name)}
        name={String(body.name)}
        isSelected={selected === pathText(path)}
        removable
      />
      {PARTS.flatMap((kind) =>
        entries(body, kind).map((action, index) => (
          <Node
            key={`${kind}${index}`}
            path={path}
            target={[...path, kind, index]}
            icon={SOURCES.includes(kind) ? "emitter" : HOLDS.includes(kind) ? "nodes" : "press"}
            label={`${labelOf(kind)}: ${summary(action) || "all"}`}
            isSelected={false}
            small
            removable
          />
        )),
      )}
    </>
  );
}

interface NodeProps {
  path: Path;
  /** The path that the bin removes, if not `path`. */
  target?: Path;
  icon: IconName;
  label: string;
  /** Name for hiding it in the view. */
  name?: string;
  isSelected: boolean;
  small?: boolean;
  removable?: boolean;
}

function Node({ path, target, icon, label, name, isSelected, small, removable }: NodeProps) {
  const hidden = useStudio((s) => (name ? (s.hidden[name] ?? false) : false));
  const removed = target ?? path;
  return (
    <li role="treeitem" aria-selected={isSelected} className={small ? "small" : undefined}>
      <button type="button" className="node" onClick={() => select(path)} title={label}>
        <Icon name={icon} size={small ? 13 : 16} />
        <span>{label}</span>
      </button>
      {name && (
        <button
          type="button"
          className="restore"
          aria-label={`${hidden ? "Show" : "Hide"} ${label}`}
          title={hidden ? "Show" : "Hide"}
          onClick={() => useStudio.setState(({ hidden: all }) => ({ hidden: { ...all, [name]: !hidden } }))}
        >
          <Icon name={hidden ? "eyeOff" : "eye"} size={14} />
        </button>
      )}
      {removable && (
        <button
          type="button"
          className="restore"
          aria-label={`Remove ${label}`}
          title="Remove"
          onClick={() => edit([{ op: "remove", path: removed }], `removing ${label}`)}
        >
          <Icon name="trash" size={14} />
        </button>
      )}
    </li>
  );
}

/** Shapes to add, as what they shall be. */
function AddMenu() {
  const templates = useStudio((s) => s.hello?.templates);
  const [open, setOpen] = useState(false);
  const close = useCallback(() => setOpen(false), []);
  const [kind, setKind] = useState("soft");
  const box = useMenu(open, close);
  if (!templates) return null;
  const done = () => {
    setOpen(false);
    useStudio.setState({ treeOpen: false }); // a narrow window shows the view again
  };
  const add = (shape: string) => {
    send({ type: "add_shape", kind, shape });
    done();
  };
  return (
    <div className="add-menu" ref={box}>
      <button type="button" className="plain add-button" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name="plus" size={15} /> Add
      </button>
      {open && (
        <div className="menu" role="dialog" aria-label="Add to the scene">
          <div className="kinds" role="radiogroup" aria-label="As">
            {Object.entries(templates.kinds).map(([word, label]) => (
              <button key={word} type="button" role="radio" aria-checked={word === kind} onClick={() => setKind(word)}>
                <Icon name={KIND_ICONS[word] ?? "soft"} size={16} />
                {label}
              </button>
            ))}
          </div>
          <div className="shapes">
            {templates.shapesByKind[kind].map((shape) => (
              <button key={shape} type="button" onClick={() => add(shape)}>
                <ShapeIcon shape={shape} />
                {templates.shapes[shape]}
              </button>
            ))}
          </div>
          {MESH_KINDS.includes(kind) && <FromFile kind={kind} templates={templates} onDone={done} />}
        </div>
      )}
    </div>
  );
}

const SHAPE_ICONS: Record<string, string> = {
  box: "M12 4 5 8v8l7 4 7-4V8zM5 8l7 4 7-4M12 12v8",
  sphere: "M12 4.500a7.500 7.500 0 1 0 0 15 7.500 7.500 0 0 0 0-15zM4.500 12c0 1.700 3.400 3 7.500 3s7.500-1.300 7.500-3",
  cylinder: "M5.500 7v10c0 1.400 2.900 2.500 6.500 2.500s6.500-1.100 6.500-2.500V7M12 4.500c3.600 0 6.500 1.100 6.500 2.500S15.600 9.500 12 9.500 5.500 8.400 5.500 7 8.400 4.500 12 4.500z",
  torus: "M12 6.500c5 0 9 2.500 9 5.500s-4 5.500-9 5.500-9-2.500-9-5.500 4-5.500 9-5.500zM8 11.500c1 1 2.400 1.500 4 1.500s3-.5 4-1.500M9 12.300c.8-.6 1.800-.9 3-.9s2.200.3 3 .9",
  parametric: "M4 16c3-9 5-9 8-4s5 5 8-4M4 16c2 1.500 3 3 4 3.500M20 8c-1.500-1.500-3-2.500-4-3M8 19.500c3-9 5-9 8-4M12 12c-1.500-3-3-4.500-5-4.500",
  smoke: "M8 19.500a3.500 3.500 0 0 1-.5-7 4 4 0 0 1 5-5 4.200 4.200 0 0 1 7 3.500 3.500 3.500 0 0 1-2 6.500M11 15.500a2.500 2.500 0 1 0 2.500 2.500",
  liquid: "M4.500 5v14h15V5M4.500 10c2.500-1.500 5-1.500 7.500 0s5 1.500 7.500 0",
  wind_tunnel: "M3.500 8.500h10a2.500 2.500 0 1 0-2.500-2.500M3.500 12.500h14a2.500 2.500 0 1 1-2.500 2.500M3.500 16.500h6.500a2 2 0 1 1-2 2",
  ball: "M9 9.500a4.500 4.500 0 1 0 5.500 5.500M13.300 13.300 19 19M12.500 5.500a4.500 4.500 0 0 1 6 6L15 15l-6-6z",
  hinge: "M12 9.500a2.500 2.500 0 1 0 0 5 2.500 2.500 0 0 0 0-5zM9.500 12H3.500M14 10.300l5-5M3.500 9v6",
  slider: "M3.500 17.500h17M7 17.500v-6h10v6M9.500 7h7M14 4.500 16.500 7 14 9.500M9.500 7 12 4.500",
  fixed: "M4.500 6h6.500v12H4.500zM13 6h6.500v12H13zM9 12h6",
  nozzle: "M4 8h7v8H4zM11 10h3v4h-3M16.500 12h.1M19.500 10.500h.1M19.500 13.500h.1M17 15.500h.1M20.500 17h.1",
  smoke_source: "M9 20h6M12 17.500c-2-2 2-3.500 0-6s2-4 0-6.500M7.500 15c-1.500-1.500 1-2.500-.5-4.500M16.500 15c1.500-1.500-1-2.500.5-4.500",
  jet: "M3.500 6h6v4h-6zM9.500 8c5 0 7.500 3 8.500 8M4.500 13v6.500h15.500V13M4.500 17c3-1 5 .8 8 0s5-.8 7.500 0",
  cone: "M12 4 5.500 17c0 1.400 2.900 2.500 6.500 2.500s6.500-1.100 6.500-2.500z",
};

function ShapeIcon({ shape }: { shape: string }) {
  return (
    <svg width={26} height={26} viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth={1.4} strokeLinejoin="round" aria-hidden="true">
      <path d={SHAPE_ICONS[shape] ?? SHAPE_ICONS.box} />
    </svg>
  );
}

/** Uploads a mesh file to the studio's folder. */
function FromFile({ kind, templates, onDone }: { kind: string; templates: Templates; onDone(): void }) {
  const input = useRef<HTMLInputElement>(null);
  const [busy, setBusy] = useState(false);
  const upload = async (file: File) => {
    setBusy(true);
    await uploadMesh(file, kind);
    setBusy(false);
    onDone();
  };
  return (
    <>
      <button type="button" className="plain from-file" disabled={busy} onClick={() => input.current?.click()}>
        <Icon name="file" size={15} /> {busy ? "Uploading …" : `From a file, as ${templates.kinds[kind].toLowerCase()}`}
      </button>
      <input
        ref={input}
        type="file"
        hidden
        aria-label="Mesh file"
        accept={MESH_ENDINGS.join()}
        onChange={(event) => {
          const file = event.target.files?.[0];
          event.target.value = "";
          if (file) void upload(file);
        }}
      />
    </>
  );
}
