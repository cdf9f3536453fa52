import { linearScale, logScale, powerScale, type Scale } from "../lib/scale";
import type { MaterialValues, StateMessage } from "../net/messages";
import { send } from "../state/studio";
import { useStudio } from "../state/store";
import { Slider } from "./Slider";

interface Knob {
  key: keyof MaterialValues;
  label: string;
  unit: string;
  help: string;
  limits: [number, number];
  scale(initial: number): Scale;
}

const KNOBS: Knob[] = [
  {
    key: "young",
    label: "Young’s modulus",
    unit: "Pa",
    help: "Stiffness: how hard it is to stretch",
    limits: [1, 1e13],
    scale: (initial) => logScale(initial / 100, initial * 100),
  },
  {
    key: "poisson",
    label: "Poisson’s ratio",
    unit: "",
    help: "How much it narrows when stretched; near 0.5 it keeps its volume",
    limits: [-0.9, 0.499],
    scale: () => linearScale(0, 0.49),
  },
  {
    key: "density",
    label: "Density",
    unit: "kg/m³",
    help: "Mass of a cubic metre",
    limits: [1e-2, 1e5],
    scale: (initial) => logScale(initial / 10, initial * 10),
  },
  {
    key: "damping_mass",
    label: "Damping, overall",
    unit: "1/s",
    help: "Slows all motion, like thick air (Rayleigh, mass part)",
    limits: [0, 1e4],
    scale: (initial) => powerScale(Math.max(20, 2 * initial)),
  },
  {
    key: "damping_stiffness",
    label: "Damping, internal",
    unit: "s",
    help: "Calms ripples inside the body (Rayleigh, stiffness part)",
    limits: [0, 100],
    scale: (initial) => powerScale(Math.max(0.1, 2 * initial)),
  },
];

export function MaterialPanel({ world }: { world: StateMessage }) {
  const body = useStudio((s) => s.body);
  const scene = useStudio((s) => s.scene);
  const names = Object.keys(world.materials);
  const values = body ? world.materials[body] : undefined;
  const initial = body ? world.defaults.materials[body] : undefined;
  if (!body || !values || !initial) return null;
  const info = scene?.bodies.find((b) => b.info.name === body)?.info;
  const cells = Object.values(info?.cells ?? {}).reduce((sum, n) => sum + n, 0);
  return (
    <section aria-labelledby="material-title">
      <h2 id="material-title">Material</h2>
      {names.length > 1 && (
        <div className="tabs" role="radiogroup" aria-label="Body">
          {names.map((name) => (
            <button
              key={name}
              type="button"
              role="radio"
              aria-checked={name === body}
              onClick={() => useStudio.setState({ body: name })}
            >
              {name}
            </button>
          ))}
        </div>
      )}
      {KNOBS.map(({ key, label, unit, help, limits, scale }) => (
        <Slider
          key={`${world.scene}/${body}/${key}`}
          label={label}
          unit={unit}
          help={help}
          value={values[key]}
          initial={initial[key]}
          limits={limits}
          scale={scale(initial[key])}
          onChange={(value) => send({ type: "material", body, [key]: value })}
        />
      ))}
      {info && (
        <p className="note">
          {info.nodes.toLocaleString("en")} nodes, {cells.toLocaleString("en")} elements
        </p>
      )}
    </section>
  );
}

const GRAVITY_SCALE = linearScale(0, 25);

export function WorldPanel({ world }: { world: StateMessage }) {
  const start = world.defaults.gravity;
  const length = Math.hypot(...start);
  const down = length > 0 ? start.map((g) => g / length) : [0, -1, 0];
  const now = world.gravity.reduce((sum, g, i) => sum + g * down[i], 0);
  return (
    <section aria-labelledby="world-title">
      <h2 id="world-title">World</h2>
      <Slider
        key={world.scene}
        label="Gravity"
        unit="m/s²"
        help="Pull of the ground; 9.81 on Earth, 1.62 on the Moon"
        value={now}
        initial={length}
        limits={[-1000, 1000]}
        scale={GRAVITY_SCALE}
        onChange={(g) => send({ type: "gravity", value: [g * down[0], g * down[1], g * down[2]] })}
      />
    </section>
  );
}
