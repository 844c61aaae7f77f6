"""The notebooks run from first to last cell."""

import pathlib

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "notebooks"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs_to_its_end(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.get("outputs") for cell in notebook.cells), "outputs are not kept"
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute(cwd=str(FOLDER))
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert shown
    if path.stem == "first-steps":
        assert any("text/html" in output.get("data", {}) for output in shown)
    if path.stem == "a-sweep-on-a-cluster":
        assert any("(5000, 5000)" in output.get("data", {}).get("text/plain", "") for output in shown)
        assert any("image/png" in output.get("data", {}) for output in shown)
