import { fieldOf, labelOf } from "../lib/schema";
import type { Schema } from "../net/messages";
import { edit } from "../state/document";
import { send } from "../state/studio";
import { useStudio } from "../state/store";
import { EntryForm, useSchema } from "./SchemaForm";
import { Section } from "./Section";
import { Check } from "./Slider";

const TIMES = ["dt", "seconds", "fps"];

/** Time stepping, static solve, solvers and statistics. */
export function SolvePanel() {
  const root = useSchema();
  const data = useStudio((s) => s.sceneDocument?.data);
  const world = useStudio((s) => s.world);
  const header = useStudio((s) => s.header);
  if (!root || !data || !world) return null;
  const busy = world.busy !== null;
  return (
    <>
      <Section title="Time">
        <EntryForm schema={root} root={root} path={[]} value={data} only={(name) => TIMES.includes(name)} />
        <p className="note">
          The step is {(1000 * world.dt).toFixed(2)} ms: a frame has a whole number of steps.
        </p>
        <Check
          label={`Stop after ${Number(data.seconds ?? fieldOf(root.properties?.seconds ?? {}, root).default ?? 2)} s`}
          value={world.timeLimit}
          onChange={(on) => send({ type: "time_limit", on })}
        />
        <Check
          label="As fast as possible, not in real time"
          value={world.fast}
          onChange={(on) => send({ type: "fast", on })}
        />
        <div className="buttons">
          <button type="button" className="plain" disabled={busy} title="Rebuild the world from the scene, at time zero" onClick={() => send({ type: "build" })}>
            Build
          </button>
          <button type="button" className="plain" disabled={busy} title="Solve for the static equilibrium" onClick={() => send({ type: "settle" })}>
            Solve statically
          </button>
        </div>
        {world.settleReport && (
          <p className="note" role="status">
            {world.settleReport}
          </p>
        )}
      </Section>
      <Section title="Solvers">
        <BodySolvers root={root} />
      </Section>
      <Section title="Statistics">
        <dl className="counts" aria-label="Simulation">
          <Fact label="simulated time" value={header ? `${header.time.toFixed(3)} s` : "–"} />
          <Fact label="steps" value={header ? String(header.step) : "–"} />
          <Fact label="step time" value={header ? `${header.stepMs.toFixed(2)} ms` : "–"} />
          <Fact label="solver iterations" value={header ? String(header.iterations) : "–"} />
          <Fact label="contacts" value={header ? String(header.contacts) : "–"} />
        </dl>
        {header && <StageTimes stageMs={header.stageMs} />}
      </Section>
    </>
  );
}

function Fact({ label, value }: { label: string; value: string }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

/** Milliseconds per step by stage, with bars. */
function StageTimes({ stageMs }: { stageMs: Record<string, number> }) {
  const total = Object.values(stageMs).reduce((sum, ms) => sum + ms, 0) || 1;
  return (
    <div className="stage-times" role="group" aria-label="Timers">
      {Object.entries(stageMs).map(([name, ms]) => (
        <div key={name} title={STAGES[name]}>
          <span>{name.charAt(0).toUpperCase() + name.slice(1)}</span>
          <i style={{ width: `${(100 * ms) / total}%` }} />
          <output>
            {ms.toFixed(2)} ms · {Math.round((100 * ms) / total)} %
          </output>
        </div>
      ))}
    </div>
  );
}

const STAGES: Record<string, string> = {
  assembly: "Assembly of the stiffness matrix and the right-hand side",
  forces: "Loads, wind and constraints",
  preconditioner: "Solver setup for a new matrix, such as multigrid levels",
  "linear solve": "Iterations of the linear solver",
  "contact search": "Contact detection",
  "contact solve": "Contact solver, together with the bodies in contact",
  snapshot: "Stresses, energies and positions for the page",
};

const SOLVERS: Record<string, string> = {
  auto: "Automatic",
  pcg: "Conjugate gradients",
  merged_pcg: "Conjugate gradients, merged",
  multigrid: "Multigrid",
  pmultigrid: "p-Multigrid",
  direct: "Direct (factorised)",
};

/** The solver names of the scene's schema. */
function solverNames(root: Schema): string[] {
  const solver = root.$defs?.SoftBody?.properties?.solver;
  const words = solver && fieldOf(solver, root).choices.find(({ tag }) => tag === "word");
  return (words?.schema.enum ?? ["auto"]).map(String);
}

function BodySolvers({ root }: { root: Schema }) {
  const data = useStudio((s) => s.sceneDocument?.data);
  const solvers = useStudio((s) => s.header?.solvers);
  const bodies = Array.isArray(data?.bodies) ? (data.bodies as Record<string, unknown>[]) : [];
  const soft = bodies.map((body, number) => ({ body, number })).filter(({ body }) => body.type === "soft");
  if (soft.length === 0) return <p className="note">Only soft bodies have a linear solver.</p>;
  return (
    <>
      {soft.map(({ body, number }) => {
        const solver = body.solver ?? "auto";
        const word = typeof solver === "string" ? solver : String((solver as { type: string }).type);
        const name = String(body.name);
        return (
          <div key={name} className="field line">
            <label className="field-label" htmlFor={`solver-${number}`}>
              {name}
            </label>
            <select
              id={`solver-${number}`}
              aria-label={`Solver of ${name}`}
              value={word}
              title={solvers?.[name]}
              onChange={(event) =>
                edit([{ op: "set", path: ["bodies", number, "solver"], value: event.target.value }], "Solver")
              }
            >
              {solverNames(root).map((key) => (
                <option key={key} value={key}>
                  {SOLVERS[key] ?? labelOf(key)}
                </option>
              ))}
            </select>
          </div>
        );
      })}
    </>
  );
}
