import { type ReactNode, useRef } from "react";
import { entries } from "../state/document";
import { MESH_ENDINGS, openFiles } from "../state/upload";
import { send } from "../state/studio";
import { type StudioState, useStudio } from "../state/store";

/** Whether the document is still empty: no bodies, and no colliders besides the floor. */
const isEmpty = ({ sceneDocument, scene, world }: StudioState): boolean =>
  Boolean(
    sceneDocument?.data &&
      scene &&
      !world?.busy &&
      scene.bodies.length === 0 &&
      entries(sceneDocument.data, "bodies").length === 0 &&
      entries(sceneDocument.data, "colliders").length <= 1,
  );

/** Scenes to start from, over the empty view. */
export function StartCards() {
  const shown = useStudio(isEmpty);
  const starters = useStudio((s) => s.hello?.templates.starters) ?? {};
  const input = useRef<HTMLInputElement>(null);
  if (!shown) return null;
  return (
    <section className="start" aria-labelledby="start-title">
      <h2 id="start-title">Start with</h2>
      <div className="start-cards">
        {Object.entries(starters).map(([name, { title, description }]) => (
          <Card key={name} title={title} text={description} picture={PICTURES[name]} onClick={() => send({ type: "start_from", name })} />
        ))}
        <Card
          title="A mesh file"
          text="Drop an OBJ, STL, PLY, GLB or MSH file here, or click to choose one."
          picture={PICTURES.mesh}
          dashed
          onClick={() => input.current?.click()}
        />
      </div>
      <p>Or add a shape, or open a scene from the list above.</p>
      <input
        ref={input}
        type="file"
        hidden
        aria-label="Mesh file to start with"
        accept={MESH_ENDINGS.join()}
        onChange={(event) => {
          const files = [...(event.target.files ?? [])];
          event.target.value = "";
          void openFiles(files, "soft");
        }}
      />
    </section>
  );
}

interface CardProps {
  title: string;
  text: string;
  picture: ReactNode;
  dashed?: boolean;
  onClick(): void;
}

function Card({ title, text, picture, dashed, onClick }: CardProps) {
  return (
    <button type="button" className={`start-card${dashed ? " dashed" : ""}`} onClick={onClick}>
      <svg viewBox="0 0 160 90" aria-hidden="true">
        {picture}
      </svg>
      <b>{title}</b>
      <span>{text}</span>
    </button>
  );
}

const shadow = (x: number, y: number, rx: number, strength = 0.16) => (
  <ellipse cx={x} cy={y} rx={rx} ry={rx * 0.17} fill="currentColor" opacity={strength} />
);

const box = (x: number, y: number, angle: number, color: string, size = 19) => (
  <rect x={-size / 2} y={-size / 2} width={size} height={size} rx="2" fill={color} transform={`translate(${x} ${y}) rotate(${angle})`} />
);

/** A drawing for each scene. */
const PICTURES: Record<string, ReactNode> = {
  soft_ball: (
    <>
      <defs>
        <radialGradient id="start-ball" cx="0.38" cy="0.3" r="0.75">
          <stop offset="0" stopColor="#f5a29b" />
          <stop offset="1" stopColor="#cf463f" />
        </radialGradient>
      </defs>
      {shadow(80, 78, 36)}
      <circle cx="80" cy="26" r="19" fill="none" stroke="#d9544c" strokeWidth="1.3" strokeDasharray="3 4" opacity="0.55" />
      <path d="M45 63c0-16 15-25 35-25s35 9 35 25c0 11-14 15-35 15s-35-4-35-15z" fill="url(#start-ball)" />
    </>
  ),
  rigid_pile: (
    <>
      {shadow(80, 80, 50)}
      {box(52, 69, 0, "#4f86d9", 21)}
      {box(77, 69, 6, "#3f74c6", 21)}
      {box(103, 68, -9, "#4f86d9", 21)}
      {box(65, 45, 22, "#3f74c6")}
      <circle cx="91" cy="46" r="11" fill="#e08a3c" />
      <circle cx="118" cy="71" r="9" fill="#d27c30" />
      <circle cx="37" cy="72" r="8" fill="#e08a3c" />
      <rect x="66" y="13" width="29" height="11" rx="5.500" fill="#58a86b" transform="rotate(-24 80 18)" />
    </>
  ),
  water: (
    <>
      <path d="M24 16v62h112V16" fill="none" stroke="currentColor" strokeWidth="1.500" opacity="0.35" />
      <path d="M25 24h17c9 0 11 10 17 20 8 14 16 16 27 12 9-3 12-13 21-11 10 2 13 12 28 12v20H25z" fill="#2f7fd1" opacity="0.85" />
      <path d="M25 47h12c12 0 14 17 30 20 20 3 22-9 42-7 12 1 17 7 26 8v9H25z" fill="#5ba3ea" opacity="0.55" />
      <circle cx="101" cy="33" r="3.200" fill="#2f7fd1" />
      <circle cx="112" cy="26" r="2.300" fill="#2f7fd1" />
      <circle cx="91" cy="41" r="2" fill="#2f7fd1" />
    </>
  ),
  smoke: (
    <g fill="currentColor">
      <circle cx="80" cy="77" r="6" opacity="0.5" />
      <ellipse cx="80" cy="64" rx="8" ry="11" opacity="0.26" />
      <circle cx="76" cy="50" r="11" opacity="0.2" />
      <circle cx="88" cy="43" r="13" opacity="0.18" />
      <circle cx="70" cy="35" r="14" opacity="0.17" />
      <circle cx="91" cy="26" r="15" opacity="0.15" />
      <circle cx="75" cy="18" r="14" opacity="0.12" />
      <circle cx="103" cy="15" r="9" opacity="0.09" />
      <circle cx="58" cy="21" r="9" opacity="0.09" />
    </g>
  ),
  wind_tunnel: (
    <>
      <g fill="none" stroke="#2f6fde" strokeWidth="1.700" strokeLinecap="round" opacity="0.75">
        <path d="M12 18h136" opacity="0.6" />
        <path d="M12 31c26 0 30-7 44-7s22 8 44 7 30-3 48-1" />
        <path d="M12 41c20 0 24-9 42-9 20 0 18 12 34 12s12-10 27-9c10 1 18 4 33 3" />
        <path d="M12 50c20 0 24 10 42 10 22 0 20-13 37-12 14 1 14 12 28 11 10-1 18-5 29-4" />
        <path d="M12 60c26 0 30 8 44 8s24-6 46-6 28 4 46 3" />
        <path d="M12 74h136" opacity="0.6" />
      </g>
      <circle cx="54" cy="46" r="11" fill="currentColor" opacity="0.72" />
    </>
  ),
  mesh: (
    <g fill="none" stroke="currentColor" strokeWidth="1.300" strokeLinejoin="round" opacity="0.72">
      <path d="M80 66 50 52l8-28 22-11 24 12 6 27z" fill="currentColor" fillOpacity="0.07" />
      <path d="M58 24l20 12 26-11M78 36 50 52M78 36l2 30M78 36l32 16M80 13l-2 23" />
      <path d="M80 70v11M74.500 76l5.500 6 5.500-6" strokeWidth="1.700" strokeLinecap="round" />
    </g>
  ),
};
