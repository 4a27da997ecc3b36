# SPDX-License-Identifier: Apache-2.0
"""The notebooks of docs/examples run from the first cell to the last."""

import pytest

from conftest import GOLDEN

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
for module in ("duckdb", "ipykernel", "matplotlib", "pandas"):
    pytest.importorskip(module)

EXAMPLES = GOLDEN.parent / "docs" / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def test_there_are_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["episode", "lake"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_draws(path, tmp_path, monkeypatch):
    monkeypatch.setenv("GOLDEN", str(GOLDEN))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs for cell in cells), "clear the outputs before you commit"
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3",
                            resources={"metadata": {"path": str(tmp_path)}}).execute()
    pictures = [output for cell in cells for output in cell.outputs
                if "image/png" in output.get("data", {})]
    assert len(pictures) >= 2
