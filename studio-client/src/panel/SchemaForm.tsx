// Forms made from the scene's schema. They handle kinds of values, not options: a new option needs no code here.

import { type ReactNode, useId, useState } from "react";
import { choiceOf, type Field, fieldOf, labelOf, defaultValue, summary } from "../lib/schema";
import type { Entry, Json, Path, Schema } from "../net/messages";
import { edit, pathText } from "../state/document";
import { setFieldError, useStudio } from "../state/store";
import { Icon } from "./Icon";
import { Check } from "./Slider";
import { FieldError, TypedValue } from "./TypedValue";

interface FieldProps {
  name: string;
  field: Field;
  root: Schema;
  path: Path;
  /** The value in the document, or undefined. */
  value: Json | undefined;
  /** Change it; undefined removes it, so that its default applies. */
  put(value: Json | undefined): void;
}

const isEntry = (value: Json | undefined): value is Entry =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The rows of an entry; `only` filters keys, all but its type by default. */
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
  /** Called with the whole entry if the document does not have it yet. */
  put?: (value: Json) => void;
  only?: (name: string) => boolean;
}) {
  const exists = isEntry(value);
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
          setFieldError(id, null);
          if (!exists && put) {
            const base = (defaultValue(schema, root) as Entry) ?? {};
            put(next === undefined ? base : { ...base, [name]: next });
          } else if (next === undefined) edit([{ op: "remove", path: at }], labelOf(name), id);
          else edit([{ op: "set", path: at, value: next }], labelOf(name), id);
        };
        return (
          <FieldRow
            key={name}
            name={name}
            field={field}
            root={root}
            path={at}
            value={exists ? value[name] : undefined}
            put={change}
          />
        );
      })}
    </>
  );
}

