// Forms made from the scene's schema. They know kinds of values, not options: a new option needs no new code here.

import { type ReactNode, useId, useState } from "react";
import { choiceOf, type Field, fieldOf, spoken, starter, summary } from "../lib/schema";
import type { Entry, Json, Path, Schema } from "../net/messages";
import { edit, pathText } from "../state/document";
import { setProblem, useStudio } from "../state/store";
import { Icon } from "./Icon";
import { Check } from "./Slider";
import { Problem, TypedValue } from "./TypedValue";

interface FieldProps {
  name: string;
  field: Field;
  root: Schema;
  path: Path;
  /** What the document has, or undefined. */
  value: Json | undefined;
  /** Change it; undefined takes it out, so that its default counts. */
  put(value: Json | undefined): void;
}

const isEntry = (value: Json | undefined): value is Entry =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The rows of an entry; `only` chooses keys, all but its type by default. */
export function EntryForm({
  schema,
  root,
  path,
  value,
  put,
  only,
}: {
  schema: Schema;
  root: Schema;
  path: Path;
  value: Json | undefined;
  /** Called with the whole entry where the document does not have it yet. */
  put?: (value: Json) => void;
  only?: (name: string) => boolean;
}) {
  const there = isEntry(value);
  const rows = Object.entries(schema.properties ?? {}).filter(
    ([name, inner]) => inner.const === undefined && (only?.(name) ?? true),
  );
  return (
    <>
      {rows.map(([name, inner]) => {
        const field = fieldOf(inner, root);
        const at = [...path, name];
        const change = (next: Json | undefined) => {
          const id = pathText(at);
          setProblem(id, null);
          if (!there && put) {
            const base = (starter(schema, root) as Entry) ?? {};
            put(next === undefined ? base : { ...base, [name]: next });
          } else if (next === undefined) edit([{ op: "remove", path: at }], spoken(name), id);
          else edit([{ op: "set", path: at, value: next }], spoken(name), id);
        };
        return (
          <FieldRow
            key={name}
            name={name}
            field={field}
            root={root}
            path={at}
            value={there ? value[name] : undefined}
            put={change}
          />
        );
      })}
    </>
  );
}

/** One value, with its label, unit and what is wrong with it. */
export function FieldRow(props: FieldProps) {
  const { field, value, name } = props;
  const id = pathText(props.path);
  if (field.nullable && (value === undefined || value === null)) return <Absent {...props} />;
  switch (field.kind) {
    case "number":
      return (
        <Row {...props}>
          <TypedValue
            id={id}
            label={spoken(name)}
            unit={field.unit}
            value={Number(value ?? field.default ?? 0)}
            limits={field}
            whole={field.whole}
            exact
            onChange={props.put}
          />
        </Row>
      );
    case "vector":
      return <VectorRow {...props} />;
    case "flag":
      return (
        <div className="field">
          <Check label={spoken(name)} title={field.help} value={Boolean(value ?? field.default)} onChange={props.put} />
          <Problem id={id} />
        </div>
      );
    case "choice":
      return <ChoiceRow {...props} />;
    case "color":
      return (
        <Row {...props}>
          <input
            type="color"
            aria-label={spoken(name)}
            value={String(value ?? "#6aa5e0")}
            onChange={(event) => props.put(event.target.value)}
          />
        </Row>
      );
    case "text":
      return (
        <Row {...props}>
          <TextValue id={id} label={spoken(name)} value={String(value ?? field.default ?? "")} onChange={props.put} />
        </Row>
      );
    case "union":
      return <UnionRow {...props} />;
    case "object":
      return (
        <Group name={name} field={field} remove={field.nullable ? () => props.put(undefined) : undefined}>
          <EntryForm schema={field.schema} root={props.root} path={props.path} value={value} put={props.put} />
          <Problem id={id} />
        </Group>
      );
    case "list":
      return <ListRow {...props} />;
    default:
      return null;
  }
}

function Row({ name, field, path, put, value, children }: FieldProps & { children: ReactNode }) {
  const removable = field.nullable && value !== undefined && value !== null;
  return (
    <div className={field.schema.format === "formula" ? "field line formula" : "field line"}>
      <span className="field-label" title={field.help}>
        {spoken(name)}
      </span>
      {children}
      {removable && <Remove label={`${spoken(name)}: leave out`} onClick={() => put(undefined)} />}
      <Problem id={pathText(path)} />
    </div>
  );
}

function Remove({ label, onClick }: { label: string; onClick(): void }) {
  return (
    <button type="button" className="restore" aria-label={label} title={label} onClick={onClick}>
      <Icon name="close" size={12} />
    </button>
  );
}

