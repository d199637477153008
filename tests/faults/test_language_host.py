"""The language host runs programs as the official one does: results, errors, exit codes, hooks, plugins.

Every other module that starts an engine stands on it; these are its answers one by one.
"""

import json

import pytest

from lab.given_host import HOST
from tests.integration.conftest import engine, project, tools
from tests.integration.engine import Engine, Project

__all__ = ["engine", "project", "tools"]

ECHO = """
    from pulumi.dynamic import CreateResult, DiffResult, Resource, ResourceProvider, UpdateResult

    class EchoProvider(ResourceProvider):
        def diff(self, id, olds, news):
            return DiffResult(changes=olds["value"] != news["value"])
        def create(self, props):
            return CreateResult("echo", {"value": props["value"]})
        def update(self, id, olds, news):
            return UpdateResult({"value": news["value"]})

    class Echo(Resource):
        def __init__(self, name, value, opts=None):
            super().__init__(EchoProvider(), name, {"value": value}, opts)
"""


def test_a_stack_lives_through_up_preview_refresh_and_destroy(project: Project) -> None:
    project.write(
        main="""
        import pulumi
        from echo import Echo
        pulumi.export("value", Echo("one", "v").value)
        """,
        echo=ECHO.replace("class Echo(Resource):", "class Echo(Resource):\n        value: object"),
    )
    assert "+ 2 to create" in project.preview().stdout
    first = project.up()
    assert "+ 2 created" in first.stdout
    assert "warning" not in first.stdout + first.stderr
    project.preview("--expect-no-changes")
    assert "2 unchanged" in project.up().stdout
    project.refresh("--expect-no-changes")
    assert project.outputs() == {"value": "v"}
    project.destroy()
    assert project.resources() == {}
    assert project.locks() == []


def test_a_program_sees_its_stack_project_folder_and_arguments(project: Project) -> None:
    project.write(
        main="""
        import os, sys, pulumi
        pulumi.export("seen", [pulumi.get_organization(), pulumi.get_project(), pulumi.get_stack(), os.getcwd(),
                               pulumi.runtime.get_root_directory(), pulumi.runtime.is_dry_run(), sys.argv])
        pulumi.export("path", [p for p in sys.path if p.endswith(("lab/standins", "slinky_iac"))])
        pulumi.export("venv", os.environ["VIRTUAL_ENV"] == sys.prefix)
        """
    )
    project.up("--parallel", "3")
    here = str(project.folder)
    assert project.outputs() == {
        "seen": ["organization", "probe", "test", here, here, False, ["."]],
        "path": [],
        "venv": True,
    }


def test_a_program_in_a_subfolder_imports_its_neighbours(project: Project) -> None:
    file = project.folder / "Pulumi.yaml"
    file.write_text(file.read_text() + "main: infra/\n")
    inner = Project(project.engine, project.folder / "infra")
    inner.folder.mkdir()
    inner.write(main="import pulumi, neighbour\npulumi.export('n', neighbour.N)", neighbour="N = 7")
    project.up()
    assert project.outputs() == {"n": 7}


def test_a_run_error_is_shown_without_a_traceback(project: Project) -> None:
    project.write(main="import pulumi\nraise pulumi.RunError('replicas: 3 is more than the 2 nodes there are')")
    failed = project.preview(ok=False)
    assert failed.returncode != 0
    assert "error: replicas: 3 is more than the 2 nodes there are" in failed.stdout + failed.stderr
    assert "Traceback" not in failed.stdout + failed.stderr


def test_an_exception_is_shown_once_from_the_program_s_first_frame(project: Project) -> None:
    project.write(main="def deep():\n    raise ValueError('no such partition')\n\ndeep()\n")
    failed = project.up(ok=False)
    text = failed.stdout + failed.stderr
    assert failed.returncode != 0
    assert text.count("ValueError: no such partition") == 1
    assert "__main__.py" in text
    assert "runner.py" not in text, "frames of the runner say nothing to the program's author"
    assert "non-zero exit code" not in text, "bail: the error has been shown already"
    assert project.locks() == []


def test_an_exit_code_of_the_program_s_own_is_reported(project: Project) -> None:
    project.write(main="import sys\nsys.exit(7)")
    failed = project.preview(ok=False)
    assert failed.returncode != 0
    assert "program exited with non-zero exit code: 7" in failed.stdout + failed.stderr


def test_a_folder_without_a_program_is_named(project: Project) -> None:
    failed = project.preview(ok=False)
    assert failed.returncode != 0
    assert str(project.folder) in failed.stdout + failed.stderr


def test_a_program_without_its_virtualenv_ends_with_an_error_and_makes_nothing(project: Project) -> None:
    """The official host makes an empty one, in which the program then lacks its packages; the lab's says how it is made."""
    file = project.folder / "Pulumi.yaml"
    file.write_text("name: probe\nruntime: {name: python, options: {virtualenv: gone}}\n")
    project.write(main="import pulumi\npulumi.export('made', True)")
    failed = project.up(ok=False)
    assert failed.returncode != 0
    assert project.outputs() == {}
    if not HOST.named():
        assert f"{project.folder}/gone does not exist" in failed.stdout + failed.stderr
        assert "pulumi install" in failed.stdout + failed.stderr