/** One value with its label, unit and error. */
export function FieldRow(props: FieldProps) {
  const { field, value, name } = props;
  const id = pathText(props.path);
  if (field.nullable && (value === undefined || value === null)) return <UnsetRow {...props} />;
  switch (field.kind) {
    case "number":
      return (
        <Row {...props}>
          <TypedValue
            id={id}
            label={labelOf(name)}
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
          <Check label={labelOf(name)} title={field.help} value={Boolean(value ?? field.default)} onChange={props.put} />
          <FieldError id={id} />
        </div>
      );
    case "choice":
      return <ChoiceRow {...props} />;
    case "color":
      return (
        <Row {...props}>
          <input
            type="color"
            aria-label={labelOf(name)}
            value={String(value ?? "#6aa5e0")}
            onChange={(event) => props.put(event.target.value)}
          />
        </Row>
      );
    case "text":
      return (
        <Row {...props}>
          <TextValue id={id} label={labelOf(name)} value={String(value ?? field.default ?? "")} onChange={props.put} />
        </Row>
      );
    case "union":
      return <UnionRow {...props} />;
    case "object":
      return (
        <Group name={name} field={field} remove={field.nullable ? () => props.put(undefined) : undefined}>
          <EntryForm schema={field.schema} root={props.root} path={props.path} value={value} put={props.put} />
          <FieldError id={id} />
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
        {labelOf(name)}
      </span>
      {children}
      {removable && <Remove label={`${labelOf(name)}: remove`} onClick={() => put(undefined)} />}
      <FieldError id={pathText(path)} />
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

/** A value that is not set; a click sets it. */
function UnsetRow({ name, field, root, path, put }: FieldProps) {
  return (
    <div className="field line">
      <span className="field-label" title={field.help}>
        {labelOf(name)}
      </span>
      <button
        type="button"
        className="text-button"
        aria-label={`Set ${labelOf(name).toLowerCase()}`}
        title={field.help}
        onClick={() => put(field.kind === "object" ? defaultEntry(name, field, root) : defaultValue(field.schema, root, name))}
      >
        set
      </button>
      <FieldError id={pathText(path)} />
    </div>
  );
}

const defaultEntry = (name: string, field: Field, root: Schema): Json =>
  name === "transform" ? { translate: [0, 0, 0] } : defaultValue(field.schema, root, name);

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
        setFieldError(id, null);
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
  const label = labelOf(name);
  const axis = (i: number) => (field.count === 3 || field.unit ? AXES[i] : String(i + 1)); // rings and layers are not axes
  return (
    <div className="field vector-field" role="group" aria-label={label}>
      <span className="field-label" title={field.help}>
        {label}
        {field.unit && <small>{field.unit}</small>}
      </span>
      {field.nullable && <Remove label={`${label}: remove`} onClick={() => put(undefined)} />}
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
      <FieldError id={id} />
    </div>
  );
}

function ChoiceRow(props: FieldProps) {
  const { name, field, value, put } = props;
  const id = useId();
  return (
    <div className="field line">
      <label className="field-label" htmlFor={id} title={field.help}>
        {labelOf(name)}
      </label>
      <select
        id={id}
        value={String(value ?? field.default ?? "")}
        onChange={(event) => put(field.options.find((option) => String(option) === event.target.value) ?? null)}
      >
        {field.options.map((option) => (
          <option key={option} value={option}>
            {typeof option === "string" ? labelOf(option) : option}
          </option>
        ))}
      </select>
      <FieldError id={pathText(props.path)} />
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
  const selectedOption = choice?.tag === "word" ? `word:${String(now)}` : (choice?.tag ?? "");
  const choose = (key: string) => {
    if (key.startsWith("word:")) return put(key.slice(5));
    const next = field.choices.find(({ tag }) => tag === key);
    if (!next) return undefined;
    return put(keepCommon(now, defaultValue(next.schema, root, name), next.schema));
  };
  const inner = choice && fieldOf(choice.schema, root);
  return (
    <div className="field union">
      <div className="line">
        <label className="field-label" htmlFor={id} title={field.help}>
          {labelOf(name)}
        </label>
        <select id={id} aria-label={labelOf(name)} value={selectedOption} onChange={(event) => choose(event.target.value)}>
          {wordOptions.map((word) => (
            <option key={word} value={`word:${word}`}>
              {labelOf(String(word))}
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
        {field.nullable && <Remove label={`${labelOf(name)}: remove`} onClick={() => put(undefined)} />}
      </div>
      <FieldError id={pathText(path)} />
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

/** Another type keeps the values that both have, such as Young's modulus. */
function keepCommon(old: Json | undefined, made: Json, schema: Schema): Json {
  if (!isEntry(old) || !isEntry(made)) return made;
  const common = Object.entries(old).filter(([key]) => key !== "type" && key in (schema.properties ?? {}));
  const same = common.filter(([key, value]) => Array.isArray(value) === Array.isArray(made[key] ?? value));
  const counts = same.filter(([key]) => key !== "cells"); // their meaning depends on the shape
  return { ...made, ...Object.fromEntries(counts) };
}

/** Initial entries of some lists; others start with what their schema requires. */
const INITIAL_ENTRIES: Record<string, Json> = {
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
    edit([{ op: "add", path, value: INITIAL_ENTRIES[name] ?? defaultValue(items, root, name) }], `adding to ${labelOf(name).toLowerCase()}`, id);
  return (
    <div className="field list-field">
      <div className="line">
        <span className="field-label" title={field.help}>
          {labelOf(name)}
        </span>
        <button type="button" className="text-button" aria-label={`Add ${labelOf(name).toLowerCase()}`} onClick={add}>
          <Icon name="plus" size={13} /> add
        </button>
      </div>
      <FieldError id={id} />
      {list.map((item, number) => (
        <details key={number} className="item-box" open={list.length === 1 || undefined}>
          <summary>
            <span>{summary(item) || number + 1}</span>
            <button
              type="button"
              className="restore"
              aria-label={`Remove ${labelOf(name).toLowerCase()} ${number + 1}`}
              title="Remove"
              onClick={(event) => {
                event.preventDefault();
                edit([{ op: "remove", path: [...path, number] }], `removing ${labelOf(name).toLowerCase()}`, id);
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
    next !== undefined && edit([{ op: "set", path, value: next }], labelOf(name), pathText(path));
  if (inner.kind === "union")
    return <UnionRow name="type" field={inner} root={root} path={path} value={value} put={put} />;
  return <EntryForm schema={inner.schema} root={root} path={path} value={value} />;
}

/** Lists that are edited elsewhere, such as nodes, are only counted. */
function PlainList({ name, field, list }: { name: string; field: Field; list: Json[] }) {
  return (
    <div className="field line">
      <span className="field-label" title={field.help}>
        {labelOf(name)}
      </span>
      <output className="list-count" title={list.slice(0, 200).join(", ")}>
        {list.length > 4 ? `${list.length}` : list.join(", ") || "none"}
      </output>
    </div>
  );
}

function Group({ name, field, remove, children }: { name: string; field: Field; remove?: () => void; children: ReactNode }) {
  return (
    <div className="field group" role="group" aria-label={labelOf(name)}>
      <div className="line">
        <span className="field-label" title={field.help}>
          {labelOf(name)}
        </span>
        {remove && <Remove label={`${labelOf(name)}: remove`} onClick={remove} />}
      </div>
      <div className="nested">{children}</div>
    </div>
  );
}

export const useSchema = () => useStudio((s) => s.hello?.schema ?? null);
