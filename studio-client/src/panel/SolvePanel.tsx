import { fieldOf, spoken } from "../lib/schema";
import type { Schema } from "../net/messages";
import { edit } from "../state/document";
import { send } from "../state/studio";
import { useStudio } from "../state/store";
import { EntryForm, useSchema } from "./SchemaForm";
import { Section } from "./Section";
import { Check } from "./Slider";

const TIMES = ["dt", "seconds", "fps"];

/** How the scene is solved: in time or at rest, with what step, until when, and how that goes. */
export function SolvePanel() {
  const root = useSchema();
  const data = useStudio((s) => s.paper?.data);
  const world = useStudio((s) => s.world);
  const header = useStudio((s) => s.header);
  if (!root || !data || !world) return null;
  const busy = world.busy !== null;
  return (
    <>
      <Section title="Time">
        <EntryForm schema={root} root={root} path={[]} value={data} only={(name) => TIMES.includes(name)} />
        <p className="note">
          A step is {(1000 * world.dt).toFixed(2)} ms long: a whole number of them makes a frame.
        </p>
        <Check
          label={`Stop after ${Number(data.seconds ?? fieldOf(root.properties?.seconds ?? {}, root).default ?? 2)} s`}
          value={world.limit}
          onChange={(on) => send({ type: "limit", on })}
        />
        <Check
          label="As fast as it can, not in real time"
          value={world.fast}
          onChange={(fast) => send({ type: "pace", fast })}
        />
        <div className="buttons">
          <button type="button" className="plain" disabled={busy} title="Make the world anew from the scene, at its start" onClick={() => send({ type: "build" })}>
            Build
          </button>
          <button type="button" className="plain" disabled={busy} title="Go to where all forces are in balance" onClick={() => send({ type: "settle" })}>
            Solve statically
          </button>
        </div>
        {world.settled && (
          <p className="note" role="status">
            {world.settled}
          </p>
        )}
      </Section>
      <Section title="Solvers">
        <BodySolvers root={root} />
      </Section>
      <Section title="How it goes">
        <dl className="counts" aria-label="The simulation">
          <Fact label="simulated time" value={header ? `${header.time.toFixed(3)} s` : "–"} />
          <Fact label="iteration" value={header ? String(header.step) : "–"} />
          <Fact label="time of a step" value={header ? `${header.stepMs.toFixed(2)} ms` : "–"} />
          <Fact label="solver iterations" value={header ? String(header.iterations) : "–"} />
          <Fact label="contacts" value={header ? String(header.contacts) : "–"} />
        </dl>
        {header && <Shares shares={header.shares} />}
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

/** Milliseconds of the stages of an update, with bars. */
function Shares({ shares }: { shares: Record<string, number> }) {
  const total = Object.values(shares).reduce((sum, ms) => sum + ms, 0) || 1;
  return (
    <div className="shares" role="group" aria-label="Timers">
      {Object.entries(shares).map(([name, ms]) => (
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
  assembly: "Stiffness of the elements and their forces, summed into the matrix and the right-hand side",
  forces: "Loads, wind and what is held",
  preconditioner: "What the solver prepares for a new matrix, such as the levels of multigrid",
  "linear solve": "The iterations of the linear solver",
  "contact search": "Which surfaces come near each other",
  "contact solve": "Contacts together with the bodies that touch",
  looking: "Stresses, energies and positions for the page",
};

const SOLVERS: Record<string, string> = {
  auto: "Automatic",
  pcg: "Conjugate gradients",
  merged_pcg: "Conjugate gradients, merged",
  multigrid: "Multigrid",
  pmultigrid: "p-Multigrid",
  direct: "Direct (factorised)",
};

/** The solvers that the scene's schema knows by word. */
function wordsOf(root: Schema): string[] {
  const solver = root.$defs?.SoftBody?.properties?.solver;
  const words = solver && fieldOf(solver, root).choices.find(({ tag }) => tag === "word");
  return (words?.schema.enum ?? ["auto"]).map(String);
}

function BodySolvers({ root }: { root: Schema }) {
  const data = useStudio((s) => s.paper?.data);
  const solvers = useStudio((s) => s.header?.solvers);
  const bodies = Array.isArray(data?.bodies) ? (data.bodies as Record<string, unknown>[]) : [];
  const soft = bodies.map((body, number) => ({ body, number })).filter(({ body }) => body.type === "soft");
  if (soft.length === 0) return <p className="note">Only soft bodies have linear solvers to choose.</p>;
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
              {wordsOf(root).map((key) => (
                <option key={key} value={key}>
                  {SOLVERS[key] ?? spoken(key)}
                </option>
              ))}
            </select>
          </div>
        );
      })}
    </>
  );
}
