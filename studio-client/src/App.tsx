import { useDark, useMedia } from "./lib/hooks";
import { useKeys } from "./lib/keys";
import { BodyPanel, SteppingPanel } from "./panel/BodyPanel";
import { ColorPanel, Legend } from "./panel/ColorPanel";
import { Overlays } from "./panel/Overlays";
import { Plots } from "./panel/Plots";
import { Notes, StatusLine } from "./panel/StatusLine";
import { TopBar } from "./panel/TopBar";
import { WorldPanel } from "./panel/WorldPanel";
import { useStudio } from "./state/store";
import { Viewport } from "./view/Viewport";

export function App() {
  const dark = useDark();
  const narrow = useMedia("(max-width: 760px)");
  const scene = useStudio((s) => s.scene);
  const panel = useStudio((s) => s.panel);
  const panelOpen = useStudio((s) => s.panelOpen);
  const plotsOpen = useStudio((s) => s.plotsOpen);
  useKeys();
  const plots = plotsOpen && scene && <Plots dark={dark} />;
  return (
    <div className={panelOpen ? "app with-panel" : "app"}>
      <TopBar />
      <main className="stage">
        <Viewport dark={dark} />
        <div className="corner">
          {scene && <Legend scene={scene} />}
          <Notes />
        </div>
        {!narrow && plots}
        <Overlays />
      </main>
      {panelOpen && (
        <aside className="panel" aria-label="Settings">
          {scene && <ColorPanel scene={scene} />}
          {panel && <BodyPanel panel={panel} dark={dark} />}
          {panel && <WorldPanel panel={panel} />}
          {panel && <SteppingPanel panel={panel} />}
          {narrow && plots}
        </aside>
      )}
      <StatusLine />
    </div>
  );
}
