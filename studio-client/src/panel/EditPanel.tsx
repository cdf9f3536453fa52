import { fieldOf, labelOf } from "../lib/schema";
import type { Entry, Json, Path, Schema } from "../net/messages";
import { edit, entries, pathText, valueAt } from "../state/document";
import { useStudio } from "../state/store";
import { MeshSummaryView } from "./MeshSummary";
import { EntryForm, useSchema } from "./SchemaForm";
import { Section } from "./Section";

/** The form of the selected entry. */
export function EditPanel() {
  const root = useSchema();
  const data = useStudio((s) => s.sceneDocument?.data);
  const selected = useStudio((s) => s.selected);
  if (!root || !data) return null;
  const entry = valueAt(data, selected);
  if (selected.length === 0 || !entry) return <SceneForm root={root} data={data} />;
  return <ObjectForm key={pathText(selected)} root={root} path={selected} entry={entry as Entry} />;
}

/** Keys by section, in order; all others are below them. */
const SCENE_SECTIONS: [string, string[]][] = [
  ["Scene", ["name", "description", "gravity", "wind", "start_at_equilibrium"]],
  ["Contact", ["contact"]],
  ["Joints and changes", ["joints", "changes"]],
];
const SCENE_ELSEWHERE = ["bodies", "colliders", "seconds", "fps", "dt"];

function SceneForm({ root, data }: { root: Schema; data: Entry }) {
  return <Sections schema={root} root={root} path={[]} value={data} sections={SCENE_SECTIONS} without={SCENE_ELSEWHERE} />;
}

const BOUNDARY_CONDITIONS = ["pin", "drive", "lock", "push", "press", "load_faces", "load_volume", "pull"];
const BODY_SECTIONS: [string, string[]][] = [
  ["Shape", ["name", "mesh", "shape", "block", "particle_radius", "size", "cells", "origin", "blocks", "shapes", "obstacles"]],
  ["Sources and sides", ["emitters", "inflow", "drains", "speed", "streaks", "sides", "walls"]],
  ["Initial state", ["transform", "initial", "velocity"]],
  ["Material", ["material", "density", "mass", "viscosity", "surface_tension", "damping", "plasticity"]],
  ["Boundary conditions", BOUNDARY_CONDITIONS],
];

/** The schema of an entry of a list of the scene, by its type. */
function schemaOf(root: Schema, path: Path, entry: Entry): Schema | null {
  const list = root.properties?.[String(path[0])];
  const items = list?.items;
  if (!items) return null;
  const field = fieldOf(items, root);
  return field.choices.find(({ tag }) => tag === entry.type)?.schema ?? (field.kind === "object" ? field.schema : null);
}

function ObjectForm({ root, path, entry }: { root: Schema; path: Path; entry: Entry }) {
  const schema = schemaOf(root, path, entry);
  const kinds = useStudio((s) => s.hello?.templates.kinds) ?? {};
  if (!schema) return null;
  const body = path[0] === "bodies";
  // `mass` of a soft body is a lumping option, of a rigid one its mass
  const sections = body && entry.type === "soft" ? BODY_SECTIONS.map(withoutMass) : BODY_SECTIONS;
  return (
    <>
      <header className="object-head">
        <h2>{String(entry.name ?? labelOf(String(entry.type)))}</h2>
        <span className="badge">{body ? (kinds[String(entry.type)] ?? `${labelOf(String(entry.type))} body`) : path[0] === "joints" ? "Joint" : "Collider"}</span>
      </header>
      {body && entry.type === "soft" && <SelectedNodes path={path} name={String(entry.name)} />}
      <Sections
        schema={schema}
        root={root}
        path={path}
        value={entry}
        sections={body ? sections : [[labelOf(String(entry.type)), Object.keys(schema.properties ?? {})]]}
        extra={(title) => <SectionExtras title={title} path={path} entry={entry} />}
      />
    </>
  );
}

const withoutMass = ([title, keys]: [string, string[]]): [string, string[]] => [title, keys.filter((key) => key !== "mass")];

function SectionExtras({ title, path, entry }: { title: string; path: Path; entry: Entry }) {
  const soft = entry.type === "soft";
  if (title === "Material") return soft ? <Presets path={path} entry={entry} /> : null;
  if (title !== "Shape" && path[0] === "bodies") return null;
  const inner = entry.type === "rigid" ? ["shape", "mesh"] : ["mesh"];
  const mesh = valueAt(entry, inner) as Entry | undefined;
  return (
    <>
      {soft && <MeshSummaryView name={String(entry.name)} />}
      {mesh?.type === "parametric" && <Formulas path={[...path, ...inner]} mesh={mesh} />}
    </>
  );
}

