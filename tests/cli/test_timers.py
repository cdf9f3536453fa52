"""`continua run --timers`."""

import json

from typer.testing import CliRunner

from continua.cli.app import app

SCENE = "seconds: 0.04\nfps: 50\nbodies:\n- {type: soft, name: box, mesh: {type: box, cells: [2, 2, 2]}}\n"


def test_timers_are_printed_and_add_up_in_the_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "drop.yaml").write_text(SCENE)
    done = CliRunner().invoke(app, ["run", "drop.yaml", "--timers"])
    assert done.exit_code == 0
    assert "assembly" in done.stdout
    report = json.loads((tmp_path / "out/drop/report.json").read_text())["this_run"]
    stages = report["seconds_of_stages"]
    assert {"assembly", "linear solve", "rest of the step"} <= set(stages)
    whole = report["seconds_stepping"] + report["seconds_compiling"]
    assert 0.0 < sum(stages.values()) <= whole + 0.01