def test_install_makes_the_virtualenv_that_the_project_names(engine: Engine, project: Project) -> None:
    (project.folder / "Pulumi.yaml").write_text("name: probe\nruntime: {name: python, options: {virtualenv: made}}\n")
    (project.folder / "requirements.txt").write_text("# nothing\n")
    project.write(main="")
    # The official host also updates pip, for which the network of a lab has no way out.
    engine.run("install", cwd=project.folder, ok=not HOST.named())
    assert (project.folder / "made" / "bin" / "python").exists()


def test_about_lists_interpreter_and_packages(project: Project) -> None:
    project.write(main="")
    about = json.loads(project.run("about", "--json").stdout)
    assert about["runtime"]["language"] == "python"
    own = not HOST.named()
    assert about["runtime"].get("language-host") == ("slinky-iac lab stand-in" if own else None)
    assert {d["name"].replace("-", "_") for d in about["dependencies"]} >= {"pulumi_kubernetes", "ruff"}
    versions = {p["name"]: p["version"] for p in about["plugins"]}
    assert versions["python"].endswith("+lab-standin") is own


def test_secret_configuration_reaches_the_program_and_stays_secret(project: Project) -> None:
    project.write(
        main="""
        import pulumi
        config = pulumi.Config()
        pulumi.export("plain", config.require_int("size"))
        pulumi.export("token", config.require_secret("token").apply(lambda t: t + "!"))
        """
    )
    project.run("config", "set", "size", "3")
    project.run("config", "set", "--secret", "token", "sesame-42")
    shown = project.up()
    assert "sesame-42" not in shown.stdout + shown.stderr
    assert project.outputs() == {"plain": 3, "token": "[secret]"}
    assert project.outputs(show_secrets=True) == {"plain": 3, "token": "sesame-42!"}
    assert "sesame-42" not in json.dumps(project.state())


def test_a_before_update_hook_can_stop_an_update(project: Project) -> None:
    def main(value: int) -> str:
        return f"""
        import pulumi
        from echo import Echo

        async def last_look(args):
            raise Exception(f"refused: {{args.old_inputs['value']:g}} to {{args.new_inputs['value']:g}}")

        hook = pulumi.ResourceHook("last-look", last_look)
        options = pulumi.ResourceOptions(hooks=pulumi.ResourceHookBinding(before_update=[hook]))
        Echo("one", {value}, options)
        """

    project.write(main=main(3), echo=ECHO)
    project.up()
    project.write(main=main(2))
    failed = project.up(ok=False)
    assert failed.returncode != 0
    assert "refused: 3 to 2" in failed.stdout + failed.stderr
    assert project.resources()["one"]["outputs"]["value"] == 3, "a refused update must leave the state as it was"


@pytest.mark.parametrize("parallel", ["1", "16"])
def test_many_resources_register_at_any_parallelism(project: Project, parallel: str) -> None:
    project.write(
        main="""
        import pulumi
        from echo import Echo
        last = None
        for n in range(20):
            last = Echo(f"e{n}", n, pulumi.ResourceOptions(depends_on=[last] if last and n % 5 == 0 else []))
        """,
        echo=ECHO,
    )
    project.up("--parallel", parallel)
    assert {name for name in project.resources() if name.startswith("e")} == {f"e{n}" for n in range(20)}


def test_a_component_plugin_written_in_python_runs(project: Project) -> None:
    plugin = project.folder / "greeter"
    plugin.mkdir()
    virtualenv = (project.folder / "Pulumi.yaml").read_text().rpartition("virtualenv: ")[2].strip()
    (plugin / "PulumiPlugin.yaml").write_text(f"runtime: {{name: python, options: {{virtualenv: {virtualenv}}}}}\n")
    inner = Project(project.engine, plugin)
    inner.write(
        greeter="""
        from typing import Optional, TypedDict
        import pulumi

        class GreeterArgs(TypedDict):
            who: pulumi.Input[str]

        class Greeter(pulumi.ComponentResource):
            text: pulumi.Output[str]

            def __init__(self, name: str, args: GreeterArgs, opts: Optional[pulumi.ResourceOptions] = None) -> None:
                super().__init__("greeter:index:Greeter", name, {}, opts)
                self.text = pulumi.Output.concat("hello ", args["who"])
                self.register_outputs({"text": self.text})
        """,
        main="""
        from pulumi.provider.experimental import component_provider_host
        from greeter import Greeter
        component_provider_host(name="greeter", components=[Greeter])
        """,
    )
    file = project.folder / "Pulumi.yaml"
    file.write_text(file.read_text() + "plugins: {providers: [{name: greeter, path: greeter}]}\n")
    project.write(
        main="""
        import pulumi

        class Greeter(pulumi.ComponentResource):
            text: pulumi.Output[str]
            def __init__(self, name, who):
                super().__init__("greeter:index:Greeter", name, {"who": who, "text": None}, None, remote=True)

        pulumi.export("text", Greeter("g", "nodes").text)
        """
    )
    project.up()
    assert project.outputs() == {"text": "hello nodes"}


def test_the_labs_provider_of_pulumi_random_refuses_other_types_by_name(project: Project) -> None:
    project.write(main="import pulumi_random\npulumi_random.RandomId('id', byte_length=8)")
    failed = project.preview(ok=False)
    assert failed.returncode != 0
    assert "knows random:index/randomPassword:RandomPassword only, not random:index/randomId:RandomId" in (
        failed.stdout + failed.stderr
    )