/** A value that is not given; a click gives it. */
function Absent({ name, field, root, path, put }: FieldProps) {
  return (
    <div className="field line">
      <span className="field-label" title={field.help}>
        {spoken(name)}
      </span>
      <button
        type="button"
        className="set-it"
        aria-label={`Set ${spoken(name).toLowerCase()}`}
        title={field.help}
        onClick={() => put(field.kind === "object" ? started(name, field, root) : starter(field.schema, root, name))}
      >
        set
      </button>
      <Problem id={pathText(path)} />
    </div>
  );
}

const started = (name: string, field: Field, root: Schema): Json =>
  name === "transform" ? { translate: [0, 0, 0] } : starter(field.schema, root, name);

export function TextValue({ id, label, value, onChange }: { id: string; label: string; value: string; onChange(value: string): void }) {
  const [text, setText] = useState<string | null>(null);
  return (
    <input
      className="typed text"
      type="text"
      spellCheck={false}
      autoComplete="off"
      aria-label={label}
      value={text ?? value}
      onFocus={() => {
        setProblem(id, null);
        setText(value);
      }}
      onChange={(event) => setText(event.target.value)}
      onBlur={() => {
        if (text !== null && text !== value) onChange(text);
        setText(null);
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter") event.currentTarget.blur();
        if (event.key === "Escape") {
          setText(null);
          requestAnimationFrame(() => (document.activeElement as HTMLElement | null)?.blur());
        }
      }}
    />
  );
}

const AXES = ["x", "y", "z"];

function VectorRow({ name, field, path, value, put }: FieldProps) {
  const id = pathText(path);
  const given = (value ?? field.default ?? Array.from({ length: field.count }, () => 0)) as number[];
  const label = spoken(name);
  const axis = (i: number) => (field.count === 3 || field.unit ? AXES[i] : String(i + 1)); // rings and layers are no axes
  return (
    <div className="field vector-field" role="group" aria-label={label}>
      <span className="field-label" title={field.help}>
        {label}
        {field.unit && <small>{field.unit}</small>}
      </span>
      {field.nullable && <Remove label={`${label}: leave out`} onClick={() => put(undefined)} />}
      <span className="parts" style={{ gridTemplateColumns: `repeat(${field.count}, minmax(0, 1fr))` }}>
        {given.map((part, i) => (
          <span key={i} className="part">
            <i aria-hidden="true">{axis(i)}</i>
            <TypedValue
              id={id}
              label={`${label} ${axis(i)}`}
              unit={field.unit}
              bare
              value={part}
              limits={field}
              whole={field.whole}
              exact
              onChange={(next) => put(given.map((old, j) => (j === i ? next : old)))}
            />
          </span>
        ))}
      </span>
      <Problem id={id} />
    </div>
  );
}

function ChoiceRow(props: FieldProps) {
  const { name, field, value, put } = props;
  const id = useId();
  return (
    <div className="field line">
      <label className="field-label" htmlFor={id} title={field.help}>
        {spoken(name)}
      </label>
      <select
        id={id}
        value={String(value ?? field.default ?? "")}
        onChange={(event) => put(field.options.find((option) => String(option) === event.target.value) ?? null)}
      >
        {field.options.map((option) => (
          <option key={option} value={option}>
            {typeof option === "string" ? spoken(option) : option}
          </option>
        ))}
      </select>
      <Problem id={pathText(props.path)} />
    </div>
  );
}

function UnionRow(props: FieldProps) {
  const { name, field, root, path, value, put } = props;
  const id = useId();
  const now = value ?? field.default;
  const choice = choiceOf(field, now);
  const words = field.choices.find(({ tag }) => tag === "word");
  const wordOptions = words?.schema.enum ?? [];
  const chosen = choice?.tag === "word" ? `word:${String(now)}` : (choice?.tag ?? "");
  const choose = (key: string) => {
    if (key.startsWith("word:")) return put(key.slice(5));
    const next = field.choices.find(({ tag }) => tag === key);
    if (!next) return undefined;
    return put(keepCommon(now, starter(next.schema, root, name), next.schema));
  };
  const inner = choice && fieldOf(choice.schema, root);
  return (
    <div className="field union">
      <div className="line">
        <label className="field-label" htmlFor={id} title={field.help}>
          {spoken(name)}
        </label>
        <select id={id} aria-label={spoken(name)} value={chosen} onChange={(event) => choose(event.target.value)}>
          {wordOptions.map((word) => (
            <option key={word} value={`word:${word}`}>
              {spoken(String(word))}
            </option>
          ))}
          {field.choices
            .filter(({ tag }) => tag !== "word")
            .map(({ tag, label }) => (
              <option key={tag} value={tag}>
                {label}
              </option>
            ))}
        </select>
        {field.nullable && <Remove label={`${spoken(name)}: leave out`} onClick={() => put(undefined)} />}
      </div>
      <Problem id={pathText(path)} />
      {inner?.kind === "object" && (
        <div className="nested">
          <EntryForm schema={inner.schema} root={root} path={path} value={value} put={put} />
        </div>
      )}
      {inner && (inner.kind === "number" || inner.kind === "vector") && (
        <FieldRow {...props} name={name} field={{ ...inner, unit: field.unit, nullable: false }} />
      )}
    </div>
  );
}

