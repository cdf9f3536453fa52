import { send } from "../state/studio";
import { useStudio } from "../state/store";

/** The time slider of a replay. */
export function TimeBar() {
  const frames = useStudio((s) => s.hello?.frames ?? 0);
  const frame = useStudio((s) => s.header?.frame ?? 0);
  if (frames < 2) return null;
  return (
    <div className="time-bar">
      <input
        type="range"
        aria-label="Time"
        min={0}
        max={frames - 1}
        value={frame}
        onChange={(event) => {
          send({ type: "pause" });
          send({ type: "seek", frame: Number(event.target.value) });
        }}
      />
    </div>
  );
}
