"""The commands that the language host runs, and the Python that it runs them with."""

import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from google.protobuf import struct_pb2
from pulumi.runtime.proto import language_pb2 as proto

from lab.standins import interpreter, language_host, runner


def info(root, **options):
    fields = struct_pb2.Struct()
    fields.update(options)
    return proto.ProgramInfo(root_directory=str(root), program_directory=str(root), entry_point=".", options=fields)


def request(**more):
    return proto.RunRequest(
        monitor_address="127.0.0.1:1",
        project="p",
        stack="s",
        pwd="/tmp",
        parallel=8,
        dryRun=True,
        organization="o",
        info=info("/root-dir"),
        config={"p:token": "sesame"},
        args=["--flag", "x"],
        **more,
    )


def test_the_command_line_is_what_the_runner_reads():
    argv = language_host.run_argv(request(), Path("python"), "127.0.0.1:2")
    assert argv[:2] == ["python", "-u"]
    args = runner.parse(argv[3:])
    assert (args.monitor, args.engine, args.project, args.stack) == ("127.0.0.1:1", "127.0.0.1:2", "p", "s")
    assert (args.organization, args.root_directory, args.pwd) == ("o", "/root-dir", "/tmp")
    assert (args.dry_run, args.parallel, args.program, args.args) == ("true", 8, ".", ["--flag", "x"])


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["127.0.0.1:1"], "127.0.0.1:1"),
        (["--tracing", "x", "-v=3", "127.0.0.1:1"], "127.0.0.1:1"),
        (["127.0.0.1:1", "--logtostderr"], "127.0.0.1:1"),
        (["--logtostderr"], ""),
        ([], ""),
    ],
)
def test_the_engine_s_address_is_the_last_argument_that_is_no_flag(argv, expected):
    assert language_host.engine_address(argv) == expected


def test_a_host_goes_on_while_its_engine_listens_and_ends_when_it_does_not():
    stopping = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as engine:
        address = f"127.0.0.1:{engine.getsockname()[1]}"
        threading.Thread(target=language_host.follow, args=(address, stopping, 0.01), daemon=True).start()
        for _ in range(2):
            engine.accept()[0].close()
        assert not stopping.is_set()
    assert stopping.wait(10)


def test_no_configuration_is_on_the_command_line():
    assert not [word for word in language_host.run_argv(request(), Path("python"), "e") if "sesame" in word]


def test_a_policy_pack_and_a_provider_start_differently(tmp_path):
    pack = proto.RunPluginRequest(kind="analyzer", args=["engine"], info=info(tmp_path))
    assert language_host.plugin_argv(pack, Path("py")) == ["py", "-u", "-m", "pulumi.policy", "engine", str(tmp_path)]
    provider = proto.RunPluginRequest(kind="resource", args=["engine"], info=info(tmp_path))
    assert language_host.plugin_argv(provider, Path("py")) == ["py", "-u", str(tmp_path), "engine"]


def test_virtualenv_is_relative_to_the_project_s_root(tmp_path):
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    found = interpreter.find(tmp_path, {"virtualenv": "venv"}, {})
    assert found.python == python
    env = found.environ({"PATH": "/bin", "PYTHONHOME": "/wrong", "KEEP": "1"})
    assert env == {"PATH": f"{python.parent}:/bin", "VIRTUAL_ENV": str(tmp_path / "venv"), "KEEP": "1"}


def test_without_virtualenv_the_environment_decides_then_our_own_python():
    assert interpreter.find(Path("/p"), {}, {"PULUMI_PYTHON_CMD": "/opt/python"}).python == Path("/opt/python")
    found = interpreter.find(Path("/p"), {"toolchain": "uv"}, {})
    assert found.python == Path(sys.executable)
    assert found.environ({"PATH": "/bin"}) == {"PATH": "/bin"}


@pytest.mark.parametrize(("make", "what"), [(False, "does not exist"), (True, "isn't a virtual environment")])
def test_a_virtualenv_that_can_t_run_is_named(tmp_path, make, what):
    if make:
        (tmp_path / "venv").mkdir()
    with pytest.raises(interpreter.NoInterpreterError, match=f"venv {what}.*Next:"):
        interpreter.find(tmp_path, {"virtualenv": "venv"}, {})


def test_install_makes_a_missing_venv_only(tmp_path):
    (tmp_path / "requirements.txt").touch()
    first, second = interpreter.install_commands(tmp_path, tmp_path, {"virtualenv": "venv"})
    assert first == [sys.executable, "-m", "venv", str(tmp_path / "venv")]
    assert second[-2:] == ["-r", str(tmp_path / "requirements.txt")]
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    assert interpreter.install_commands(tmp_path, tmp_path, {"virtualenv": "venv"}) == [second]


def test_a_traceback_begins_in_the_program(tmp_path):
    main = tmp_path / "__main__.py"
    main.write_text("def f():\n    raise KeyError('replicas')\nf()\n")
    with pytest.raises(KeyError) as caught:
        runner._execute(str(tmp_path))
    text = runner.traceback_of_program(caught.value, tmp_path)
    assert text.startswith("Traceback")
    assert text.splitlines()[1].lstrip().startswith(f'File "{main}"')
    assert "runpy" not in text


def test_a_traceback_that_never_enters_the_program_is_shown_whole(tmp_path):
    with pytest.raises(OSError, match="gone") as caught:
        runner._execute(str(tmp_path / "gone"))
    assert "runpy" in runner.traceback_of_program(caught.value, tmp_path)


def test_both_outputs_of_a_plugin_are_streamed_to_their_end():
    code = "import sys\nprint('out')\nprint('err', file=sys.stderr)"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process:
        chunks = list(language_host._chunks(process))
    assert b"".join(c.stdout for c in chunks) == b"out\n"
    assert b"".join(c.stderr for c in chunks) == b"err\n"
