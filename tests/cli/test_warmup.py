"""Warming up leaves nothing to compile; kernels travel in files."""

import zipfile

import pytest

from continua.cli.warmup import export_kernels, import_kernels, warm_up
from continua.errors import InputError
from continua.numerics.kernel_cache import FAMILIES, families
from continua.numerics.precompile import is_cached
from continua.scene import kernel_plan


@pytest.fixture
def few_kernels(monkeypatch):
    """Two small kernels of the bridge in place of all."""
    chosen = sorted(kernel_plan.all_kernels(), key=lambda request: request.seconds)[:2]
    monkeypatch.setattr("continua.cli.warmup.all_kernels", lambda: chosen)
    return chosen


def test_a_second_warm_up_compiles_nothing(monkeypatch, tmp_path, few_kernels, capfd):
    monkeypatch.setenv("CONTINUA_CACHE", str(tmp_path))
    warm_up(jobs=2)
    assert capfd.readouterr().out.startswith("compiled 2 kernels in")
    warm_up()
    assert capfd.readouterr().out == "all 2 kernels were compiled already\n"


@pytest.mark.skipif(not families(), reason="this processor belongs to no known family")
def test_exported_kernels_are_used_by_another_machine_of_the_family(
    monkeypatch, tmp_path, few_kernels, capfd
):
    system, cpu, _ = families()[0]
    name = next(name for name, (machine, _) in FAMILIES.items() if system.startswith(machine))
    assert cpu in (name, "generic")
    export_kernels(tmp_path / "kernels.zip", name, jobs=2)
    assert capfd.readouterr().out.endswith(f"kernels.zip: 2 kernels for {name}\n")
    monkeypatch.setenv("CONTINUA_CACHE", str(tmp_path / "cache"))
    assert not any(map(is_cached, few_kernels))
    import_kernels(tmp_path / "kernels.zip")
    assert all(map(is_cached, few_kernels))
    warm_up()
    assert "compiled already" in capfd.readouterr().out


@pytest.mark.parametrize(
    "name", ["../outside.nbc", "kernels-a/b/c.nbc", "kernels-a/b.py", "/kernels-a/b.nbc"]
)
def test_other_files_are_not_imported(monkeypatch, tmp_path, name):
    monkeypatch.setenv("CONTINUA_CACHE", str(tmp_path / "cache"))
    with zipfile.ZipFile(tmp_path / "wrong.zip", "w") as archive:
        archive.writestr("kernels-a/b.nbc", b"")
        archive.writestr(name, b"")
    with pytest.raises(InputError, match="is not a compiled kernel; nothing was imported"):
        import_kernels(tmp_path / "wrong.zip")
    assert not (tmp_path / "cache").exists()


def test_files_that_are_no_archives_and_unknown_families_get_a_sentence(tmp_path, few_kernels):
    (tmp_path / "text.zip").write_text("text")
    with pytest.raises(InputError, match="is no file from `continua warmup --export`"):
        import_kernels(tmp_path / "text.zip")
    with pytest.raises(InputError, match="there is no processor family 'z80'; choose from x86-64-v3"):
        export_kernels(tmp_path / "kernels.zip", "z80")
    assert not (tmp_path / "kernels.zip").exists()