/** Another type keeps what both have, such as Young's modulus. */
function keepCommon(old: Json | undefined, made: Json, schema: Schema): Json {
  if (!isEntry(old) || !isEntry(made)) return made;
  const common = Object.entries(old).filter(([key]) => key !== "type" && key in (schema.properties ?? {}));
  const same = common.filter(([key, value]) => Array.isArray(value) === Array.isArray(made[key] ?? value));
  const counts = same.filter(([key]) => key !== "cells"); // they count other things in every shape
  return { ...made, ...Object.fromEntries(counts) };
}

/** What an added entry of some lists begins with; others begin with what their schema requires. */
const BEGINNINGS: Record<string, Json> = {
  pin: { where: "left" },
  drive: { where: "right", motion: { type: "translate", velocity: [0.1, 0, 0] } },
  lock: { where: "bottom", direction: "y" },
  push: { where: "right", force: [0, -1, 0] },
  press: { where: "top", pressure: 100 },
  load_faces: { where: "top", traction: -100 },
  load_volume: { force: [0, -5, 0] },
  pull: { point: [0, 0, 0], target: [0, 1, 0] },
  parts: { where: "top", young: 1e6 },
};

function ListRow({ name, field, root, path, value }: FieldProps) {
  const list = Array.isArray(value) ? value : Array.isArray(field.default) ? field.default : [];
  const items = field.schema.items;
  if (!items) return null;
  const inner = fieldOf(items, root);
  const id = pathText(path);
  if (!["object", "union"].includes(inner.kind)) return <PlainList name={name} field={field} list={list} />;
  const add = () =>
    edit([{ op: "add", path, value: BEGINNINGS[name] ?? starter(items, root, name) }], `adding to ${spoken(name).toLowerCase()}`, id);
  return (
    <div className="field list-field">
      <div className="line">
        <span className="field-label" title={field.help}>
          {spoken(name)}
        </span>
        <button type="button" className="set-it" aria-label={`Add ${spoken(name).toLowerCase()}`} onClick={add}>
          <Icon name="plus" size={13} /> add
        </button>
      </div>
      <Problem id={id} />
      {list.map((item, number) => (
        <details key={number} className="item-box" open={list.length === 1 || undefined}>
          <summary>
            <span>{summary(item) || number + 1}</span>
            <button
              type="button"
              className="restore"
              aria-label={`Remove ${spoken(name).toLowerCase()} ${number + 1}`}
              title="Remove"
              onClick={(event) => {
                event.preventDefault();
                edit([{ op: "remove", path: [...path, number] }], `removing ${spoken(name).toLowerCase()}`, id);
              }}
            >
              <Icon name="close" size={12} />
            </button>
          </summary>
          <ListItem name={name} inner={inner} root={root} path={[...path, number]} value={item} />
        </details>
      ))}
    </div>
  );
}

function ListItem({ name, inner, root, path, value }: { name: string; inner: Field; root: Schema; path: Path; value: Json }) {
  const put = (next: Json | undefined) =>
    next !== undefined && edit([{ op: "set", path, value: next }], spoken(name), pathText(path));
  if (inner.kind === "union")
    return <UnionRow name="type" field={inner} root={root} path={path} value={value} put={put} />;
  return <EntryForm schema={inner.schema} root={root} path={path} value={value} />;
}

/** Numbers and words that are chosen elsewhere, such as nodes, are only counted. */
function PlainList({ name, field, list }: { name: string; field: Field; list: Json[] }) {
  return (
    <div className="field line">
      <span className="field-label" title={field.help}>
        {spoken(name)}
      </span>
      <output className="counted" title={list.slice(0, 200).join(", ")}>
        {list.length > 4 ? `${list.length}` : list.join(", ") || "none"}
      </output>
    </div>
  );
}

function Group({ name, field, remove, children }: { name: string; field: Field; remove?: () => void; children: ReactNode }) {
  return (
    <div className="field group" role="group" aria-label={spoken(name)}>
      <div className="line">
        <span className="field-label" title={field.help}>
          {spoken(name)}
        </span>
        {remove && <Remove label={`${spoken(name)}: leave out`} onClick={remove} />}
      </div>
      <div className="nested">{children}</div>
    </div>
  );
}

export const useSchema = () => useStudio((s) => s.hello?.schema ?? null);
