import { useDark, useNarrow } from "./lib/hooks";
import { useKeys } from "./lib/keys";
import { BodyPanel, IntegrationPanel } from "./panel/BodyPanel";
import { ColorPanel, Legend } from "./panel/ColorPanel";
import { DropTarget } from "./panel/DropTarget";
import { EditPanel } from "./panel/EditPanel";
import { FlowPanel } from "./panel/FlowPanel";
import { Notifications } from "./panel/Notifications";
import { Plots } from "./panel/Plots";
import { StartCards } from "./panel/StartCards";
import { Warnings, StatusLine } from "./panel/StatusLine";
import { SolvePanel } from "./panel/SolvePanel";
import { TopBar } from "./panel/TopBar";
import { TimeBar } from "./panel/TimeBar";
import { Tree } from "./panel/Tree";
import { ViewPanel } from "./panel/ViewPanel";
import { ViewTools } from "./panel/ViewTools";
import { WorldPanel } from "./panel/WorldPanel";
import { useStudio } from "./state/store";
import { Viewport } from "./view/Viewport";

export function App() {
  const dark = useDark();
  const narrow = useNarrow();
  const treeOpen = useStudio((s) => s.treeOpen);
  const scene = useStudio((s) => s.scene);
  const panel = useStudio((s) => s.panel);
  const panelOpen = useStudio((s) => s.panelOpen);
  const plotsOpen = useStudio((s) => s.plotsOpen);
  const editable = useStudio((s) => Boolean(s.sceneDocument?.data));
  const tab = useStudio((s) => s.tab);
  const replay = useStudio((s) => Boolean(s.hello?.frames));
  const live = !editable || tab === "live";
  useKeys();
  const plots = plotsOpen && scene && <Plots dark={dark} />;
  return (
    <div className={`app${panelOpen ? " with-panel" : ""}${editable ? " with-tree" : ""}`}>
      <TopBar />
      {editable && (!narrow || treeOpen) && <Tree />}
      <main className="stage">
        <Viewport dark={dark} />
        {scene && !replay && <ViewTools />}
        <div className="corner">
          {scene && <Legend scene={scene} />}
          <Warnings />
        </div>
        {!narrow && plots}
        <StartCards />
        <TimeBar />
        <Notifications />
      </main>
      {panelOpen && (
        <aside className="panel" aria-label="Settings">
          {editable && <PanelTabs />}
          {editable && tab === "edit" && <EditPanel />}
          {editable && tab === "solve" && <SolvePanel />}
          {live && scene && <ColorPanel scene={scene} />}
          {live && scene && <FlowPanel />}
          {live && scene && <ViewPanel />}
          {live && panel && <BodyPanel panel={panel} dark={dark} />}
          {live && panel && <WorldPanel panel={panel} />}
          {live && panel && <IntegrationPanel panel={panel} />}
          {narrow && plots}
        </aside>
      )}
      <StatusLine />
      {editable && <DropTarget />}
    </div>
  );
}

const TABS = [
  ["edit", "Edit", "The selected part of the scene"],
  ["solve", "Solve", "Time, solvers and statistics"],
  ["live", "Live", "Colours, sliders and forces while it runs"],
] as const;

function PanelTabs() {
  const tab = useStudio((s) => s.tab);
  return (
    <div className="panel-tabs" role="tablist" aria-label="Panel">
      {TABS.map(([key, label, title]) => (
        <button
          key={key}
          type="button"
          role="tab"
          title={title}
          aria-selected={tab === key}
          onClick={() => useStudio.setState({ tab: key })}
        >
          {label}
        </button>
      ))}
    </div>
  );
}
