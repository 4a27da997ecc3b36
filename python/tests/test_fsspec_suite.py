# SPDX-License-Identifier: Apache-2.0
"""fsspec's own suite for file systems: its tests of reading, from an archive that has what they
would write. The others (AbstractCopyTests, AbstractOpenTests, AbstractPipeTests and
AbstractPutTests) begin by writing; test_fsspec.py has what a read-only file system does then."""

import os
import tarfile

import pytest

fsspec = pytest.importorskip("fsspec")
suite = pytest.importorskip("fsspec.tests.abstract")

SCENARIOS = ("bulk_operations_scenario_0", "glob_edge_cases_files",
             "dir_and_file_with_same_name_prefix", "10_files_with_hashed_names")


class Fixtures(suite.AbstractFixtures):
    @pytest.fixture
    def fs(self, tmp_path):
        local = fsspec.filesystem("local", auto_mkdir=True)
        for scenario in SCENARIOS:
            getattr(self, f"_{scenario}")(local, os.path.join, str(tmp_path / "all" / scenario))
        with tarfile.open(tmp_path / "all.tar", "w") as archive:
            archive.add(tmp_path / "all", "")
        return fsspec.filesystem("ctxfs", fo=str(tmp_path / "all.tar"))

    @pytest.fixture
    def fs_path(self):
        return ""

    @pytest.fixture
    def fs_bulk_operations_scenario_0(self):
        return "bulk_operations_scenario_0/source"

    @pytest.fixture
    def fs_glob_edge_cases_files(self):
        return "glob_edge_cases_files/source"

    @pytest.fixture
    def fs_dir_and_file_with_same_name_prefix(self):
        return "dir_and_file_with_same_name_prefix/source"

    @pytest.fixture
    def fs_10_files_with_hashed_names(self):
        return "10_files_with_hashed_names/source"


class TestGet(suite.AbstractGetTests, Fixtures):
    test_get_directory_recursive = None  # writes; test_get_directory_to_new_directory reads

