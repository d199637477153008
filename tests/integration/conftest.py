"""Fixtures of the integration tier: the real engine, no cluster. Another folder's conftest takes them with
`from tests.integration.conftest import engine, project, tools`.

- `tools` (session): the engine's folder and the plugin folder, made once.
- `engine`: an `Engine` with a file backend, PULUMI_HOME and passphrase of its own under the test's folder;
  `engine.run(*args, cwd=…)` gives a CompletedProcess, `engine.spawn` one in the background, `engine.env` the environment.
- `project`: a `Project` (folder with Pulumi.yaml and a stack `test`): `write(main=…, other=…)`, `up`, `preview`,
  `refresh`, `destroy`, `outputs`, `state`, `resources`, `locks`.
"""

from pathlib import Path

import pytest

from tests.integration.engine import Engine, Project, Tools, create_project, prepare


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    """The engine and its plugins, shared by all tests and changed by none."""
    return prepare(tmp_path_factory.mktemp("engine"))


@pytest.fixture
def engine(tools: Tools, tmp_path: Path) -> Engine:
    """An engine whose every file is the test's own; `processes_of(engine)` finds its processes by PULUMI_HOME."""
    return Engine(tools, tmp_path / "engine")


@pytest.fixture
def project(engine: Engine, tmp_path: Path) -> Project:
    """A project folder with a stack and no program yet."""
    return create_project(engine, tmp_path / "project")