/** Example formulas. */
function Formulas({ path, mesh }: { path: Path; mesh: Entry }) {
  const formulas = useStudio((s) => s.hello?.templates.formulas) ?? {};
  return (
    <div className="tabs presets formulas" role="group" aria-label="Example formulas">
      {Object.entries(formulas).map(([name, given]) => (
        <button
          key={name}
          type="button"
          role="radio"
          aria-checked={["x", "y", "z"].every((key) => mesh[key] === given[key])}
          onClick={() => edit([{ op: "set", path, value: { ...mesh, u: [0, 1], v: [0, 1], ...given } as Json }], name)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}

interface SectionsProps {
  schema: Schema;
  root: Schema;
  path: Path;
  value: Entry;
  sections: [string, string[]][];
  without?: string[];
  extra?: (title: string) => React.ReactNode;
}

function Sections({ schema, root, path, value, sections, without = [], extra }: SectionsProps) {
  const known = Object.keys(schema.properties ?? {}).filter((key) => schema.properties?.[key].const === undefined);
  const shown = sections.map(([title, keys]) => [title, keys.filter((key) => known.includes(key))] as const);
  const listed = new Set([...without, ...shown.flatMap(([, keys]) => keys)]);
  const rest = known.filter((key) => !listed.has(key));
  const form = (keys: readonly string[]) => (
    <EntryForm schema={ordered(schema, keys)} root={root} path={path} value={value} />
  );
  return (
    <>
      {shown
        .filter(([, keys]) => keys.length > 0)
        .map(([title, keys]) => (
          <Section key={title} title={title}>
            {extra?.(title)}
            {form(keys)}
          </Section>
        ))}
      {rest.length > 0 && (
        <Section title="More options" open={false}>
          {form(rest)}
        </Section>
      )}
    </>
  );
}

/** The schema with some of its keys, in the given order. */
function ordered(schema: Schema, keys: readonly string[]): Schema {
  const properties = Object.fromEntries(keys.map((key) => [key, schema.properties?.[key] ?? {}]));
  return { ...schema, properties };
}

/** Material presets. */
function Presets({ path, entry }: { path: Path; entry: Entry }) {
  const materials = useStudio((s) => s.hello?.templates.materials) ?? {};
  const same = (constants: Record<string, unknown>) => {
    const now = (entry.material ?? {}) as Entry;
    return Object.entries(constants).every(([key, value]) => now[key] === value);
  };
  return (
    <div className="tabs presets" role="group" aria-label="Material presets">
      {Object.entries(materials).map(([name, constants]) => (
        <button
          key={name}
          type="button"
          aria-checked={same(constants)}
          role="radio"
          onClick={() => edit([{ op: "set", path: [...path, "material"], value: constants as Json }], name)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}

const NODE_ACTIONS: [string, string, Entry][] = [
  ["pin", "Pin", {}],
  ["drive", "Drive", { motion: { type: "translate", velocity: [0.1, 0, 0] } }],
  ["lock", "Lock", { direction: "y" }],
  ["push", "Push", { force: [0, -1, 0] }],
];

/** Actions on the nodes that were selected in the view. */
function SelectedNodes({ path, name }: { path: Path; name: string }) {
  const selection = useStudio((s) => s.nodeSelection);
  const scene = useStudio((s) => s.scene);
  const data = useStudio((s) => s.sceneDocument?.data);
  const body = scene?.bodies.find(({ info }) => info.name === name);
  if (!selection || selection.body !== name || selection.nodes.length === 0 || !body) return null;
  const nodes = selection.nodes.map((node) => body.nodes[node]).sort((a, b) => a - b);
  const count = (key: string) => entries(valueAt(data ?? undefined, path) as Entry, key).length;
  const act = (key: string, label: string, rest: Entry) => {
    edit([{ op: "add", path: [...path, key], value: { where: { type: "nodes", nodes }, ...rest } }], `${label} ${count(key) + 1}`);
    useStudio.setState({ nodeSelection: null });
  };
  return (
    <div className="node-selection" role="group" aria-label="Selected nodes">
      <span>
        <b>{nodes.length}</b> {nodes.length === 1 ? "node" : "nodes"} selected
      </span>
      <div className="tabs">
        {NODE_ACTIONS.map(([key, label, rest]) => (
          <button key={key} type="button" onClick={() => act(key, label, rest)}>
            {label}
          </button>
        ))}
        <button type="button" onClick={() => useStudio.setState({ nodeSelection: null })}>
          Clear
        </button>
      </div>
    </div>
  );
}
